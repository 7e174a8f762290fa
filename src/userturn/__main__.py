"""The program `userturn`, also as `python -m userturn`."""

import sys


def main() -> int:
    """Run one command, and return its exit code; an interrupt while modules load is one line."""
    try:
        from userturn.cli.main import main as run

        return run()
    except KeyboardInterrupt:
        print("interrupted; the same command begins anew", file=sys.stderr)
        return 130  # as shells have it


if __name__ == "__main__":
    sys.exit(main())

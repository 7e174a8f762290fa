"""The program `userturn`, also as `python -m userturn`."""

import sys

INTERRUPTED = 130  # exit code, as shells have it


def interrupted() -> int:
    """Say what an interrupt means for a command that keeps nothing, and return the exit code."""
    print("interrupted; the same command begins anew", file=sys.stderr)
    return INTERRUPTED


def main() -> int:
    """Run one command, and return its exit code; an interrupt while modules load is one line."""
    try:
        from userturn.cli.main import main as run

        return run()
    except KeyboardInterrupt:
        return interrupted()


if __name__ == "__main__":
    sys.exit(main())

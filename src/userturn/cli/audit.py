"""`userturn audit`: checks every artifact of a study."""

import argparse
from pathlib import Path

from userturn.audit.run import run_audit
from userturn.cli.arguments import take_results

HELP = "check every file of a study"


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    take_results(command)
    command.add_argument(
        "--regenerate", type=int, default=0, metavar="K", help="requests to run again"
    )
    command.add_argument("--rejudge", type=int, default=0, metavar="K", help="turns to judge again")
    command.add_argument("--to", type=Path, metavar="FOLDER", help="for audit.json, audit.html")
    command.set_defaults(code_of_errors=2)


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    path: Path = arguments.results
    folder = arguments.to or (path / "audit" if path.is_dir() else Path("audit"))
    return run_audit(path, folder, arguments.regenerate, arguments.rejudge)

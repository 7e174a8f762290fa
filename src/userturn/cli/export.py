"""`userturn export`: packs a finished study."""

import argparse
from pathlib import Path

from userturn.cli.arguments import take_results
from userturn.export.write_archive import export

HELP = "pack a finished study into one archive"


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    take_results(command)
    command.add_argument("--to", type=Path, metavar="FILE.zip")
    command.add_argument("--with-journals", action="store_true")


def run(arguments: argparse.Namespace) -> str:
    """Run the command."""
    return export(arguments.results, arguments.to, arguments.with_journals)

"""`userturn export`: packs a finished study."""

import argparse
from pathlib import Path

from userturn.cli.arguments import take_results
from userturn.export.signature import sign
from userturn.export.write_archive import archive_of, export

HELP = "pack a finished study into one archive"


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    take_results(command)
    command.add_argument("--to", type=Path, metavar="FILE.zip")
    command.add_argument("--with-journals", action="store_true")
    command.add_argument("--sign", type=Path, metavar="KEY", help="SSH key that signs the archive")


def run(arguments: argparse.Namespace) -> str:
    """Run the command."""
    said = export(arguments.results, arguments.to, arguments.with_journals)
    if arguments.sign is None:
        return said
    archive = archive_of(arguments.results, arguments.to)
    return f"{said}\nsigned: {sign(archive, arguments.sign)}"

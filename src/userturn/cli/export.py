"""`userturn export`: packs a finished study."""

import argparse
from collections.abc import Iterator
from pathlib import Path

from userturn.cli.arguments import take_results
from userturn.export.dataset_folder import write_dataset_folder
from userturn.export.inspect_logs import write_inspect_logs
from userturn.export.write_archive import export
from userturn.report.claims import SHEET, claims_sheet
from userturn.tables.judge_validity import warned

HELP = "pack a finished study into one archive"


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    take_results(command)
    command.add_argument("--to", type=Path, metavar="FILE.zip")
    command.add_argument("--with-journals", action="store_true")
    other = "instead of an archive, a new folder of "
    command.add_argument(
        "--inspect", type=Path, metavar="FOLDER", help=f"{other}Inspect's logs, one for each cell"
    )
    command.add_argument(
        "--datasets", type=Path, metavar="FOLDER", help=f"{other}tables for Hugging Face's datasets"
    )


def run(arguments: argparse.Namespace) -> str:
    """Run the command."""
    if arguments.inspect is not None or arguments.datasets is not None:
        return "\n".join(_folders(arguments))
    more = {SHEET: claims_sheet(arguments.results)}
    return export(arguments.results, arguments.to, arguments.with_journals, more)


def _folders(arguments: argparse.Namespace) -> Iterator[str]:
    if arguments.inspect is not None:
        yield write_inspect_logs(arguments.results, arguments.inspect)
    if arguments.datasets is not None:
        yield write_dataset_folder(arguments.results, arguments.datasets, warned(arguments.results))

"""`userturn export`: packs a finished study into one archive, or writes it in other formats."""

import argparse
from collections.abc import Iterator
from pathlib import Path

from userturn.cli.arguments import take_results
from userturn.cli.terminal import Output
from userturn.export.dataset_folder import push_to_hub, write_dataset_folder
from userturn.export.every_eval_ever import write_every_eval_ever
from userturn.export.inspect_logs import write_inspect_logs
from userturn.export.withheld import Written
from userturn.export.write_archive import export
from userturn.report.claims import SHEET, claims_sheet
from userturn.tables.judge_validity import warned

HELP = "pack a finished study into one archive"
EXAMPLES = ("export results", "export results --inspect inspect-logs")


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    take_results(command)
    command.add_argument(
        "--to",
        type=Path,
        metavar="FILE.zip",
        help="archive; default: the results folder's name with .zip",
    )
    command.add_argument(
        "--with-journals", action="store_true", help="also pack the replies as they arrived"
    )
    other = "instead of an archive, a new folder of "
    command.add_argument(
        "--inspect", type=Path, metavar="FOLDER", help=f"{other}Inspect's logs, one for each cell"
    )
    command.add_argument(
        "--datasets", type=Path, metavar="FOLDER", help=f"{other}tables for Hugging Face's datasets"
    )
    command.add_argument(
        "--every-eval-ever",
        type=Path,
        metavar="FOLDER",
        help=f"{other}results in the format of Every Eval Ever, with a row for each verdict",
    )
    command.add_argument(
        "--hub",
        metavar="ORG/NAME",
        help="instead of an archive, the tables of --datasets as a private dataset on the hub",
    )


def run(arguments: argparse.Namespace) -> Output:
    """Run the command."""
    written = list(_others(arguments))
    if not written:
        more = {SHEET: claims_sheet(arguments.results)}
        written = [export(arguments.results, arguments.to, arguments.with_journals, more)]
    return Output([one.said for one in written], {"written": written})


def _others(arguments: argparse.Namespace) -> Iterator[Written]:
    results = arguments.results
    if arguments.inspect is not None:
        yield write_inspect_logs(results, arguments.inspect)
    if arguments.datasets is not None:
        yield write_dataset_folder(results, arguments.datasets, warned(results))
    if arguments.every_eval_ever is not None:
        yield write_every_eval_ever(results, arguments.every_eval_ever, warned(results))
    if arguments.hub is not None:
        yield push_to_hub(results, arguments.hub, warned(results))

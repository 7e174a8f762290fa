"""`userturn remake`: makes a finished study again from its folder or archive."""

import argparse
from pathlib import Path

from userturn.cli.arguments import opened_of, take_own_configuration, take_results
from userturn.cli.terminal import Output
from userturn.export.remake import format_outcome, remake, sweep_again
from userturn.sandbox.confined import Reach

HELP = "make a study's tables, figures and report again, without its model"
EXAMPLES = ("remake results.zip --to remade", "remake results --to anew --sweep")


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    take_results(command, "results folder of a study, or an archive of one")
    command.add_argument("--to", type=Path, metavar="FOLDER", required=True, help="new folder")
    command.add_argument(
        "--sweep", action="store_true", help="run the whole study again, with its model"
    )
    take_own_configuration(command)
    command.set_defaults(reach=reach, speaks=lambda arguments: arguments.sweep)


def reach(arguments: argparse.Namespace) -> Reach | None:
    """Return what making a study again may read and write, or None if the whole study is run."""
    return None if arguments.sweep else Reach(opened_of(arguments.results), arguments.to)


def run(arguments: argparse.Namespace) -> Output | str:
    """Run the command."""
    if arguments.sweep:
        own, trusted = arguments.configfile, arguments.trust
        return sweep_again(arguments.results, arguments.to, own, trusted)
    outcome = remake(arguments.results, arguments.to)
    text = format_outcome(outcome, arguments.to / "results")
    return Output([text], vars(outcome), code=int(bool(outcome.unequal)))

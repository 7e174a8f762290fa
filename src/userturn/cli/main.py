"""The small command beside the pipeline: look at a study without running it."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from userturn.cli.plan import plan
from userturn.cli.rates import show_rates
from userturn.cli.rejudge import rejudge
from userturn.cli.status import status
from userturn.errors import UserError
from userturn.slurm.doctor import doctor


def _compare(arguments: argparse.Namespace) -> str:
    from userturn.cli.compare import compare_studies  # a second to import, for one command

    return compare_studies(arguments.a, arguments.b)


def _audit(arguments: argparse.Namespace) -> int:
    from userturn.audit.run import run_audit

    path: Path = arguments.results
    folder = arguments.to or (path / "audit" if path.is_dir() else Path("audit"))
    return run_audit(path, folder, arguments.regenerate, arguments.rejudge)


def _export(arguments: argparse.Namespace) -> str:
    from userturn.export.write_archive import export

    return export(arguments.results, arguments.to, arguments.with_journals)


def _why(arguments: argparse.Namespace) -> str:
    from userturn.cli.why import why

    return why(arguments.path, arguments.configfile)


def _takes_results(command: argparse.ArgumentParser) -> None:
    command.add_argument("results", type=Path, nargs="?", default=Path("results"))


def _takes_configuration(command: argparse.ArgumentParser) -> None:
    command.add_argument("--configfile", nargs="+", default=[], metavar="FILE")
    command.add_argument("--results", default="results")


def _add_commands_on_results(commands: Any) -> None:
    """Add the commands that need no more than a results folder."""
    rates = commands.add_parser("rates", help="print the rates of a finished study")
    _takes_results(rates)
    rates.set_defaults(run=lambda arguments: show_rates(arguments.results))
    compare = commands.add_parser("compare", help="print two studies side by side, item by item")
    compare.add_argument("a", type=Path, metavar="A")
    compare.add_argument("b", type=Path, metavar="B")
    compare.set_defaults(run=_compare)
    check = commands.add_parser("audit", help="check every artifact of a study")
    _takes_results(check)
    check.add_argument("--regenerate", type=int, default=0, metavar="K", help="run K again")
    check.add_argument("--rejudge", type=int, default=0, metavar="K", help="judge K again")
    check.add_argument("--to", type=Path, metavar="FOLDER", help="for audit.json and audit.html")
    check.set_defaults(run=_audit, code_of_errors=2)
    pack = commands.add_parser("export", help="make one archive of a finished study")
    _takes_results(pack)
    pack.add_argument("--to", type=Path, metavar="FILE.zip")
    pack.add_argument("--with-journals", action="store_true")
    pack.set_defaults(run=_export)
    ask = commands.add_parser("why", help="tell why an artifact is as it is")
    ask.add_argument("path", help="a file of a results folder")
    ask.add_argument("--configfile", nargs="+", default=[], metavar="FILE")
    ask.set_defaults(run=_why)


def _add_commands_on_configuration(commands: Any) -> None:
    """Add the commands that read a study's configuration."""
    for name, function, help_text in (
        ("plan", plan, "print what a study will ask, of what, and with which prompts"),
        ("status", status, "print how far a running study is"),
    ):
        command = commands.add_parser(name, help=help_text)
        _takes_configuration(command)
        command.set_defaults(
            run=lambda arguments, function=function: function(
                arguments.configfile, arguments.results
            )
        )
    examine = commands.add_parser("doctor", help="tell what would fail on a SLURM cluster")
    examine.add_argument("--profile", default="slurm", help="folder of the Snakemake profile")
    _takes_configuration(examine)
    examine.add_argument("--seconds", type=int, default=300, help="how long to wait for a node")
    examine.set_defaults(run=lambda a: doctor(a.profile, a.configfile, a.results, a.seconds))
    again = commands.add_parser("rejudge", help="ask a judge again about what it left unscored")
    again.add_argument("judge")
    _takes_configuration(again)
    again.set_defaults(run=lambda a: rejudge(a.configfile, a.results, a.judge))


def parser() -> argparse.ArgumentParser:
    """Return the command line's parser."""
    root = argparse.ArgumentParser(prog="userturn", description=__doc__)
    root.set_defaults(code_of_errors=1)
    commands = root.add_subparsers(dest="command", required=True)
    _add_commands_on_results(commands)
    _add_commands_on_configuration(commands)
    return root


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; errors that the user can mend are one sentence.

    Returns:
        0; 1 for an error, or for findings of an audit; 2 for an audit that could not be done.
    """
    chosen = parser().parse_args(arguments)
    try:
        said = chosen.run(chosen)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return int(chosen.code_of_errors)
    if isinstance(said, int):
        return said
    print(said)
    return 0

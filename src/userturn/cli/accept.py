"""`userturn accept`: what was proven elsewhere, tried on this GPU, judge, hub or cluster."""

import argparse
import platform
from collections.abc import Callable, Iterator
from importlib.metadata import version

from tabulate import tabulate

from userturn.cli import acceptance
from userturn.cli.acceptance import Tried
from userturn.cli.arguments import take_configuration
from userturn.config.load import load_study
from userturn.errors import UserError

HELP = "try on this machine, judge, hub or cluster what was never tried on one like it"


class NotAcceptedError(UserError):
    """A claim that did not hold."""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    take_configuration(command)
    command.add_argument("--gpu", action="store_true", help="both engines on this machine's GPUs")
    command.add_argument("--api", metavar="JUDGE", help="20 questions to a judge behind an API")
    command.add_argument("--hub", action="store_true", help="a pinned file and a model of the hub")
    command.add_argument("--slurm", action="store_true", help="one short job on this cluster")
    command.add_argument("--profile", default="slurm", help="folder of the Snakemake profile")


def run(arguments: argparse.Namespace) -> str:
    """Run the command; the table is printed whether or not all claims held.

    Raises:
        NotAcceptedError: with the table, if a claim did not hold.
        UserError: nothing is to be tried.
    """
    a = arguments
    config = load_study(a.configfile)
    trials: dict[str, Callable[[], Iterator[Tried]]] = {}
    if a.gpu:
        trials["GPU"] = acceptance.on_gpu
    if a.api:
        trials["API"] = lambda: acceptance.of_judge(config, a.api)
    if a.hub:
        trials["hub"] = lambda: acceptance.from_hub(config)
    if a.slurm:
        trials["SLURM"] = lambda: acceptance.on_cluster(config, a.profile, a.results)
    if not trials:
        raise UserError("nothing to try; give --gpu, --api JUDGE, --hub or --slurm, or several")
    found = [(name, one) for name, trial in trials.items() for one in trial()]
    text = "\n".join([_where(), "", table(found)])
    n_bad = sum(not one.held for _, one in found)
    if n_bad:
        raise NotAcceptedError(f"{n_bad} of {len(found)} claims did not hold here\n{text}")
    return text


def table(found: list[tuple[str, Tried]]) -> str:
    """Return the table to send back, in Markdown."""
    rows = [(where, one.claim, "yes" if one.held else "NO", one.seen) for where, one in found]
    return str(tabulate(rows, ("on", "claim", "held", "seen"), "github", disable_numparse=True))


def _where() -> str:
    packages = ", ".join(f"{name} {version(name)}" for name in ("userturn", "snakemake"))
    return f"{packages}, Python {platform.python_version()}, {platform.system()}"

"""`userturn doctor`: says what would fail on a SLURM cluster."""

import argparse

from userturn.cli.arguments import take_configuration
from userturn.config.load import files_of_last_run
from userturn.slurm.doctor import doctor

HELP = "find what would fail on a SLURM cluster"
EXAMPLES = ("doctor", "doctor --gpu --seconds 1800")


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    command.add_argument("--profile", default="slurm", help="folder of the Snakemake profile")
    take_configuration(command)
    command.add_argument("--seconds", type=int, default=300, help="maximum wait for a node")
    command.add_argument(
        "--gpu", action="store_true", help="also have vLLM write texts there, as `make check-gpu`"
    )


def run(arguments: argparse.Namespace) -> str:
    """Run the command."""
    a = arguments
    files = a.configfile or files_of_last_run()
    return doctor(a.profile, files, a.results, a.seconds, a.gpu)

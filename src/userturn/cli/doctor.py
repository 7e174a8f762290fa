"""`userturn doctor`: says what would fail on a SLURM cluster."""

import argparse

from userturn.cli.arguments import study_config, take_configuration, take_profile
from userturn.cli.terminal import Output, told_checks
from userturn.slurm.doctor import examine
from userturn.slurm.submission import read_profile
from userturn.sources.registry import check_study
from userturn.study.grid import Grid

HELP = "find what would fail on a SLURM cluster"
EXAMPLES = ("doctor", "doctor --gpu --seconds 1800")


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    take_profile(command)
    take_configuration(command)
    command.add_argument(
        "--seconds", type=int, default=300, help="longest wait for a node; default: 300"
    )
    command.add_argument(
        "--gpu",
        action="store_true",
        help="also let vLLM write texts there, as `make check-gpu` does",
    )


def run(arguments: argparse.Namespace) -> Output:
    """Run the command."""
    config = study_config(arguments.configfile)
    check_study(config)
    grid, profile = Grid(config, arguments.results), read_profile(arguments.profile)
    checks = list(examine(grid, profile, arguments.seconds, arguments.gpu))
    code = int(any(one.trouble for one in checks))
    return Output(told_checks(checks, names_passed=True), {"checks": checks}, code)

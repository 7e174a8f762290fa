"""Arguments that several commands take."""

import argparse
from pathlib import Path


def take_results(command: argparse.ArgumentParser) -> None:
    """Add the results folder of a finished study, `results` unless given."""
    command.add_argument("results", type=Path, nargs="?", default=Path("results"))


def take_configuration(command: argparse.ArgumentParser) -> None:
    """Add the configuration files that are merged over config.yaml, and the results folder."""
    command.add_argument("--configfile", nargs="+", default=[], metavar="FILE")
    command.add_argument("--results", default="results")

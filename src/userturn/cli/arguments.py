"""Arguments that several commands take."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from userturn.config.load import load_config
from userturn.study.check import check_study
from userturn.study.grid import Grid
from userturn.study.record import RECORD, read_study_record


def take_results(command: argparse.ArgumentParser) -> None:
    """Add the results folder of a finished study, `results` unless given."""
    command.add_argument("results", type=Path, nargs="?", default=Path("results"))


def take_configuration(command: argparse.ArgumentParser) -> None:
    """Add the configuration files that are merged over config.yaml, and the results folder."""
    command.add_argument("--configfile", nargs="+", default=[], metavar="FILE")
    command.add_argument("--results", default="results")


def chosen_grid(configfiles: Sequence[str], results: Path) -> Grid:
    """Return the grid of the files given, else of the folder's own record, else of config.yaml."""
    if not configfiles and (results / RECORD).is_file():
        return read_study_record(results).grid(results)
    config = load_config(["config.yaml", *configfiles])
    check_study(config)
    return Grid(config, results)

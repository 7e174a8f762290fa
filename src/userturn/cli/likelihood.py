"""`userturn likelihood`: how likely one model finds a dataset's reference follow-ups."""

import argparse
from typing import Any

from userturn.cli.arguments import study_config, with_model
from userturn.config.entries import Config, likelihood_settings
from userturn.errors import ConfigError, near_miss
from userturn.generation.quick_look import human_scores
from userturn.generation.scores import turn_gains
from userturn.tables.likelihood_measures import measures

HELP = "score a dataset's reference follow-ups with one model, without a study"


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    command.add_argument(
        "model", help="a name of the configuration, a hub id, a model folder or a GGUF file"
    )
    command.add_argument("dataset", help="a dataset of the configuration with reference follow-ups")
    command.add_argument("--configfile", nargs="+", default=[], metavar="FILE")


def run(arguments: argparse.Namespace) -> str:
    """Run the command."""
    config = study_config(arguments.configfile)
    alone, name = with_model(with_dataset(config, arguments.dataset), arguments.model)
    turns = turn_gains(human_scores(alone, name, arguments.dataset))
    if turns.is_empty():
        return f"{arguments.dataset}: no reference follow-up in it"
    lines = [line(row) for row in measures(turns)]
    return "\n".join([f"{name} on the reference follow-ups of {arguments.dataset}", *lines])


def with_dataset(config: Config, dataset: str) -> dict[str, Any]:
    """Return a configuration that scores the reference follow-ups of one dataset alone.

    Raises:
        ConfigError: it has no such dataset, or turns likelihood off.
    """
    if dataset not in config["datasets"]:
        raise ConfigError(
            f"'{dataset}' is not a dataset of the configuration"
            f"{near_miss(dataset, config['datasets'])}"
        )
    settings = likelihood_settings(config)
    if settings is None:
        raise ConfigError(
            "`likelihood` is off in the configuration, so the number of distractors is not known; "
            "set it, such as `likelihood: {datasets: [], turns: 0, distractors: 4}`"
        )
    wanted = {**settings, "datasets": [dataset], "turns": 0}
    return dict(config) | {"likelihood": wanted}


def line(row: dict[str, Any]) -> str:
    """Return a row of table `likelihood` as a line of text, or why it has no estimate."""
    head = f"  {row['measure']:<24} {row['unit']:<16} {row['n_scored']}/{row['n_turns']} scored"
    if row["estimate"] is None:
        return f"{head}  {row['reason']}"
    limits = f" [{row['lower']:.3f}, {row['upper']:.3f}]" if row["lower"] is not None else ""
    chance = f", chance {row['chance']:.3f}" if row.get("chance") else ""
    return f"{head}  {row['estimate']:.3f}{limits}{chance}"

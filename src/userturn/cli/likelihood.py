"""`userturn likelihood`: how likely one model finds a dataset's reference follow-ups."""

import argparse
from collections.abc import Sequence
from typing import Any

from userturn.cli.arguments import config_anywhere, select_model, take_configfile
from userturn.cli.busy_line import engine_log
from userturn.cli.rates_output import likelihood_cells
from userturn.cli.terminal import Output, Sheet, prose
from userturn.config.entries import Config, likelihood_settings
from userturn.config.load import CONFIG, installed, load_config
from userturn.errors import ConfigError, near_miss
from userturn.generation.quick_look import human_scores
from userturn.generation.scores import turn_gains
from userturn.tables.likelihood_measures import measures

HELP = "score a dataset's reference follow-ups with one model, without a study"
EXAMPLES = ("likelihood my-model oasst_human", "likelihood org/name oasst_human --json")


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    command.add_argument(
        "model", help="a name of the configuration, a hub id, a model folder or a GGUF file"
    )
    command.add_argument("dataset", help="a dataset of the configuration with reference follow-ups")
    take_configfile(command)


def run(arguments: argparse.Namespace) -> Output:
    """Run the command."""
    config = config_anywhere(arguments.configfile)
    alone, name = select_model(select_dataset(config, arguments.dataset), arguments.model)
    words = f"{arguments.model}: scoring the follow-ups of {arguments.dataset}"
    with engine_log("likelihood", words):
        turns = turn_gains(human_scores(alone, name, arguments.dataset))
    if turns.is_empty():
        return Output([f"{arguments.dataset}: no reference follow-up in it"], {"measures": []})
    rows = list(measures(turns))
    title = f"{name} on the reference follow-ups of {arguments.dataset}"
    return Output([prose(title, "bold"), measures_sheet(rows)], {"measures": rows})


def select_dataset(config: Config, dataset: str) -> dict[str, Any]:
    """Return a configuration that scores one dataset's reference follow-ups, or raise ConfigError.

    Where likelihood is off, its settings are those of the installation.
    """
    if dataset not in config["datasets"]:
        raise ConfigError(
            f"'{dataset}' is not a dataset of the configuration"
            f"{near_miss(dataset, config['datasets'])}"
        )
    settings = likelihood_settings(config) or load_config([installed(CONFIG)])["likelihood"]
    chosen = {**settings, "datasets": [dataset], "turns": 0}
    return dict(config) | {"likelihood": chosen}


def measures_sheet(measured: Sequence[dict[str, Any]]) -> Sheet:
    """Return rows of the table `likelihood` as a sheet, with reasons for missing estimates."""
    rows = []
    for row in measured:
        told, bar, chance, scored = likelihood_cells(row)
        why = row["reason"] if row["estimate"] is None else ""
        rows.append((row["measure"], row["unit"], scored, told, bar, chance, why))
    heads = ("measure", "unit", "scored", "estimate [95%]", "drawn", "chance", "why none")
    return Sheet(heads, rows, whole=heads[2:6])

"""Check the judges of a configuration: each entry by its kind, and who uses which judge."""

from collections.abc import Mapping

from userturn.config.entries import Config, selected
from userturn.config.recipes import RECIPES, endpoints_of, load_recipe
from userturn.errors import ConfigError
from userturn.judges.kinds import complete_judges, kind_of


def check_judges(config: Config) -> None:
    """Check that every judge's entry fits its kind and its use in the configuration.

    Raises:
        ConfigError: the first entry that does not.
    """
    if config["primary_judge"] not in selected(config, "judges"):
        raise ConfigError(
            f"primary_judge: '{config['primary_judge']}' is not among the judges of this run; name "
            "one of run.judges"
        )
    for name, entry in complete_judges(config).items():
        kind_of(entry).check(f"judges.{name}", entry, config)
    _check_graders(config)
    _check_recipes(config)


def _check_graders(config: Config) -> None:
    for name, dataset in config["datasets"].items():
        if dataset["verifier"] == "rubric":
            judge = config["judges"].get(dataset.get("judge"))
            if judge is None or not kind_of(judge).HAS_ENDPOINT:
                raise ConfigError(
                    f"datasets.{name}: the verifier 'rubric' asks a judge; name one with an "
                    "endpoint as its `judge`"
                )


def _check_recipes(config: Config) -> None:
    lines = [line for line in config["models"].values() if isinstance(line, Mapping)]
    for recipe in sorted({line["recipe"] for line in lines if "recipe" in line}):
        for what, judge in endpoints_of(load_recipe(recipe)).items():
            entry = config["judges"].get(judge)  # a missing one is reported with its recipe
            if what != "followup" and entry is not None and not kind_of(entry).HAS_ENDPOINT:
                raise ConfigError(
                    f"{RECIPES / recipe}.yaml: {what}: the judge '{judge}' is not an endpoint; "
                    "name one that is"
                )

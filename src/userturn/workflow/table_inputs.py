"""What tables and figures are made of, by the names that their declarations use."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from userturn.config.families import baselines, families
from userturn.config.repeated_trainings import trainings
from userturn.prompts.perturbations import controls_of
from userturn.workflow.registry import TABLES

if TYPE_CHECKING:
    from userturn.workflow.study import Study

INPUTS = {  # by name, what a study says of the paths, beside those of tables and of sources
    "verdicts": "study.tables.verdicts",
    "user_turns": "study.tables.user_turns",
    "answers": "study.tables.answers",
    "grades": "study.tables.grades",
    "prepared_items": "study.data.prepared",
    "rubric": "study.grid.contents.rubric_path",
    "made_by_sources": "study.made_by_sources",
    "annotations": "study.humans.annotations",
    "round_keys": "study.humans.keys",
    "pair_labels": "study.pairs.annotations",
    "pair_keys": "study.pairs.keys",
    "paired_turns": "study.pairs.user_turns",
    "paired_items": "study.pairs.datasets",
    "described_models": "study.pairs.descriptions",
    "conversation_verdicts": "study.by_turn.verdicts",
    "turn_languages": "study.languages.files",
    "training_data": "study.training.data",
    "evaluated_items": "study.training.evaluated",
}
SETTINGS: dict[str, Callable[["Study"], Any]] = {
    "families": lambda study: families(study.grid.models),
    "bases": lambda study: baselines(study.grid.models, study.grid.entries),
    "trainings": lambda study: sorted(trainings(study.grid.models, study.grid.entries).items()),
    "exposure": lambda study: study.training.declared,
    "controls": lambda study: controls_of(study.grid.perturbations),
    "primary_judge": lambda study: study.grid.primary_judge,
    "prices": lambda study: study.grid.prices,
    "seed": lambda study: study.grid.config["seed"],
    "resamples": lambda study: study.grid.config["statistics"]["resamples"],
    # The record of a study may be older than these.
    "margins": lambda study: study.grid.config["statistics"].get("margins"),
    "thresholds": lambda study: study.grid.config.get("judge_card"),
    "predictions": lambda study: study.grid.config.get("predictions"),
}


def input_of(name: str) -> str:
    """Return what a study says of the paths of something that tables or figures are made of."""
    place = "tables.paths" if name in TABLES else "of_sources"
    return INPUTS.get(name, f"study.{place}.{name}")

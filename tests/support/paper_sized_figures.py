"""Every figure of a study of the paper's size, from rows that nobody measured."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from tests.support.made_up_results import LABELS
from tests.support.synthetic_study import DATASETS, MODELS, PERTURBATIONS, TEMPERATURES
from userturn.figures.accuracy_and_followup import accuracy_and_followup
from userturn.figures.answer_signals import MEASURES as SIGNAL_MEASURES
from userturn.figures.answer_signals import answer_signals
from userturn.figures.confusion import confusion_figure
from userturn.figures.failure_profiles import failure_profiles
from userturn.figures.grid_overview import MARKS, grid_overview
from userturn.figures.human_likeness import human_likeness
from userturn.figures.judge_card import MEASURES as CARD_MEASURES
from userturn.figures.judge_card import SHOWN as SOURCES
from userturn.figures.judge_card import judge_card
from userturn.figures.likelihood_and_followup import MEASURES as LIKELIHOOD_MEASURES
from userturn.figures.likelihood_and_followup import likelihood_and_followup
from userturn.figures.perturbation_effects import perturbation_effects
from userturn.figures.rates_by_language import MEASURES as LANGUAGE_MEASURES
from userturn.figures.rates_by_language import rates_by_language
from userturn.figures.rates_by_temperature import rates_by_temperature
from userturn.figures.rates_by_turn import rates_by_turn
from userturn.figures.self_play import MEASURES as SELF_PLAY_MEASURES
from userturn.figures.self_play import self_play
from userturn.figures.turn_properties import MEASURES as PROPERTIES
from userturn.figures.turn_properties import turn_properties
from userturn.generation.scores import SIGNALS
from userturn.judges.verdict import GENUINE
from userturn.study.cells import ALL
from userturn.tables.answer_signals import RANDOM
from userturn.tables.confusion import PAIRS
from userturn.tables.families import families_table
from userturn.tables.likelihood import REFERENCE
from userturn.tables.parts_of_cells import BY_LANGUAGE, BY_TURN

JUDGE = "claude-opus-4-6"
JUDGES = (JUDGE, "second-judge")
LANGUAGES = ("bn", "de", "en", "es", "fr", "ja", "ru", "sw", "te", "th", "zh")  # MGSM's
CELL = {
    "model": MODELS,
    "dataset": list(DATASETS),
    "temperature": TEMPERATURES,
    "perturbation": PERTURBATIONS,
}
PLAIN = {"temperature": [0.0], "perturbation": ["none"]}
COUNTS = {"n_scored": 90, "n_turns": 100, "n_items": 100, "n_graded": 100, "n_positive": 30}


def crossed(columns: Mapping[str, Sequence[Any]], **same: Any) -> pl.DataFrame:
    """Return a row for each combination, with counts and an estimate between its limits."""
    table = pl.DataFrame({"index": [0]})
    for name, values in columns.items():
        table = table.join(pl.DataFrame({name: list(values)}), how="cross")
    rng = np.random.default_rng(0)
    estimate = pl.Series(rng.beta(2, 6, table.height))
    return table.drop("index").with_columns(
        estimate=estimate,
        lower=estimate * 0.7,
        upper=estimate + (1 - estimate) * 0.1,
        **{name: pl.lit(value) for name, value in (COUNTS | same).items()},
    )


def _models_and_datasets() -> dict[str, Sequence[Any]]:
    return {"model": MODELS, "dataset": list(DATASETS)}


def _contrasts() -> pl.DataFrame:
    table = crossed(
        {"model": MODELS, "dataset": [ALL, *DATASETS], "condition": PERTURBATIONS[1:]},
        factor="perturbation",
        scope="model and dataset",
        temperature=0.0,
    )
    return table.with_columns(
        perturbation="condition",
        difference=pl.col("estimate") - 0.3,
        lower=pl.col("estimate") - 0.4,
        upper=pl.col("estimate") - 0.2,
        p_adjusted=pl.col("estimate") / 4,
    )


def _languages() -> pl.DataFrame:
    """Return the rates of one dataset in the eleven languages of MGSM."""
    table = crossed(
        {"model": MODELS, "dataset": ["mgsm"], "language": LANGUAGES, **PLAIN}, reason=None
    )
    more = [name for name in LANGUAGE_MEASURES if name != "estimate"]
    ends = {f"{name}{end}": end.removeprefix("_") for name in more for end in ("_lower", "_upper")}
    return table.with_columns(**dict.fromkeys(more, pl.col("estimate"))).with_columns(
        **{name: pl.col(end) for name, end in ends.items()}
    )


def _self_play() -> pl.DataFrame:
    table = crossed({**_models_and_datasets(), "temperature": [0.0], "depth": range(1, 6)})
    more = [name for name in SELF_PLAY_MEASURES if name != "estimate"]
    ends = {f"{name}_{end}": pl.col(end) for name in more for end in ("lower", "upper")}
    return table.with_columns(**dict.fromkeys(more, pl.col("estimate")), **ends)


def _properties() -> pl.DataFrame:
    ends = zip(("", "_lower", "_upper"), ("estimate", "lower", "upper"), strict=True)
    columns = {f"{name}{end}": pl.col(of) for end, of in ends for name in PROPERTIES}
    own = crossed(CELL).with_columns(**columns)
    people = own.unique("dataset", maintain_order=True).with_columns(
        model=pl.lit("human"), temperature=pl.lit(None, pl.Float64)
    )
    return pl.concat([own, people])


def _likelihood() -> pl.DataFrame:
    tables = [
        crossed(
            _models_and_datasets(), part=REFERENCE, measure=one.name, unit=one.unit, chance=0.25
        )
        for one in LIKELIHOOD_MEASURES
        if one.name is not None
    ]
    return pl.concat(tables)


def _signals() -> pl.DataFrame:
    names = _models_and_datasets() | {"signal": SIGNALS}
    return pl.concat(
        [crossed(names, measure=one.name, baseline=RANDOM, n_mixed=40) for one in SIGNAL_MEASURES]
    )


def _confusion() -> pl.DataFrame:
    names = {"second": JUDGES, "label_first": LABELS, "label_second": LABELS}
    table = crossed(names, part=PAIRS, comparison="judge-human", first="people", n=12)
    return table.with_columns(share_of_first="estimate")


def paper_sized_charts() -> dict[str, Any]:
    """Return the chart of every figure: 11 models, 5 datasets, 5 temperatures, 3 perturbations."""
    families = families_table({model: {} for model in MODELS}, {})
    rates = crossed(CELL, scope="cell", label=GENUINE, **dict.fromkeys(MARKS.values(), 1))
    floors = {"floor": "estimate", "floor_lower": "lower", "floor_upper": "upper"}
    profiles = crossed(
        {"model": MODELS, "label": LABELS, **PLAIN}, dataset=ALL, scope="model", average="micro"
    )
    card = {"source": list(SOURCES), "measure": CARD_MEASURES}
    pairs = crossed(_models_and_datasets() | {"temperature": TEMPERATURES}, scope="cell")
    turns = crossed(CELL | {"group": map(str, range(1, 6))}, scope=BY_TURN)
    of = families, JUDGE
    return {
        "accuracy_and_followup": accuracy_and_followup(rates, crossed(_models_and_datasets()), *of),
        "rates_by_temperature": rates_by_temperature(rates.with_columns(**floors), *of),
        "perturbation_effects": perturbation_effects(_contrasts(), *of),
        "failure_profiles": failure_profiles(
            profiles.join(families.select("model", "family"), on="model"), *of
        ),
        "grid_overview": grid_overview(rates, *of),
        "judge_card": judge_card(crossed(card, by=ALL), *of),
        "rates_by_turn": rates_by_turn(turns, *of),
        "rates_by_language": rates_by_language(
            _languages().with_columns(group="language", scope=pl.lit(BY_LANGUAGE)),
            _languages().drop("estimate"),
            *of,
        ),
        "self_play": self_play(_self_play(), *of),
        "human_likeness": human_likeness(
            pairs.with_columns(n_labelled="n_scored", n_pairs="n_turns"), *of
        ),
        "likelihood_and_followup": likelihood_and_followup(rates, _likelihood(), *of),
        "answer_signals": answer_signals(_signals(), *of),
        "turn_properties": turn_properties(_properties(), *of),
        "confusion": confusion_figure(_confusion(), LABELS),
    }

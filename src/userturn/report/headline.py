"""The main numbers of a study, by one judge, each with its denominator."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from userturn.controls.control_turn import HUMAN
from userturn.study.cells import ALL, PLAIN
from userturn.tables.beside_accuracy import LIMITS
from userturn.tables.contrast_tests import FOLLOW_UP
from userturn.tables.decoupling import OF_A_MODEL
from userturn.tables.judges import cards, kinds_of_controls
from userturn.tables.likelihood import REFERENCE
from userturn.tables.make_tables import Tables
from userturn.tables.rates import cell_rates, model_rates
from userturn.tables.turn_rates import LENIENT
from userturn.tables.turn_rates import LIMITS as ENDINGS

COUNTED = ["n_scored", "n_turns", "n_answers", "n_answers_cut"]
COPIED = ["n_ok", "n_copies", "distinct", "distinct_lower", "distinct_upper"]
RATE_SHOWN = [*LIMITS, *LENIENT, *COUNTED, *COPIED]
FLOOR = [  # columns of the table `rates`
    *("floor", "floor_lower", "floor_upper", "above_floor", "above_floor_lower"),
    *("above_floor_upper", "reacts", "reacts_lower", "reacts_upper"),
]
COUNTS = ["n_turns", "n_ok", "n_empty", "n_error", "n_scored"]


def _judge_rows(tables: Tables, name: str, judge: str) -> pl.DataFrame:
    """Return one judge's rows of a table, none if the table is missing."""
    table = tables.get(name, pl.DataFrame({"judge": []}, schema={"judge": pl.String}))
    return table.filter(pl.col("judge") == judge)


def rates_under(rates: pl.DataFrame, perturbation: str) -> pl.DataFrame:
    """Return a judge's rates of models over all datasets under one perturbation."""
    return model_rates(rates).filter(pl.col("perturbation") == perturbation)


def rates_of_models(
    rates: pl.DataFrame, graded: pl.DataFrame, models: Sequence[str], perturbation: str
) -> list[dict[str, Any]]:
    """Return each model's rates over all datasets, by temperature, and its accuracy.

    `rates` are as `rates_under` returns them, and `graded` is the table `decoupling`, of one judge.

    Returns:
        `model`; `rates`: by rising temperature, `temperature` and the columns of a rate;
        `accuracy` and, over the same items, `followup` at the lowest temperature: over all
        graded datasets, with their limits and the number of answers or turns. Under a
        perturbation, and without grades, these two are None.
    """
    if graded.height:
        over_datasets = (pl.col("over") == OF_A_MODEL) & (pl.col("dataset") == ALL)
        graded = graded.filter(over_datasets, perturbation == PLAIN).sort("temperature")
    rows, rates = [], rates.sort("temperature")
    for model in models:
        of_model = rates.filter(pl.col("model") == model).select("temperature", *RATE_SHOWN)
        right = graded.filter(pl.col("model") == model) if graded.height else graded
        beside = {
            measure: [right[name][0] for name in (*(f"{measure}_{one}" for one in LIMITS), n)]
            if right.height
            else None
            for measure, n in (("accuracy", "n_graded"), ("followup", "n_scored"))
        }
        rows.append({"model": model, "rates": of_model.to_dicts(), **beside})
    return rows


def evidence_for_judge(tables: Tables, judge: str) -> dict[str, Any]:
    """Return the evidence on a judge: its card, and the planted failure that it misses most.

    `card` has a row for each source and measure over all its turns. `weakest` is the row of that
    kind of planted failures, or None if there is none.
    """
    measured = _judge_rows(tables, "judges", judge)
    if measured.is_empty():
        return {"card": [], "weakest": None}
    failing = pl.col("n_scored") > 0, pl.col("source") != HUMAN
    kinds = kinds_of_controls(measured).filter(*failing).sort("estimate", "group")
    weakest = next(kinds.iter_rows(named=True), None)
    return {"card": cards(measured).drop_nulls("estimate").to_dicts(), "weakest": weakest}


def floors_of_models(rates: pl.DataFrame, models: Sequence[str]) -> list[dict[str, Any]]:
    """Return each model's chance floors of turns over all datasets, by temperature.

    Returns:
        `model`, `temperature`, and `floor`, `above_floor` and `reacts` with their limits; the last
        is None where people's labels give the judge no sensitivity.
    """
    floors = rates.drop_nulls("floor").select("model", "temperature", *FLOOR)
    order = {model: position for position, model in enumerate(models)}
    return sorted(floors.to_dicts(), key=lambda row: (order[row["model"]], row["temperature"]))


def corrected_of_models(rates: pl.DataFrame) -> list[dict[str, Any]]:
    """Return each model's rate corrected by people's labels, none without labels.

    The keys are `model`, `temperature`, `n_labelled`, and `estimate` with its limits.
    """
    limits = {name: "corrected" + end for name, end in zip(LIMITS, ENDINGS, strict=True)}
    corrected = rates.drop_nulls("corrected")
    return corrected.select("model", "temperature", "n_labelled", **limits).to_dicts()


def identified_of_models(tables: Tables) -> list[dict[str, Any]]:
    """Return the share of reference follow-ups that a model finds likeliest after their own answer.

    The keys are `model`, `dataset`, `n_scored`, `chance`, and `estimate` with its limits.
    """
    likelihood = tables.get("likelihood")
    if likelihood is None:
        return []
    identified = likelihood.filter(
        pl.col("part") == REFERENCE,
        pl.col("measure") == "identified_answer",
        pl.col("estimate").is_not_null(),
    )
    return identified.select("model", "dataset", "n_scored", "chance", *LIMITS).to_dicts()


def answers_cut(tables: Tables) -> dict[str, int] | None:
    """Return the number of answers, and of those cut at the token limit, or None if unknown."""
    accuracy = tables.get("accuracy")
    if accuracy is None:
        return None
    return {"n": int(accuracy["n_items"].sum()), "n_cut": int(accuracy["n_answers_cut"].sum())}


def n_items(tables: Tables) -> int | None:
    """Return the number of items of all datasets, or None if unknown."""
    accuracy = tables.get("accuracy")
    if accuracy is None or accuracy.is_empty():
        return None
    return int(accuracy.group_by("dataset").agg(pl.max("n_items"))["n_items"].sum())


def played_of_models(
    tables: Tables, judge: str, played: Sequence[str], perturbation: str = PLAIN
) -> list[dict[str, Any]]:
    """Return the models that are told to play the user, beside the raw probe of the same model.

    The keys are `model` and `less_raw`, which has by temperature the `difference` from the raw
    probe's rate over all datasets, with its limits. It is empty for a model without a raw probe.
    """
    contrasts = _judge_rows(tables, "contrasts", judge)
    rows: list[dict[str, Any]] = [{"model": model, "less_raw": []} for model in played]
    if contrasts.height:
        over_all = pl.col("factor") == "format", pl.col("scope") == "model"
        own = contrasts.filter(*over_all, pl.col("perturbation") == perturbation)
        own = own.filter(pl.col("measure") == FOLLOW_UP).drop_nulls("difference")
        for row in rows:
            mine = own.filter(pl.col("model") == row["model"]).sort("temperature")
            row["less_raw"] = mine.select("temperature", "difference", *LIMITS[1:]).to_dicts()
    return rows


def headline(
    tables: Tables, judge: str, models: Sequence[str], perturbation: str = PLAIN
) -> dict[str, Any]:
    """Return the numbers at the beginning of the report, where missing tables leave a part empty.

    Returns:
        `counts` of turns over all cells, and of what became of them; `answers` and how many were
        cut; `models`, `floors`, `corrected` and `identified`, as the functions of these names
        return them; `card` and `weakest`.
    """
    rates, counts = _judge_rows(tables, "rates", judge), None
    numbers: dict[str, Any] = {"models": [], "floors": [], "corrected": []}
    if rates.height:
        counts = {name: int(cell_rates(rates)[name].sum()) for name in COUNTS}
        counts["n_unscored"] = counts["n_turns"] - counts["n_scored"]
        rates_shown, graded = (
            rates_under(rates, perturbation),
            _judge_rows(tables, "decoupling", judge),
        )
        numbers = {
            "models": rates_of_models(rates_shown, graded, models, perturbation),
            "floors": floors_of_models(rates_shown, models),
            "corrected": corrected_of_models(rates_shown),
        }
    return {
        "counts": counts,
        "answers": answers_cut(tables),
        **numbers,
        "identified": identified_of_models(tables),
        **evidence_for_judge(tables, judge),
    }

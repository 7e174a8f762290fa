"""What a study's own predictions came to: rows of `anchors`, beside the paper's results."""

from collections.abc import Mapping
from math import inf
from typing import Any

import polars as pl

from userturn.judges.verdict import GENUINE
from userturn.stats.proportions import Interval
from userturn.study.cells import ALL, PLAIN
from userturn.tables.anchor_evidence import Found, missing, points, shown
from userturn.tables.anchor_rules import within
from userturn.tables.make_tables import Tables

Prediction = Mapping[str, Any]
CORRECTED = "corrected by people's labels"  # the note of a result that is a finding by these


def predicted(one: Prediction) -> str:
    """Return the region of a prediction in words."""
    edges = [f"{edge} {one[edge]:.1%}" for edge in ("above", "below") if edge in one]
    return " and ".join(edges)


def quantity(name: str, one: Prediction) -> str:
    """Return what is predicted, in words: the prediction's own, or its keys."""
    if "says" in one:
        return f"{name}: {one['says']}"
    of = [one.get("of", "follow-up"), one.get("model") or one["family"]]
    of += [one[key] for key in ("dataset", "perturbation") if key in one]
    of += [f"temperature {one['temperature']:g}"] if "temperature" in one else []
    since = [f"{key} {value}" for key, value in one.get("against", {}).items()]
    return f"{name}: {', '.join([*of, *(f'against {one}' for one in since)])}"


def find(tables: Tables, one: Prediction) -> Found:
    """Return a study's result for a prediction, by the judge whose rows the tables have.

    A rate that people's labels correct counts as corrected.

    Args:
        tables: accuracy, contrasts, rates.
        one: the prediction.
    """
    rows = _rows(tables, one)
    if rows.is_empty():
        return missing("such cells")
    row = rows.row(0, named=True)
    corrected = row.get("corrected") is not None
    names = (
        ("corrected", "corrected_lower", "corrected_upper")
        if corrected
        else ("difference" if "against" in one else "estimate", "lower", "upper")
    )
    found = Interval(*(row[name] for name in names))
    if found.lower is None:
        return missing("scored turns of such cells")
    decision = within(found, one.get("above", -inf), one.get("below", inf))
    text = points(found) if "against" in one else shown(found)
    note = CORRECTED if corrected else None
    return Found(text, decision, note, row["n_items"])


def is_corrected(found: Found) -> bool:
    """Return whether a result is a finding however poor the judge is."""
    return found.note == CORRECTED


def _rows(tables: Tables, one: Prediction) -> pl.DataFrame:
    """Return the rows of a prediction's quantity: one, if the study has it."""
    if one.get("of") == "accuracy":
        at = {"model": one.get("model"), "dataset": one.get("dataset", ALL)}
        return tables["accuracy"].filter(*(pl.col(k) == v for k, v in at.items()))
    is_change = "against" in one
    table = tables["contrasts" if is_change else "rates"]
    kept = [pl.col("family") == one["family"]] if "family" in one else []
    kept += [pl.col("model") == one["model"]] if "model" in one else []
    kept += [pl.col("scope") == _scope(one, is_change)]
    kept += [pl.col("dataset") == one.get("dataset", ALL)]
    factor = next(iter(one.get("against", {})), None)
    if factor != "perturbation":
        kept.append(pl.col("perturbation") == one.get("perturbation", PLAIN))
    if factor != "temperature":
        coolest = tables["rates"]["temperature"].min()
        kept.append(pl.col("temperature") == one.get("temperature", coolest))
    if not is_change:
        kept += [pl.col("label") == GENUINE, pl.col("average") == "micro"]
        return table.filter(*kept)
    ends = {"condition": one.get(str(factor)), "baseline": one["against"][factor]}
    kept += [pl.col(end) == _text(value) for end, value in ends.items()]
    return table.filter(*kept, pl.col("factor") == factor)


def _text(value: Any) -> str:
    return str(float(value)) if isinstance(value, int | float) else str(value)


def _scope(one: Prediction, is_change: bool) -> str:
    if "family" in one:
        return "family and dataset" if "dataset" in one and not is_change else "family"
    if "dataset" in one:
        return "model and dataset" if is_change else "cell"
    return "model"

"""Tell what may be called a finding: there are two ways to one, and no third.

A *raw* rate of a judge is a finding only where both sides of the judge are shown. For that, the
lower limits of its sensitivity and its specificity must reach the thresholds. Sensitivity is that
to human follow-ups or to turns that people call genuine, specificity that on drawn turns that
people do not call genuine. A rate that is *corrected* by people's labels is a finding however poor
the judge is, and its upper limit says what the rate is below. Turns that language models labelled,
turns that a judge was tuned on and planted turns show nothing.

Where a side is not shown, one sentence comes first wherever rates are shown: in the report, under
the titles of figures, in printed tables, in `userturn rates` and `compare`, and beside the paper's
numbers. It says how many labels are missing.
"""

from collections.abc import Mapping, Sequence
from math import ceil
from pathlib import Path
from typing import NamedTuple

import polars as pl

from userturn.config.families import families, family
from userturn.controls.control_turn import HUMAN
from userturn.humans.labels import PEOPLE
from userturn.stats.proportions import CONFIDENCE, labels_to_reach, quantile_of
from userturn.study.cells import ALL
from userturn.study.grid import Grid
from userturn.study.record import read_study_record
from userturn.wording import number_of

CORRECTED = "A rate is a finding where people's labels correct it, however poor the judge."


class Side(NamedTuple):
    """One side of a judge: its measure, its threshold, and the turns that can show it."""

    measure: str
    threshold: str  # its key in `judge_card` of the configuration
    sources: Mapping[str, str]  # in words
    missing: str  # the turns whose labels would show it


SIDES = (
    Side(
        "sensitivity",
        "min_sensitivity",
        {PEOPLE: "turns that people call genuine", HUMAN: "human follow-ups"},
        "turns that people call genuine, or human follow-ups",
    ),
    Side(
        "specificity",
        "min_specificity",
        {PEOPLE: "turns that people do not call genuine"},
        "turns that people do not call genuine",
    ),
)
# The least share of people's turns that react: a language model labelled 39 of 60 clearly genuine,
# 65% [52, 76] (docs/controls.md).
REACT = {HUMAN: 0.52}
STRICTEST = 1.0  # threshold of a study without one, which nothing reaches


class Shortfall(NamedTuple):
    """Why a side of a judge is not shown, and the least number of labels that would show it."""

    measure: str
    why: str  # in words
    n_missing: int | None  # None if no number of labels would show it


def shortfalls(card: pl.DataFrame, judge: str, thresholds: Mapping[str, float]) -> list[Shortfall]:
    """Return the sides of a judge that are not shown, none if its raw rates are findings.

    A side is shown if the lower limit from one of its sources reaches the threshold, and no other
    source refutes it. People's labels refute it if their upper limit is below the threshold. Human
    follow-ups are all taken as genuine, and not all react, so they do if their upper limit is below
    the threshold times the share that reacts at least.
    """
    own = card.filter(pl.col("lower").is_not_null(), judge=judge, by=ALL)
    by_side = (_shortfall(own, side, thresholds.get(side.threshold, STRICTEST)) for side in SIDES)
    return [one for one in by_side if one]


def _shortfall(card: pl.DataFrame, side: Side, least: float) -> Shortfall | None:
    """Return why a judge's card does not show a side, or None if it does."""
    sources = pl.col("source").is_in(list(side.sources))
    rows = card.filter(sources, pl.col("n_scored") > 0, measure=side.measure)
    measured = rows.sort("lower", "source").to_dicts()
    below = [row for row in measured if row["upper"] < least]
    is_refuted = any(row["upper"] < least * REACT.get(row["source"], 1.0) for row in below)
    if measured and measured[-1]["lower"] >= least and not is_refuted:
        return None
    if not measured:
        n = labels_to_reach(least, 0, 0)
        told = f"at least {number_of(n, 'label')} of {side.missing} needed" if n else "not measured"
        return Shortfall(side.measure, f"{side.measure} not shown, {told}", n)
    row = below[0] if below else measured[-1]
    limits = "{estimate:.2f} [{lower:.2f}, {upper:.2f}]".format_map(row)
    why = f"{side.measure} {limits} on {row['n_scored']} {side.sources[row['source']]}"
    n, more = None if below else _still_missing(row, least), ""
    if n:
        more = f", at least {n} more needed"
    elif below and not is_refuted and (n := labels_to_reach(least, 0, 0)):  # only people's can
        more = f": at least {number_of(n, 'label')} of {side.sources[PEOPLE]} needed"
    return Shortfall(side.measure, f"{why}, its lower limit must reach {least:g}{more}", n)


def _still_missing(row: Mapping[str, float], least: float) -> int | None:
    """Return how many more labels, if all agree, would show a measure that has limits."""
    p, lower, n_scored = row["estimate"], row["lower"], row["n_scored"]
    z = quantile_of(CONFIDENCE)
    spread = (p - lower) ** 2
    worth = min(z**2 * lower * (1 - lower) / spread, n_scored) if spread and lower else n_scored
    n = labels_to_reach(least, p * worth, worth)
    return n if n is None else ceil(round(n * n_scored / worth, 6))


def judged_kin(grid: Grid, judge: str) -> list[str]:
    """Return the study's models of a judge's own family, including the judge itself.

    A judge may favour what its own family writes (Panickssery et al. 2024, arXiv:2404.13076).
    """
    own = str(grid.judges[judge].get("model", "")).rpartition("/")[2].lower()
    members = families(grid.models)
    return [member.model for member in members if own and member.family == family(own)]


def shown_judges(card: pl.DataFrame, grid: Grid) -> list[str]:
    """Return the judges of a study whose raw rates are findings, by the table `judges`."""
    thresholds = grid.config.get("judge_card", {})
    return [judge for judge in grid.judges if not shortfalls(card, judge, thresholds)]


def unknown_rates(
    card: pl.DataFrame | None, thresholds: Mapping[str, float], judges: Sequence[str]
) -> str | None:
    """Return the sentence that raw rates by some judges are no findings, or None if all are."""
    sentences = []
    measured = pl.DataFrame(schema=READ) if card is None or card.is_empty() else card
    for judge in judges:
        why = [one.why for one in shortfalls(measured, judge, thresholds)]
        if why:
            sentences.append(f"{judge} is not validated ({'; '.join(why)})")
    if not sentences:
        return None
    judged = ", and ".join(sentences)
    return f"Not a finding, the true rates are unknown from the judge alone: {judged}. {CORRECTED}"


# The columns of a judge's card that are read here.
READ = (
    dict.fromkeys(["judge", "source", "by", "measure"], pl.String)
    | dict.fromkeys(["estimate", "lower", "upper"], pl.Float64)
    | {"n_scored": pl.Int64}
)


def not_validated(card: pl.DataFrame | None, grid: Grid, *judges: str) -> str | None:
    """Return the sentence that rates by judges of a study are no findings, or None.

    If no judge is named, it is about all judges of the study.
    """
    thresholds = grid.config.get("judge_card", {})
    return unknown_rates(card, thresholds, judges or tuple(grid.judges))


def warning(card: pl.DataFrame | None, grid: Grid, *judges: str) -> str | None:
    """Return the warning to show before rates by some judges, or None if there is none.

    It says that the rates are no findings, or that a judge belongs to the family of a model that it
    judges. The arguments are those of `not_validated`.
    """
    kin = [
        f"The judge {judge} is of the family of {', '.join(own)}, which it judges."
        for judge in judges or tuple(grid.judges)
        if (own := judged_kin(grid, judge))
    ]
    first = not_validated(card, grid, *judges)
    return " ".join([first, *kin] if first else kin) or None


def card_of(results: Path) -> pl.DataFrame:
    """Return the table `judges` of a results folder, without rows if there is none.

    A table of an earlier version counts as none, since it shows nothing of a judge.
    """
    path = results / "tables" / "judges.parquet"
    is_there = path.is_file() and set(READ) <= set(pl.read_parquet_schema(path))
    return pl.read_parquet(path) if is_there else pl.DataFrame(schema=READ)


def warned(results: Path) -> str | None:
    """Return the warning to show before the rates of a results folder, or None if there is none.

    Without a record, as in an unfinished study, no judge is known to be validated.
    """
    card = card_of(results)
    if not (results / "study.json").is_file():
        judges = {path.stem for path in results.glob("cells/*/*/*/*/verdicts/[!.]*.parquet")}
        return unknown_rates(card, {}, sorted(judges))
    return warning(card, read_study_record(results).grid(results))

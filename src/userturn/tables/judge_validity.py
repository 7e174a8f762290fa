"""Tell whether a judge is validated: compare its card with the config's thresholds.

If it is not, a warning comes first wherever its rates are shown: in the report, under the titles of
figures, in printed tables, in `userturn rates`, and beside the paper's numbers.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from userturn.config.families import families, family
from userturn.controls.control_turn import HUMAN, PLANTED_HARD
from userturn.humans.labels import PEOPLE
from userturn.judges.kinds import kind_of
from userturn.study.cells import ALL
from userturn.study.grid import Grid
from userturn.study.inputs import LABELLED

ENOUGH = 20  # scored turns of a source; with fewer, the limits of a half are over 20 points from it
NAMES = {
    HUMAN: "human follow-ups",
    PLANTED_HARD: "hard planted failures",
    LABELLED: "the project's labelled turns",
    PEOPLE: "turns that people labelled",
}
LEAST = {"sensitivity": "min_sensitivity", "specificity": "min_specificity", "kappa": "min_kappa"}


def shortfalls(
    card: pl.DataFrame, judge: str, entry: Mapping[str, Any], limits: Mapping[str, float]
) -> list[str]:
    """Return the reasons why a judge is not validated; empty if it is.

    Each measure on labelled turns and people's labels must reach its threshold, and one of these
    sources must be there. Labelled turns from which a judge's rules were written do not test it.
    Sensitivity to human follow-ups and specificity on hard planted failures must reach theirs where
    `ENOUGH` of these turns were scored.

    Args:
        card: the table `judge_card`.
        judge: name of the judge.
        entry: the judge's entry.
        limits: the thresholds, `judge_card` in the config.
    """
    saw_labelled = kind_of(entry).SAW_LABELLED_TURNS
    labelled = pl.col("source").is_in([PEOPLE] if saw_labelled else [LABELLED, PEOPLE])
    enough = pl.col("source").is_in([HUMAN, PLANTED_HARD]) & (pl.col("n_scored") >= ENOUGH)
    own = card.filter(
        pl.col("judge") == judge,
        pl.col("by") == ALL,
        labelled | enough,
        pl.col("estimate").is_not_null(),
    )
    found = list(_too_low(own, limits))
    if own.filter(labelled).is_empty():
        untested = "it was not measured on labelled turns or by people"
        knows = (
            "its rules were written with the labelled turns in view, and no person has checked it"
        )
        found.append(knows if saw_labelled else untested)
    return found


def _too_low(card: pl.DataFrame, limits: Mapping[str, float]) -> Iterator[str]:
    """Yield what is below its threshold, one text for each source of turns."""
    for (source,), rows in card.sort("source", "measure").group_by("source", maintain_order=True):
        found, needed = [], []
        for row in rows.to_dicts():
            least = limits.get(LEAST.get(row["measure"], ""), None)
            if least is not None and row["estimate"] < least:
                found.append(f"{row['measure']} {row['estimate']:.2f}".replace("-", "−"))
                needed.append(f"{least:g}")
        if found:
            yield f"{_listed(found)} on {NAMES[str(source)]}, {_listed(needed)} needed"


def _listed(texts: list[str]) -> str:
    *others, last = texts
    return f"{', '.join(others)} and {last}" if others else last


def judged_kin(grid: Grid, judge: str) -> list[str]:
    """Return the study's models of a judge's own family, including the judge itself.

    A judge may favour what its own family writes (Panickssery et al. 2024, arXiv:2404.13076).
    """
    own = str(grid.judges[judge].get("model", "")).rpartition("/")[2].lower()
    members = families(grid.models)
    return [member.model for member in members if own and member.family == family(own)]


def not_validated(card: pl.DataFrame, grid: Grid, *judges: str) -> str | None:
    """Return the sentence that rates by some judges are no findings, or None if all are validated.

    Args:
        card: the table `judge_card`.
        grid: the study's grid, with the judges' entries and the thresholds.
        judges: the judges whose rates are shown; all judges of the study if none is named.
    """
    limits = grid.config.get("judge_card", {})
    said = []
    for judge in judges or tuple(grid.judges):
        why = shortfalls(card, judge, grid.judges[judge], limits)
        if why:
            said.append(f"{judge} is not validated ({'; '.join(why)})")
    return f"Not a finding: the judge {', and '.join(said)}." if said else None


def warning(card: pl.DataFrame, grid: Grid, *judges: str) -> str | None:
    """Return the warning to show before rates by some judges; None if there is none.

    It says that they are no findings, or that a judge belongs to the family of a model that it
    judges. The arguments are those of `not_validated`.
    """
    kin = [
        f"The judge {judge} is of the family of {', '.join(own)}, which it judges."
        for judge in judges or tuple(grid.judges)
        if (own := judged_kin(grid, judge))
    ]
    first = not_validated(card, grid, *judges)
    return " ".join([first, *kin] if first else kin) or None

"""Test claims that something is small, unchanged or kept: each interval against its margins."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np
import polars as pl

from userturn.config.families import Trainings
from userturn.stats.arrays import Floats
from userturn.stats.association import (
    Correlation,
    attenuation,
    of_measured,
    spearman,
)
from userturn.stats.clustered import Patterns, clustered_rate
from userturn.stats.equivalence import LEVEL, Limits, Margins, equivalence
from userturn.stats.margins import change
from userturn.stats.odds_ratios import common_odds_ratio
from userturn.stats.proportions import CONFIDENCE, Interval
from userturn.study.cells import ALL, PLAIN
from userturn.tables.beside_accuracy import limits_over_models
from userturn.tables.compared_conditions import SCOPES
from userturn.tables.contrasts import beside_bases
from userturn.tables.item_pairs import SHARED, paired_items, scoped, scored_margins
from userturn.tables.pooling import patterns, per_item
from userturn.tables.repeated_trainings import (
    changes_of,
    limits_over_trainings,
    place_of,
    together,
)

PLACE = ("family", "model", "condition", "baseline", "temperature", "perturbation", "judge")
NEAR_ZERO, NO_CHANGE, KEPT, DECOUPLED = "near zero", "no change", "accuracy kept", "decoupled"


def _against(row: dict[str, Any], limits: Limits, margins: Margins) -> dict[str, Any]:
    """Return a row with its interval, margins and p; unchanged if it has no interval."""
    row |= {"margin_lower": margins.lower, "margin_upper": margins.upper}
    if limits(1 - 2 * LEVEL).lower is None:
        return row
    found = equivalence(limits, margins)
    outside = "no" if found.is_outside else "undecided"
    shown = {name: x if np.isfinite(x) else None for name, x in found.interval._asdict().items()}
    return row | shown | {"p": found.p, "holds": outside}


def near_zero(items: pl.DataFrame, margin: float) -> Iterator[dict[str, Any]]:
    """Yield whether each model's unperturbed rate at the lowest temperature is near zero.

    Args:
        items: one row per item of a cell and judge, with `family`.
        margin: a rate below it is near zero.
    """
    keys = ["family", "model", "temperature", "perturbation", "judge"]
    coolest = pl.col("temperature") == items["temperature"].min()
    plain = items.filter(pl.col("perturbation") == PLAIN, coolest)
    kinds = [pl.col(name).cast(pl.String) for name in (*keys, "dataset") if name != "temperature"]
    counts = per_item(plain.with_columns(kinds), [*keys, "dataset"], ["n_genuine"])
    counted = patterns(counts, [*keys, "dataset"], "n_genuine")
    for names, group in sorted(counted.partition_by(keys, as_dict=True).items()):
        columns = ("n_items", "n_scored", "n_positive")
        of_all = Patterns(*(group[name].cast(pl.Float64).to_numpy() for name in columns))

        def limits(confidence: float, of_all: Patterns = of_all) -> Interval:
            return clustered_rate([of_all], "micro", confidence)[0]

        row = {"claim": NEAR_ZERO, "quantity": "rate", **dict(zip(keys, names, strict=True))}
        row |= {"n": int(of_all.seen.n_items.sum())}
        nothing = {} if row["n"] else {"reason": "no turn was scored"}
        yield _against(row | nothing, limits, Margins(None, margin))


def _changes(
    paired: Sequence[pl.DataFrame],
    scope: str,
    fixed: dict[str, Any],
    margins: Margins,
    by_training: Mapping[tuple[Any, ...], Floats] = MappingProxyType({}),
) -> Iterator[dict[str, Any]]:
    """Yield each contrast of a scope over all datasets against margins.

    Args:
        paired: pairs of items.
        scope: a scope of contrasts.
        fixed: what all rows have in common.
        margins: the margins.
        by_training: where pairs are of several trainings of one recipe, the change by each.
    """
    for part in paired:
        of_one = {"model": part["model"][0]} if by_training else {}
        counts = scoped(part, scope, SCOPES[scope] | of_one)
        for names, group in counts.partition_by(SHARED, as_dict=True, maintain_order=True).items():
            place = dict(zip(SHARED, names, strict=True))
            turns = scored_margins(group)
            limits: Limits = partial(change, turns)
            if by_training:
                each = by_training[place_of(place)]
                limits = partial(limits_over_trainings, turns=turns, changes=each)
            n = int(group.filter(pl.col("change").is_not_null())["n"].sum())
            row = fixed | {name: place[name] for name in PLACE} | {"n": n}
            yield _against(row, limits, margins)


def no_change(
    items: pl.DataFrame, controls: Sequence[str], margin: float
) -> Iterator[dict[str, Any]]:
    """Yield whether conditions leave rates of models and families unchanged.

    Perturbations at the lowest temperature, without controls; temperatures without a perturbation;
    formats at the lowest temperature without a perturbation.

    Args:
        items: one row per item of a cell and judge, with `family`.
        controls: names of the perturbations that are controls.
        margin: a smaller change, up or down, counts as none.
    """
    coolest = items["temperature"].min()
    perturbed, warmer, *in_formats = paired_items(items, coolest, [])
    name = pl.col("perturbation").cast(pl.String)
    perturbed = perturbed.filter(pl.col("temperature") == coolest, ~name.is_in(list(controls)))
    unperturbed = [part.filter(pl.col("temperature") == coolest) for part in in_formats]
    main = [perturbed, *(part.filter(name == PLAIN) for part in (warmer, *unperturbed))]
    paired = [part for part in main if part.height]
    for scope in ("model", "family"):
        fixed = {"claim": NO_CHANGE, "quantity": f"change of a {scope}'s rate"}
        yield from _changes(paired, scope, fixed, Margins(-margin, margin))


def accuracy_kept(
    graded: pl.DataFrame, trainings: Trainings, margin: float
) -> Iterator[dict[str, Any]]:
    """Yield whether post-training costs no more accuracy than a margin.

    Args:
        graded: answers in the form of counted items.
        trainings: pairs of a post-trained model and one of its bases, by recipe.
        margin: a smaller loss counts as none.
    """
    fixed, margins = {"claim": KEPT, "quantity": "change of accuracy"}, Margins(-margin, None)
    if not trainings:
        yield fixed | {"reason": "no model line of this study names its base"}
    for first, pairs in trainings.items():
        parts = beside_bases(graded, pairs)
        if not any(part.height for part in parts):
            continue
        if len(parts) == 1:
            yield from _changes(parts, "model", fixed, margins)
        else:
            whole = together(parts, first, pairs)
            yield from _changes([whole], "model", fixed, margins, changes_of(parts))


def decoupled_over_models(beside: pl.DataFrame, margin: float) -> Iterator[dict[str, Any]]:
    """Yield whether accuracy and follow-up rate are uncorrelated over models (Spearman).

    Args:
        beside: accuracy and follow-up rate of the models that name no base.
        margin: a correlation nearer to 0 counts as none.
    """
    keys = ["temperature", "judge"]
    over_all = beside.filter(pl.col("dataset") == ALL)
    for names, group in sorted(over_all.partition_by(keys, as_dict=True).items()):
        seen = group.drop_nulls(["accuracy_estimate", "followup_estimate"])
        measured = [limits_over_models(seen, name) for name in ("accuracy", "followup")]

        families = seen["family"].to_list()

        def correlation(
            confidence: float, measured: Any = measured, families: Any = families
        ) -> Correlation:
            rng = np.random.default_rng(0)
            found = spearman(measured[0][0], measured[1][0], 1, rng, confidence, families)
            return of_measured(found, attenuation(measured))

        def limits(confidence: float, of: Any = correlation) -> Interval:
            found = of(confidence)
            return Interval(found.estimate, found.lower, found.upper)

        fixed = {"claim": DECOUPLED, "quantity": "rank correlation over models"}
        row = fixed | dict(zip(keys, names, strict=True)) | {"n": seen.height}
        yield _against(
            row | {"reason": correlation(CONFIDENCE).reason}, limits, Margins(-margin, margin)
        )


def decoupled_over_items(association: pl.DataFrame, margin: float) -> Iterator[dict[str, Any]]:
    """Yield whether a model follows up as often after its correct answers as after its wrong ones.

    Args:
        association: right answers and genuine turns, counted (`item_association`).
        margin: an odds ratio between its inverse and itself counts as no association.
    """
    keys = ["family", "model", "temperature", "judge"]
    datasets = association.filter(pl.col("dataset") != ALL)
    for names, group in sorted(datasets.partition_by(keys, as_dict=True).items()):
        counts = group.select(
            "n_right_genuine", "n_right_not", "n_wrong_genuine", "n_wrong_not"
        ).to_numpy()

        def limits(confidence: float, counts: Any = counts) -> Interval:
            found = common_odds_ratio(counts, confidence)
            return Interval(found.odds_ratio, found.lower, found.upper)

        row = {"claim": DECOUPLED, "quantity": "odds ratio over items", "n": int(counts.sum())}
        row |= dict(zip(keys, names, strict=True)) | {"reason": common_odds_ratio(counts).reason}
        yield _against(row, limits, Margins(1 / margin, margin))

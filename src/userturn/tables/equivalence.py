"""Table `equivalence`: claims that something is small, unchanged or kept, against margins.

A difference that was not detected may still exist. A claim that there is none needs a margin, which
the config gives, and holds if the interval lies within it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np
import polars as pl

from userturn.config.families import Trainings, trainings
from userturn.prompts.perturbations import controls_of
from userturn.stats.association import (
    Correlation,
    attenuation,
    common_odds_ratio,
    drop_biased_interval,
    spearman,
)
from userturn.stats.margins import change
from userturn.stats.proportions import CONFIDENCE, Floats, Interval, Patterns, clustered_rate
from userturn.stats.significance import LEVEL, Margins, equivalence, holm
from userturn.storage.table_files import Schema
from userturn.study.cells import ALL, PLAIN
from userturn.tables.added_columns import SEEN, default_format_rows, is_default, mark_seen
from userturn.tables.beside_accuracy import limits_over_models
from userturn.tables.contrast_tests import SCOPES
from userturn.tables.contrasts import graded_answers, pairs_of_answers
from userturn.tables.decoupling import OF_A_MODEL, OVER_ITEMS
from userturn.tables.item_pairs import (
    Cells,
    Pairs,
    cells_of,
    paired_items,
    scoped_contrasts,
    scored_margins,
)
from userturn.tables.judge_validity import shown_judges
from userturn.tables.layout import (
    DASH,
    INTERVAL,
    Layout,
    P,
    column,
    number,
    printed_only,
    reported,
    texts,
)
from userturn.tables.make_tables import Material
from userturn.tables.repeated_trainings import changes_of, limits_over_trainings, row_key, together
from userturn.tables.turn_rates import VERIFIER, patterns, per_item, sorted_groups
from userturn.workflow.registry import Table

TABLE = Table(
    rule="compare_with_margins",
    place=80,
    row="a claim that something is small, unchanged or kept",
    made_of=("verdicts", "grades", "families", "decoupling", "judges", "copies"),
    settings=("bases", "trainings", "exposure", "controls", "margins", "thresholds"),
    formats=(".parquet", ".csv", ".md", ".tex"),
    version=5,
)
MEANINGS = {
    "quantity": "the quantity that the claim is about",
    "estimate": "estimate of the quantity",
    "lower": "lower limit of the 90% interval",
    "upper": "upper limit of the 90% interval",
    "p": "p-value of the two one-sided tests against the margins",
    "holds": "yes, no or undecided; unknown where the judge is not validated",
    "p_adjusted": "p-value adjusted by Holm over the quantity and judge",
}
NOT_SHOWN = "the judge is not validated, so its rates are not known to be the true ones"
MARGINS = ("margin_lower", "margin_upper")
SCHEMA: Schema = {
    **dict.fromkeys(("claim", "quantity", "family", "model", "condition", "baseline"), pl.String),
    "temperature": pl.Float64,
    "perturbation": pl.String,
    "judge": pl.String,
    "n": pl.Int64,
    **dict.fromkeys(("estimate", *INTERVAL, *MARGINS, "p", "p_adjusted"), pl.Float64),
    "holds": pl.String,
    "reason": pl.String,
    **SEEN,
}
CLAIM_KEYS = ("family", "model", "condition", "baseline", "temperature", "perturbation", "judge")
NEAR_ZERO, NO_CHANGE, NO_LOSS, DECOUPLED = "near zero", "no change", "accuracy kept", "decoupled"


def table(material: Material) -> pl.DataFrame:
    """Return the table of a study."""
    grid, margins = material.grid, material.grid.config["statistics"].get("margins")
    if margins is None:
        return adjusted([{"reason": "the record of this study is older than the margins"}])
    members = material.table("families")
    decoupling = material.table("decoupling")
    models = default_format_rows(decoupling.filter(over=OF_A_MODEL))
    beside = models.filter(pl.col("base").is_null())
    recipes = trainings(grid.models, grid.entries)
    rows = [
        *near_zero(material.items, margins["near_zero"]),
        *no_change(material.items, controls_of(grid.perturbations), margins["change"]),
        *no_accuracy_loss(graded_answers(material.grades, members), recipes, margins["accuracy"]),
        *decoupled_over_models(beside, margins["correlation"]),
        *decoupled_over_items(decoupling.filter(over=OVER_ITEMS), margins["odds_ratio"]),
    ]
    grades = [VERIFIER, *shown_judges(material.table("judges"), grid)]
    claims = hide_other_judges(adjusted(rows), grades).drop(list(SEEN))
    over_all = claims.with_columns(dataset=pl.lit(ALL))
    told = mark_seen(over_all, grid.entries, grid.contents.recipes, grid.datasets, "model")
    return told.drop("dataset")


def hide_other_judges(claims: pl.DataFrame, judges: Sequence[str]) -> pl.DataFrame:
    """Return claims with an outcome of `unknown` where the judge is not among `judges`."""
    unknown = pl.col("holds").is_not_null() & ~pl.col("judge").is_in(judges)
    return claims.with_columns(
        holds=pl.when(unknown).then(pl.lit("unknown")).otherwise("holds"),
        reason=pl.when(unknown).then(pl.lit(NOT_SHOWN)).otherwise("reason"),
    )


def adjusted(rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """Return claims with p adjusted by Holm for each quantity and judge, and the outcome.

    Claims about formats other than the default are adjusted apart. A claim holds if its adjusted p
    is below 0.05. It does not hold if the interval lies wholly outside the margins. Otherwise it is
    undecided.
    """
    table = pl.DataFrame(rows, schema=SCHEMA).with_row_index("place")
    parts = [table.filter(pl.col("p").is_null())]
    tested = table.filter(pl.col("p").is_not_null())
    is_usual = is_default("family").fill_null(value=True)
    sets = tested.with_columns(is_usual=is_usual).partition_by(
        "quantity", "judge", "is_usual", maintain_order=True
    )
    for part in sets:
        p_adjusted = holm(part["p"].to_numpy())
        parts.append(part.drop("is_usual").with_columns(p_adjusted=p_adjusted))
    holds = pl.when(pl.col("p_adjusted") < LEVEL).then(pl.lit("yes")).otherwise("holds")
    return pl.concat(parts).sort("place").with_columns(holds=holds).drop("place")


def _against(
    row: dict[str, Any], at: Callable[[float], tuple[Any, ...]], margins: Margins
) -> dict[str, Any]:
    """Return a row with its margins, and with interval, p and outcome unless it has no interval.

    `at` takes a confidence and returns the estimate, its limits and possibly further values.
    """

    def limits(confidence: float) -> Interval:
        return Interval(*at(confidence)[:3])

    row |= {"margin_lower": margins.lower, "margin_upper": margins.upper}
    if limits(1 - 2 * LEVEL).lower is None:
        return row
    verdict = equivalence(limits, margins)
    outside = "no" if verdict.is_outside else "undecided"
    limits_of_row = {
        name: x if np.isfinite(x) else None for name, x in verdict.interval._asdict().items()
    }
    return row | limits_of_row | {"p": verdict.p, "holds": outside}


def near_zero(items: pl.DataFrame, margin: float) -> Iterator[dict[str, Any]]:
    """Yield the claim that a model's unperturbed rate is near zero at the lowest temperature."""
    keys = ["family", "model", "temperature", "perturbation", "judge"]
    coolest = pl.col("temperature") == items["temperature"].min()
    plain = items.filter(coolest, perturbation=PLAIN)
    kinds = [pl.col(name).cast(pl.String) for name in (*keys, "dataset") if name != "temperature"]
    counts = per_item(plain.with_columns(kinds), [*keys, "dataset"], ["n_genuine"])
    counted = patterns(counts, [*keys, "dataset"], "n_genuine")
    for names, group in sorted_groups(counted, keys):
        columns = ("n_items", "n_scored", "n_positive")
        of_all = Patterns(*(group[name].cast(pl.Float64).to_numpy() for name in columns))
        row = {"claim": NEAR_ZERO, "quantity": "rate", **names}
        row |= {"n": int(of_all.seen.n_items.sum())}
        nothing = {} if row["n"] else {"reason": "no turn was scored"}
        yield _against(row | nothing, partial(_rate, of_all), Margins(None, margin))


def _rate(items: Patterns, confidence: float) -> Interval:
    return clustered_rate([items], "micro", confidence)[0]


def _changes(
    paired: Sequence[Pairs],
    scope: str,
    fixed: dict[str, Any],
    margins: Margins,
    by_training: Mapping[tuple[Any, ...], Floats] = MappingProxyType({}),
) -> Iterator[dict[str, Any]]:
    """Yield each contrast of a scope over all datasets, tested against margins.

    `fixed` has what all rows have in common. Where pairs are of several trainings of one recipe,
    `by_training` is the change by each.
    """
    for pairs in paired:
        of_one = {"model": pairs.names["model"][0]} if by_training else {}
        for names_of_row, group in scoped_contrasts([pairs], {scope: SCOPES[scope] | of_one}):
            turns = scored_margins(group)
            limits: Callable[[float], Interval] = partial(change, turns)
            if by_training:
                each = by_training[row_key(names_of_row)]
                limits = partial(limits_over_trainings, turns=turns, changes=each)
            n = int(group["n"][~np.isnan(group["change"])].sum())
            row = fixed | {name: names_of_row[name] for name in CLAIM_KEYS} | {"n": n}
            yield _against(row, limits, margins)


def no_change(
    items: pl.DataFrame, controls: Sequence[str], margin: float
) -> Iterator[dict[str, Any]]:
    """Yield the claims that conditions leave rates of models and families unchanged.

    The conditions are perturbations other than controls at the lowest temperature, temperatures
    without a perturbation, and formats at the lowest temperature without a perturbation.
    """
    coolest = items["temperature"].min()
    perturbed, warmer, in_formats = paired_items(cells_of(items), coolest, [])
    name, is_coolest = pl.col("perturbation"), pl.col("temperature") == coolest
    paired = [
        perturbed.where(~name.is_in(list(controls)) & is_coolest),
        warmer.where(name == PLAIN),
        *(pairs.where((name == PLAIN) & is_coolest) for pairs in in_formats),
    ]
    for scope in ("model", "family"):
        fixed = {"claim": NO_CHANGE, "quantity": f"change of a {scope}'s rate"}
        yield from _changes(paired, scope, fixed, Margins(-margin, margin))


def no_accuracy_loss(
    graded: Cells, trainings: Trainings, margin: float
) -> Iterator[dict[str, Any]]:
    """Yield per post-trained model the claim that it loses no more accuracy than a margin."""
    fixed, margins = {"claim": NO_LOSS, "quantity": "change of accuracy"}, Margins(-margin, None)
    if not trainings:
        yield fixed | {"reason": "no model line of this study names its base"}
    for first, pairs in trainings.items():
        parts = [pairs_of_answers(graded, pair) for pair in pairs]
        if not any(part.names.height for part in parts):
            continue
        if len(parts) == 1:
            yield from _changes(parts, "model", fixed, margins)
        else:
            whole = together(parts, first)
            yield from _changes([whole], "model", fixed, margins, changes_of(parts))


def decoupled_over_models(beside: pl.DataFrame, margin: float) -> Iterator[dict[str, Any]]:
    """Yield per judge and temperature the claim that accuracy and follow-ups are uncorrelated."""
    for names, group in sorted_groups(beside.filter(dataset=ALL), ["temperature", "judge"]):
        seen = group.drop_nulls(["accuracy_estimate", "followup_estimate"])
        row = {"claim": DECOUPLED, "quantity": "rank correlation over models", "n": seen.height}
        row |= names | {"reason": _correlation(seen).reason}
        yield _against(row, partial(_correlation, seen), Margins(-margin, margin))


def _correlation(models: pl.DataFrame, confidence: float = CONFIDENCE) -> Correlation:
    accuracy, followup = (limits_over_models(models, of) for of in ("accuracy", "followup"))
    families, rng = models["family"].to_list(), np.random.default_rng(0)
    correlation = spearman(accuracy[0], followup[0], 1, rng, confidence, families)
    return drop_biased_interval(correlation, attenuation([accuracy, followup]))


def decoupled_over_items(association: pl.DataFrame, margin: float) -> Iterator[dict[str, Any]]:
    """Yield per model the claim that it follows up equally often after right and wrong answers.

    An odds ratio between the margin and its inverse counts as no association.
    """
    keys = ["family", "model", "temperature", "judge"]
    cells = ["n_right_genuine", "n_right_not", "n_wrong_genuine", "n_wrong_not"]
    datasets = association.filter(pl.col("dataset") != ALL)
    for names, group in sorted_groups(datasets, keys):
        counts = group.select(cells).to_numpy()
        row = {"claim": DECOUPLED, "quantity": "odds ratio over items", "n": int(counts.sum())}
        row |= names | {"reason": common_odds_ratio(counts).reason}
        yield _against(row, partial(common_odds_ratio, counts), Margins(1 / margin, margin))


LAYOUT = Layout(
    "Claims that need a margin",
    {},
    (
        *texts("claim", "quantity"),
        *reported(*texts("family", "model")),
        printed_only(
            "of", "text", text=pl.when(pl.col("model") == ALL).then("family").otherwise("model")
        ),
        *texts("condition", "temperature", "judge"),
        column("items or models", "count", "n", text=pl.col("n").cast(pl.String).fill_null(DASH)),
        column(
            "estimate, with its 90% interval",
            "number",
            "estimate",
            *INTERVAL,
            printed="estimate, 90%",
            text=number("estimate", *INTERVAL, digits=3),
        ),
        *reported(
            column("margin below", "number", "margin_lower"),
            column("margin above", "number", "margin_upper"),
        ),
        printed_only(
            "margins",
            "number",
            text=pl.when(pl.all_horizontal(pl.col(MARGINS).is_null()))
            .then(pl.lit(DASH))
            .otherwise(pl.format("{} to {}", *(number(name, digits=3) for name in MARGINS))),
        ),
        P[1],
        column("holds", "text", text=pl.col("holds").fill_null(DASH)),
        *texts("reason"),
    ),
)

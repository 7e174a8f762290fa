"""How likely models find reference follow-ups, and models compared on the same ones."""

from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from userturn.config.families import FamilyMember, Trainings, families, trainings
from userturn.config.formats import default_format_models, models_in_other_formats
from userturn.generation.scorer import ENDING
from userturn.stats.clustered_measures import clustered_mean, mean_p
from userturn.stats.margins import clustered_change
from userturn.stats.proportions import CONFIDENCE, Floats, Interval
from userturn.stats.significance import sign_flip_p
from userturn.study.cells import ALL
from userturn.study.grid import Grid
from userturn.tables.added_columns import FORMAT, add_holm
from userturn.tables.repeated_trainings import p_of_none, widen_by_trainings
from userturn.tables.turn_rates import mean_over, most_frequent, rate_over

CHARACTER, TOKEN, WHOLE = "nats a character", "nats a token", "nats a turn"
LENGTHS = {CHARACTER: pl.col("n_characters"), TOKEN: pl.col("n_tokens"), WHOLE: pl.lit(1)}
IDENTIFIED = {"identified_answer": "n_answers", "identified_conversation": "n_conversations"}
ENDS = "ends_at_once"
NO_ENDINGS = "not scored: `endings: true` below `likelihood` asks for it"
GAINS = ("gain_answer", "gain_conversation", "gain_role", "surprisal")


def value_of(measure: str) -> pl.Expr:
    """Return a follow-up's value of a measure: a share, or a gain in nats per character."""
    value = pl.col(measure).cast(pl.Float64)
    return value if UNITS[measure] == "share" else value / pl.col("n_characters")


def measures(turns: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield the rows of one model and dataset, one per measure and unit.

    Every turn has the same weight, with its gain per character, per token or whole. Intervals are
    clustered by conversation. `reason` is the most frequent reason why turns have no value.
    """
    for name, n_others in IDENTIFIED.items():
        yield _row(turns, name, "share") | identification(turns, name, n_others)
    for name in GAINS:
        for unit, length in LENGTHS.items():
            mean = mean_over(turns.with_columns(value=pl.col(name) / length), "value")
            yield _row(turns, name, unit) | mean._asdict()


def identification(turns: pl.DataFrame, name: str, n_others: str) -> dict[str, Any]:
    """Return the share of turns likeliest after their own context, and the share by chance.

    `name` is the column that says so, `n_others` the column with the number of other contexts.
    """
    seen = turns.drop_nulls(name)
    rate, _ = rate_over(seen, ["conversation"], name)
    chance = (1 / (seen[n_others] + 1)).mean() if seen.height else None
    return {**rate._asdict(), "chance": chance}


def ending(scores: pl.DataFrame) -> dict[str, Any]:
    """Return the row on the probability that a turn ends at once, for one model and dataset.

    It is the mean over contexts of the probability of the token that ends a user turn, right after
    the user header. Limits are clustered by conversation.
    """
    scored = scores.filter(context=ENDING)
    value = pl.col("logprob").exp()
    seen = scored.drop_nulls("logprob").with_columns(value=value)
    estimate, lower, upper = mean_over(seen, "value")
    if lower is not None and upper is not None:
        lower, upper = max(0.0, lower), min(1.0, upper)
    return {
        **scores.select("model", "dataset").head(1).row(0, named=True),
        **{"measure": ENDS, "unit": "probability", "rater": ALL, "turns": ALL},
        "n_turns": scored.height,
        "n_scored": seen.height,
        "n_conversations": seen["conversation"].n_unique(),
        **{"estimate": estimate, "lower": lower, "upper": upper},
        "reason": most_frequent(scored["error"]) if scored.height else NO_ENDINGS,
    }


def _row(turns: pl.DataFrame, name: str, unit: str) -> dict[str, Any]:
    seen = turns.drop_nulls(name)
    why = most_frequent(turns["error"])
    if why is None and seen.height < turns.height:
        why = "no other context could be scored"
    return {
        "model": turns["model"][0],
        "dataset": turns["dataset"][0],
        "measure": name,
        "unit": unit,
        "n_turns": turns.height,
        "n_scored": seen.height,
        "n_conversations": seen["conversation"].n_unique(),
        "reason": why,
    }


UNITS = {
    **dict.fromkeys(IDENTIFIED, "share"),
    **dict.fromkeys(("gain_answer", "gain_conversation", "gain_role"), CHARACTER),
}
TESTS = ["factor", "dataset", "measure"]  # Holm adjusts the tests that agree in these


POST_TRAINING = "post-training"


class Pair(NamedTuple):
    """Two groups of models that are compared."""

    factor: str  # `size`, `family`, `post-training` or `format`
    condition: str  # name of the model or family
    baseline: str  # name of the other one
    models: list[str]  # of the condition
    models_before: list[str]  # of the baseline, or the base of each training


def pairs_of(grid: Grid) -> list[Pair]:
    """Return the pairs that a study compares: sizes, families, post-trained models and formats."""
    models = default_format_models(grid.models)
    of_models = pairs(families(models), trainings(models, grid.entries))
    formats = (
        Pair(FORMAT, *pair, *([n] for n in pair)) for pair in models_in_other_formats(grid.models)
    )
    return [*of_models, *formats]


def pairs(members: Sequence[FamilyMember], trained: Trainings) -> Iterator[Pair]:
    """Yield pairs of a model and the next smaller one, of families, and of a model and its base."""
    of_families: dict[str, list[FamilyMember]] = {}
    names = {model for ones in trained.values() for model, _ in ones}
    for member in members:
        if member.model not in names:
            of_families.setdefault(member.family, []).append(member)
    for of_family in of_families.values():
        sized = [member.model for member in of_family if member.size is not None]
        for smaller, larger in pairwise(sized):
            yield Pair("size", larger, smaller, [larger], [smaller])
    for (first, before), (second, after) in combinations(of_families.items(), 2):
        models = [m.model for m in after], [m.model for m in before]
        yield Pair("family", second, first, *models)
    for (model, base), ones in trained.items():
        yield Pair(POST_TRAINING, model, base, [m for m, _ in ones], [b for _, b in ones])


def likelihood_contrasts(gains: pl.DataFrame, pairs: Sequence[Pair]) -> pl.DataFrame:
    """Return the difference of each pair on the follow-ups that all its models scored.

    A family's value of a turn is the mean over its models. Limits are those of a mean with
    cluster-robust variance (`clustered_mean`), or for shares those of a change over conversations
    (`clustered_change`). p is exact, by flipping the signs of whole conversations. For gains p is
    at least that of the mean (`mean_p`), since sign flips ask whether two models may be exchanged,
    and reject a mean of 0 that is skewed. Over several trainings of a recipe, limits and p allow
    for the trainings, too (`tables.repeated_trainings`). Holm's method adjusts the p-values of each
    factor, dataset and measure.
    """
    rows = [
        row
        for _, of_dataset in sorted(gains.group_by("dataset"))
        for measure in UNITS
        for pair in pairs
        for row in _compared(of_dataset, measure, pair)
    ]
    if not rows:
        return pl.DataFrame()
    table = pl.DataFrame(rows, infer_schema_length=None).sort(*TESTS, maintain_order=True)
    return add_holm(table, TESTS)


def _compared(gains: pl.DataFrame, measure: str, pair: Pair) -> Iterator[dict[str, Any]]:
    """Yield the row of a pair, if there is a follow-up that all its models scored."""
    seen = gains.with_columns(value=value_of(measure)).drop_nulls("value")
    both = _means(seen, pair.models).join(
        _means(seen, pair.models_before), on=["item", "conversation"], suffix="_before"
    )
    if both.is_empty():
        return
    both = both.sort("item").with_columns(change=pl.col("value") - pl.col("value_before"))
    sums = (
        both.group_by("conversation")
        .agg(pl.len(), pl.col("change", "value", "value_before").sum())
        .sort("conversation")
    )
    yield {
        "factor": pair.factor,
        "condition": pair.condition,
        "baseline": pair.baseline,
        "dataset": gains["dataset"][0],
        "measure": measure,
        "unit": UNITS[measure],
        "n_turns": both.height,
        "n_conversations": sums.height,
        "mean_baseline": both["value_before"].mean(),
        "mean_condition": both["value"].mean(),
        "estimate": both["change"].mean(),
        **_tested(both, sums, pair, UNITS[measure], _changes_by_training(seen, pair)),
    }


def _changes_by_training(seen: pl.DataFrame, pair: Pair) -> list[float]:
    """Return the mean change by each of several trainings, or nothing for any other pair."""
    if pair.factor != POST_TRAINING or len(pair.models) == 1:
        return []
    keys = ["item", "conversation"]
    of_all = _means(seen, [*pair.models, *pair.models_before]).select(keys)
    changes = []
    for model, base in zip(pair.models, pair.models_before, strict=True):
        both = _means(seen, [model]).join(_means(seen, [base]), on=keys, suffix="_before")
        shared = both.join(of_all, on=keys, how="semi").sort(keys)
        changes.append(float((shared["value"] - shared["value_before"]).mean()))  # type: ignore[arg-type]
    return changes


def _tested(
    both: pl.DataFrame, sums: pl.DataFrame, pair: Pair, unit: str, by_training: Sequence[float]
) -> dict[str, Any]:
    """Return limits and p over follow-ups, and over trainings where there are several."""

    def limits(confidence: float) -> Interval:
        interval = _limits(both, sums, pair, unit, confidence)
        return widen_by_trainings(interval, by_training, confidence) if by_training else interval

    at_95 = limits(CONFIDENCE)
    p = p_of_none(limits) if by_training else _p(both, sums["change"].to_numpy(), unit)
    return {"lower": at_95.lower, "upper": at_95.upper, "p": p}


def _p(both: pl.DataFrame, changes: Floats, unit: str) -> float:
    if unit == "share":
        return sign_flip_p(changes, np.ones(len(changes)))
    largest = float(np.abs(changes).max()) or 1.0
    exact = sign_flip_p(changes / largest, np.ones(len(changes)))
    return max(exact, mean_p(both["change"], both["conversation"].to_list()))


def _limits(
    both: pl.DataFrame, sums: pl.DataFrame, pair: Pair, unit: str, confidence: float
) -> Interval:
    if unit != "share":
        return clustered_mean(both["change"], both["conversation"].to_list(), confidence)
    columns = (sums[name].cast(pl.Float64) for name in ("len", "value_before", "value"))
    n, before, after = (values.to_numpy() for values in columns)
    raters = len({*pair.models_before}), len(pair.models)
    return clustered_change(n, before, after, raters, confidence)


def _means(seen: pl.DataFrame, models: Sequence[str]) -> pl.DataFrame:
    """Return the mean value over some models of each turn that all of them scored."""
    names = {*models}
    of_models = seen.filter(pl.col("model").is_in(names)).sort("model")
    means = of_models.group_by("item", "conversation").agg(pl.len(), pl.col("value").mean())
    return means.filter(len=len(names)).drop("len")

"""Estimate from a finished study's scores how alike two models find reference follow-ups."""

from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl
from scipy.stats import t

from userturn.config.formats import DEFAULT, format_of
from userturn.errors import UserError
from userturn.generation.likelihood_gains import turn_gains
from userturn.sources.scores import HUMAN_TURNS
from userturn.stats.arrays import Floats
from userturn.stats.clustered_means import clustered_mean
from userturn.stats.proportions import CONFIDENCE
from userturn.stats.sample_size import FollowUps
from userturn.storage.table_files import Schema
from userturn.tables.likelihood import COMPARED
from userturn.tables.likelihood_contrasts import TESTS, UNITS
from userturn.tables.pilot import Assumption

NAMES = ("model", "dataset", "item", "conversation")
SCHEMA: Schema = {**dict.fromkeys(NAMES, pl.String), "value": pl.Float64}
FEWEST = 10  # follow-ups that both models scored; fewer say nothing of a correlation


def pilot_follow_ups(results: Path, measure: str) -> dict[str, Assumption]:
    """Return the assumptions of `userturn power --measure`, by the names of its options.

    Of all pairs of models and datasets, they are those of the pair whose difference varies most. A
    study of one model has no correlation.

    Args:
        results: results folder of the finished study.
        measure: one of `likelihood_contrasts`.

    Raises:
        UserError: the study scored too few reference follow-ups.
    """
    values = _values(results, measure)
    found = [
        pair
        for (dataset,), part in sorted(values.group_by("dataset"))
        for pair in _pairs(str(dataset), part)
    ]
    if not found:
        raise UserError(
            f"'{results}/likelihood': found no {FEWEST} reference follow-ups with {measure} by one "
            "model; expected a finished study with `likelihood`"
        )
    widest, source = max(found, key=lambda pair: _variance(pair[0]))
    assumed = {name: Assumption(value, source) for name, value in widest._asdict().items()}
    if values["model"].n_unique() < 2:
        assumed["related"] = Assumption(None, "the pilot has one model")
    return assumed | {"tests": _tests(results, measure)}


def _values(results: Path, measure: str) -> pl.DataFrame:
    """Return each model's value of each follow-up: of gains in nats a character."""
    value = pl.col(measure).cast(pl.Float64)
    value = value if UNITS[measure] == "share" else value / pl.col("n_characters")
    parts = [pl.DataFrame(schema=SCHEMA)]
    for path in sorted((results / "likelihood").glob(f"*/*/{HUMAN_TURNS}.parquet")):
        if format_of(path.parts[-3]) == DEFAULT:
            scored = turn_gains(pl.read_parquet(path)).with_columns(value=value)
            parts.append(scored.drop_nulls("value").select(*SCHEMA))
    return pl.concat(parts)


def _pairs(dataset: str, values: pl.DataFrame) -> Iterator[tuple[FollowUps, str]]:
    """Yield what each two models of a dataset say, or one model beside itself, and who they are."""
    of_models = dict(sorted(((str(name), part) for (name,), part in values.group_by("model"))))
    names = list(of_models)
    for first, second in combinations(names, 2) if len(names) > 1 else [(n, n) for n in names]:
        both = of_models[first].join(of_models[second], on="item", suffix="_second").sort("item")
        if both.height >= FEWEST:
            who = first if first == second else f"{first} and {second}"
            yield _alike(both), f"{who} on {both.height} follow-ups of {dataset}"


def _alike(both: pl.DataFrame) -> FollowUps:
    """Return how far two models agree; the design effect is that of their difference."""
    first, second = (both[name].to_numpy() for name in ("value", "value_second"))
    changes = first - second
    if not changes.any():
        changes = first  # one model alone, or two that say the same
    spread = float(np.sqrt((first.var(ddof=1) + second.var(ddof=1)) / 2))
    covariance = float(np.cov(first, second)[0, 1])
    related = max(0.0, covariance / spread**2) if spread else 0.0
    rate = min(float(first.mean()), float(second.mean()), key=lambda share: abs(share - 0.5))
    effect = _design_effect(changes, both["conversation"].to_list())
    per_conversation = both.height / both["conversation"].n_unique()
    return FollowUps(related, effect, rate, spread, per_conversation)


def _design_effect(values: Floats, conversations: list[str]) -> float:
    """Return the clustered variance of a mean over that of as many independent values."""
    found = clustered_mean(values, conversations)
    alone = float(values.var(ddof=1)) / len(values)
    if found.lower is None or found.upper is None or not alone:
        return 1.0
    quantile = float(t.ppf(0.5 + CONFIDENCE / 2, len(set(conversations)) - 1))
    return max(1.0, ((found.upper - found.lower) / 2 / quantile) ** 2 / alone)


def _variance(pair: FollowUps) -> float:
    return pair.spread**2 * (1 - pair.related) * pair.design_effect


def _tests(results: Path, measure: str) -> Assumption:
    path = results / "tables" / "likelihood.parquet"
    if path.is_file():
        table = pl.read_parquet(path)
        table = table.filter(pl.col("part") == COMPARED, pl.col("measure") == measure)
        if largest := table.group_by(TESTS).len()["len"].max():
            return Assumption(float(str(largest)), "the pilot's largest set of contrasts")
    return Assumption(None, "the pilot has no contrast")

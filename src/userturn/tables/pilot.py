"""What a finished study says for planning the next one: the assumptions of `userturn power`."""

from collections.abc import Iterator, Mapping
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from userturn.config.formats import DEFAULT, format_of
from userturn.errors import UserError, near_miss, near_path
from userturn.generation.scores import turn_gains
from userturn.humans.labels import PEOPLE
from userturn.sources.scores import HUMAN_TURNS
from userturn.stats.clustered_measures import clustered_mean
from userturn.stats.proportions import CONFIDENCE, Floats, student_of
from userturn.stats.sample_size import FollowUps
from userturn.storage.table_files import Schema
from userturn.study.cells import ALL, PLAIN
from userturn.study.record import read_study_record
from userturn.tables.added_columns import default_format_rows, is_default, read_joined
from userturn.tables.item_pairs import MCNEMAR
from userturn.tables.likelihood import COMPARED
from userturn.tables.likelihood_measures import TESTS, value_of
from userturn.tables.rates import model_rates
from userturn.tables.turn_rates import VERIFIER, count_items

TABLES = ("rates", "contrasts", "judges")
NOBODY = "nobody labelled such turns"
ONE_EACH = (MCNEMAR, "McNemar exact")  # tests of one turn each, now and of older studies


class Assumption(NamedTuple):
    """An assumed number and its source. The number is None if the study does not have it."""

    value: float | None
    source: str


def pilot(results: Path, judge: str | None = None) -> dict[str, Assumption]:
    """Return the assumptions for the next study, by the names of the command's options.

    Without a judge, the verdicts of the study's primary judge count.

    Raises:
        UserError: the folder is not that of a finished study of this version, or lacks the judge.
    """
    tables = {name: _read(results, name) for name in TABLES}
    judge = judge or read_study_record(results).grid(results).primary_judge
    judges = tables["rates"]["judge"].unique().sort().to_list()
    if judge not in judges:
        raise UserError(
            f"'{judge}' is not a judge of the rates in '{results}'{near_miss(judge, judges)}"
        )
    of_judge = {n: t.filter(judge=judge) if "judge" in t.columns else t for n, t in tables.items()}
    return {
        **_rate(of_judge["rates"]),
        "related": _related(of_judge["contrasts"]),
        "alike": _alike(results, judge),
        "tests": _tests(of_judge["contrasts"]),
        **_judge(of_judge["judges"]),
    }


def _read(results: Path, name: str) -> pl.DataFrame:
    path = results / "tables" / f"{name}.parquet"
    if not path.is_file():
        raise UserError(
            f"'{path}' does not exist; expected the results folder of a finished study: "
            f"run `snakemake` first{near_path(results)}"
        )
    table = default_format_rows(read_joined(path))
    if name == "rates" and "scope" not in table.columns:
        raise UserError(
            f"'{path}' was made by an earlier version; expected a table of this one: run "
            "`snakemake`, which makes it again without asking a model"
        )
    return table


def _rate(rates: pl.DataFrame) -> dict[str, Assumption]:
    """Return the model's rate nearest to a half, which needs most items, and its turns."""
    rows = (
        model_rates(rates)
        .filter(pl.col("estimate").is_not_null(), perturbation=PLAIN)
        .sort((pl.col("estimate") - 0.5).abs(), "model", "temperature")
    )
    if rows.is_empty():
        nothing = Assumption(None, "the pilot has no unperturbed rate")
        return {"rate": nothing, "turns": nothing}
    row = rows.row(0, named=True)
    source = f"{row['model']} at temperature {row['temperature']:g}, the pilot's nearest to a half"
    return {
        "rate": Assumption(row["estimate"], source),
        "turns": Assumption(row["n_turns"], source),
    }


def _model_contrasts(contrasts: pl.DataFrame) -> pl.DataFrame:
    return contrasts.filter(pl.col("judge") != VERIFIER, correction="Holm", scope="model")


def _related(contrasts: pl.DataFrame) -> Assumption:
    """Return the mean correlation of an item's two turns, over contrasts with one turn each."""
    tested = _model_contrasts(contrasts).filter(pl.col("test").is_in(ONE_EACH))
    rows = tested.drop_nulls(["rate_baseline", "rate_condition"])
    correlations = [phi for row in rows.to_dicts() if (phi := _phi(row)) is not None]
    if not correlations:
        return Assumption(None, "the pilot has no contrast of one turn an item")
    source = f"mean of {len(correlations)} contrasts of the pilot, at least 0"
    return Assumption(max(0.0, sum(correlations) / len(correlations)), source)


def _phi(row: Mapping[str, Any]) -> float | None:
    """Return the correlation of two conditions, from rates and the share of differing items."""
    p, q = row["rate_baseline"], row["rate_condition"]
    spread = p * (1 - p) * q * (1 - q)
    differ = (row["n_rise"] + row["n_fall"]) / row["n_items"]
    both = (p + q - differ) / 2
    return None if spread <= 0 else float((both - p * q) / spread**0.5)


def _alike(results: Path, judge: str) -> Assumption:
    """Return the intraclass correlation of an item's unperturbed turns at the highest temperature.

    By symmetric sums (Koch 1967, Technometrics 9:93) the covariance is the mean product of two
    turns of an item and model, minus that of turns of different items. Both are means over
    datasets.
    """
    paths = [str(path) for path in results.glob(f"cells/*/*/*/{PLAIN}/verdicts/{judge}.parquet")]
    items = count_items(paths).filter(is_default())
    hottest = items.filter(temperature=pl.col("temperature").max())
    n, y = pl.col("n_scored").cast(pl.Float64), pl.col("n_genuine").cast(pl.Float64)
    of_models = hottest.group_by("dataset", "model").agg(
        turns=n.sum(),
        genuine=y.sum(),
        pairs=(n * (n - 1)).sum(),
        both=(y * (y - 1)).sum(),
        pairs_apart=n.sum() ** 2 - (n**2).sum(),
        both_apart=y.sum() ** 2 - (y**2).sum(),
    )
    sums = of_models.group_by("dataset").agg(pl.exclude("model", "dataset").sum())
    if sums.filter(pl.col("pairs") * pl.col("pairs_apart") > 0).height < max(1, sums.height):
        return Assumption(None, "the pilot has one sample an item")
    same, apart = pl.col("both") / pl.col("pairs"), pl.col("both_apart") / pl.col("pairs_apart")
    components = sums.select(
        between=same - apart, within=pl.col("genuine") / pl.col("turns") - same
    )
    between, within = (max(0.0, float(components[name].sum())) for name in ("between", "within"))
    total = between + within
    return Assumption(between / total if total else 0.0, "the pilot's items of several samples")


def _tests(contrasts: pl.DataFrame) -> Assumption:
    sets = _model_contrasts(contrasts).group_by("factor", "tests").len()
    largest = sets["len"].max()
    if not isinstance(largest, int):
        return Assumption(None, "the pilot has no contrast")
    return Assumption(float(largest), "the pilot's largest set of contrasts")


def _judge(card: pl.DataFrame) -> dict[str, Assumption]:
    source = "people's labels in the pilot"
    by_people = card.filter(source=PEOPLE, by=ALL)
    measured = dict(by_people.drop_nulls("estimate").select("measure", "estimate").iter_rows())
    return {
        name: Assumption(measured.get(name), source if name in measured else NOBODY)
        for name in ("sensitivity", "specificity")
    }


NAMES = ("model", "dataset", "item", "conversation")
SCHEMA: Schema = {**dict.fromkeys(NAMES, pl.String), "value": pl.Float64}
FEWEST = 10  # follow-ups that both models scored; fewer say nothing of a correlation


def pilot_follow_ups(results: Path, measure: str) -> dict[str, Assumption]:
    """Return the assumptions of `userturn power --measure`, by the names of its options.

    They are those of the pair of models, on one dataset, whose difference varies most. A study of
    one model has no correlation. The measure is one of `likelihood_measures.UNITS`.

    Raises:
        UserError: the study scored too few reference follow-ups.
    """
    values = _values(results, measure)
    pilots = [
        pair
        for (dataset,), part in sorted(values.group_by("dataset"))
        for pair in _pairs(str(dataset), part)
    ]
    if not pilots:
        raise UserError(
            f"'{results}/likelihood': found no {FEWEST} reference follow-ups with {measure} by one "
            "model; expected a finished study with `likelihood`"
        )
    widest, source = max(
        pilots, key=lambda p: p[0].spread ** 2 * (1 - p[0].related) * p[0].design_effect
    )
    assumed = {name: Assumption(value, source) for name, value in widest._asdict().items()}
    if values["model"].n_unique() < 2:
        assumed["related"] = Assumption(None, "the pilot has one model")
    return assumed | {"tests": _tests_of_follow_ups(results, measure)}


def _values(results: Path, measure: str) -> pl.DataFrame:
    parts = [pl.DataFrame(schema=SCHEMA)]
    for path in sorted((results / "likelihood").glob(f"*/*/{HUMAN_TURNS}.parquet")):
        if format_of(path.parts[-3]) == DEFAULT:
            scored = turn_gains(pl.read_parquet(path)).with_columns(value=value_of(measure))
            parts.append(scored.drop_nulls("value").select(*SCHEMA))
    return pl.concat(parts)


def _pairs(dataset: str, values: pl.DataFrame) -> Iterator[tuple[FollowUps, str]]:
    """Yield the assumptions from each two models of a dataset, or its only one, with names."""
    of_models = dict(sorted(((str(name), part) for (name,), part in values.group_by("model"))))
    names = list(of_models)
    for first, second in combinations(names, 2) if len(names) > 1 else [(n, n) for n in names]:
        both = of_models[first].join(of_models[second], on="item", suffix="_second").sort("item")
        if both.height >= FEWEST:
            who = first if first == second else f"{first} and {second}"
            yield _assumptions_of_both(both), f"{who} on {both.height} follow-ups of {dataset}"


def _assumptions_of_both(both: pl.DataFrame) -> FollowUps:
    """Return the assumptions from two models' values. The design effect is of their difference."""
    first, second = (both[name].to_numpy() for name in ("value", "value_second"))
    changes = first - second
    if not changes.any():
        changes = first  # one model alone, or two with equal values
    spread = float(np.sqrt((first.var(ddof=1) + second.var(ddof=1)) / 2))
    covariance = float(np.cov(first, second)[0, 1])
    related = max(0.0, covariance / spread**2) if spread else 0.0
    rate = min(float(first.mean()), float(second.mean()), key=lambda share: abs(share - 0.5))
    effect = _design_effect(changes, both["conversation"].to_list())
    per_conversation = both.height / both["conversation"].n_unique()
    return FollowUps(related, effect, rate, spread, per_conversation)


def _design_effect(values: Floats, conversations: list[str]) -> float:
    """Return the clustered variance of a mean over that of independent values, at least 1."""
    mean = clustered_mean(values, conversations)
    alone = float(values.var(ddof=1)) / len(values)
    if mean.lower is None or mean.upper is None or not alone:
        return 1.0
    quantile = student_of(CONFIDENCE, len(set(conversations)))
    return max(1.0, ((mean.upper - mean.lower) / 2 / quantile) ** 2 / alone)


def _tests_of_follow_ups(results: Path, measure: str) -> Assumption:
    path = results / "tables" / "likelihood.parquet"
    if path.is_file():
        table = pl.read_parquet(path)
        table = table.filter(part=COMPARED, measure=measure)
        if largest := table.group_by(TESTS).len()["len"].max():
            return Assumption(float(str(largest)), "the pilot's largest set of contrasts")
    return Assumption(None, "the pilot has no contrast")

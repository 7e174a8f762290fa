"""Estimate from a finished study the assumptions of `userturn power` for the next one."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from userturn.errors import UserError
from userturn.humans.labels import PEOPLE
from userturn.study.cells import ALL, PLAIN
from userturn.study.record import read_study_record
from userturn.tables.format_columns import in_default_format, is_default, read_joined
from userturn.tables.item_counts import VERIFIER, count_items
from userturn.tables.item_pairs import MCNEMAR
from userturn.tables.rates import of_models

TABLES = ("rates", "contrasts", "judges")
NOBODY = "nobody labelled such turns"
ONE_EACH = (MCNEMAR, "McNemar exact")  # tests of one turn each, now and of older studies


class Assumption(NamedTuple):
    """An assumed number and its source; None if the study does not have it."""

    value: float | None
    source: str


def pilot(results: Path, judge: str | None = None) -> dict[str, Assumption]:
    """Return the assumptions for the next study, by the names of the command's options.

    Args:
        results: results folder of the finished study.
        judge: the judge whose verdicts count; None for the study's first one.

    Raises:
        UserError: the folder is not that of a finished study, or the study lacks the judge.
    """
    tables = {name: _read(results, name) for name in TABLES}
    judge = judge or read_study_record(results).grid(results).primary_judge
    judges = tables["rates"]["judge"].unique().sort().to_list()
    if judge not in judges:
        raise UserError(
            f"'{judge}' is not a judge of the rates in '{results}'; expected one of "
            f"{', '.join(judges) or '(none)'}: name one with --judge"
        )
    kept = {
        n: t.filter(pl.col("judge") == judge) if "judge" in t.columns else t
        for n, t in tables.items()
    }
    return {
        **_rate(kept["rates"]),
        "related": _related(kept["contrasts"]),
        "alike": _alike(results, judge),
        "tests": _tests(kept["contrasts"]),
        **_judge(kept["judges"]),
    }


def _read(results: Path, name: str) -> pl.DataFrame:
    path = results / "tables" / f"{name}.parquet"
    if not path.is_file():
        raise UserError(
            f"'{path}' does not exist; expected the results folder of a finished study: "
            "run `snakemake` first"
        )
    table = in_default_format(read_joined(path))
    if name == "rates" and "scope" not in table.columns:
        raise UserError(
            f"'{path}' is of an earlier version; expected a table of this one: run `snakemake`, "
            "which makes it anew without a request"
        )
    return table


def _rate(rates: pl.DataFrame) -> dict[str, Assumption]:
    """Return the rate of a model nearest to a half, which needs the most items, and its turns."""
    rows = (
        of_models(rates)
        .filter(pl.col("perturbation") == PLAIN, pl.col("estimate").is_not_null())
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


def _of_models(contrasts: pl.DataFrame) -> pl.DataFrame:
    """Return the confirmatory contrasts of models' follow-ups."""
    return contrasts.filter(
        pl.col("correction") == "Holm", pl.col("scope") == "model", pl.col("judge") != VERIFIER
    )


def _related(contrasts: pl.DataFrame) -> Assumption:
    """Return the mean correlation of an item's two turns, over contrasts with one turn each."""
    tested = _of_models(contrasts).filter(pl.col("test").is_in(ONE_EACH))
    rows = tested.drop_nulls(["rate_baseline", "rate_condition"])
    found = [phi for row in rows.to_dicts() if (phi := _phi(row)) is not None]
    if not found:
        return Assumption(None, "the pilot has no contrast of one turn an item")
    source = f"mean of {len(found)} contrasts of the pilot, at least 0"
    return Assumption(max(0.0, sum(found) / len(found)), source)


def _phi(row: Mapping[str, Any]) -> float | None:
    """Return the correlation of two conditions from rates and the items that differ."""
    p, q = row["rate_baseline"], row["rate_condition"]
    spread = p * (1 - p) * q * (1 - q)
    differ = (row["n_rise"] + row["n_fall"]) / row["n_items"]
    both = (p + q - differ) / 2
    return None if spread <= 0 else float((both - p * q) / spread**0.5)


def _alike(results: Path, judge: str) -> Assumption:
    """Return the intraclass correlation of an item's unperturbed turns at the highest temperature.

    By symmetric sums (Koch 1967, Technometrics 9:93): the mean product of two turns of an item and
    model, less that of two turns of a model and different items; both are means over datasets.
    """
    paths = [str(path) for path in results.glob(f"cells/*/*/*/{PLAIN}/verdicts/{judge}.parquet")]
    items = count_items(paths).filter(is_default())
    hottest = items.filter(pl.col("temperature") == pl.col("temperature").max())
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
    found = sums.select(between=same - apart, within=pl.col("genuine") / pl.col("turns") - same)
    between, within = (max(0.0, float(found[name].sum())) for name in ("between", "within"))
    total = between + within
    return Assumption(between / total if total else 0.0, "the pilot's items of several samples")


def _tests(contrasts: pl.DataFrame) -> Assumption:
    sets = _of_models(contrasts).group_by("factor", "tests").len()
    largest = sets["len"].max()
    if not isinstance(largest, int):
        return Assumption(None, "the pilot has no contrast")
    return Assumption(float(largest), "the pilot's largest set of contrasts")


def _judge(card: pl.DataFrame) -> dict[str, Assumption]:
    """Return the sensitivity and specificity of a judge by people's labels, if there are any."""
    source = "people's labels in the pilot"
    by_people = card.filter(pl.col("source") == PEOPLE, pl.col("by") == ALL)
    measured = dict(by_people.drop_nulls("estimate").select("measure", "estimate").iter_rows())
    return {
        name: Assumption(measured.get(name), source if name in measured else NOBODY)
        for name in ("sensitivity", "specificity")
    }

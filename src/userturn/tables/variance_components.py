"""Table `variance_components`: how much verdicts vary by model, item, sample and judge."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl

from userturn.datasets.clusters import clusters
from userturn.judges.judge_cell import scan_verdicts
from userturn.stats.combinations import combine
from userturn.stats.proportions import Interval
from userturn.stats.variance_components import Components, Observed, variance_components
from userturn.storage.key_columns import TURN_KEYS
from userturn.storage.parquet import Schema
from userturn.study.cells import ALL, PLAIN
from userturn.tables.format_columns import in_default_format
from userturn.tables.layout import (
    INTERVAL,
    TEMPERATURE,
    Layout,
    column,
    limits,
    number,
    printed_only,
    texts,
)
from userturn.tables.make_tables import Material
from userturn.workflow.declarations import Table

TABLE = Table(
    rule="analyse",
    place=90,
    row="a component of the variance between verdicts",
    made_of=("verdicts", "families", "judge_card"),
    settings=("thresholds",),
    formats=(".parquet", ".csv", ".md", ".tex"),
)
MEANINGS = {
    "judge": "name of the judge; `all` compares the judges' verdicts on the same turns",
    "n_verdicts": "verdicts that it is estimated from",
    "lower": "lower limit of its 95% interval, over items",
    "upper": "upper limit of its 95% interval, over items",
}
SCHEMA: Schema = {
    "dataset": pl.String,
    "temperature": pl.Float64,
    "judge": pl.String,
    "component": pl.String,
    "n_levels": pl.Int64,
    "n_verdicts": pl.Int64,
    "variance": pl.Float64,
    "lower": pl.Float64,
    "upper": pl.Float64,
    "share": pl.Float64,
    "includes": pl.String,
    "reason": pl.String,
}
PLACE = ["dataset", "temperature", "judge"]
OF_A_JUDGE = ("models", "items", "items by models", "samples")
OF_JUDGES = ("judges", "turns", "", "judges by turns")
ONE_LEVEL = {"models": "one model", "items": "one item"}
ONE_JUDGE = "no turn that several judges scored"
NO_LIMITS = "no interval: too few items"
TOO_FEW = "no two items were scored"


def table(material: Material) -> pl.DataFrame:
    """Return the table of a study."""
    members = in_default_format(material.table("families")).filter(pl.col("base").is_null())
    original = pl.col("model").cast(pl.String).is_in(members["model"].to_list())
    by_judges = _turns_by_judges(material.paths["verdicts"]).filter(original)
    return components_table(material.items.filter(original), by_judges)


def _turns_by_judges(paths: Sequence[str]) -> pl.DataFrame:
    """Return the unperturbed turns that several judges scored, with each judge's verdict."""
    rows = scan_verdicts(paths).select(*TURN_KEYS, "judge", "genuine")
    scored = rows.filter(pl.col("perturbation") == PLAIN, pl.col("genuine").is_not_null())
    several = pl.len().over(TURN_KEYS) > 1
    return scored.filter(several).collect(engine="streaming")


def _codes(table: pl.DataFrame, *columns: str) -> np.ndarray:
    """Return a number for each combination of values of some columns."""
    return table.select(pl.struct(columns).rank("dense")).to_series().cast(pl.Int64).to_numpy()


def _of_judge(group: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield the components of one judge's verdicts on one dataset at one temperature."""
    seen = group.filter(pl.col("n_scored") > 0)
    n, positive = (seen[name].cast(pl.Int64).to_numpy() for name in ("n_scored", "n_genuine"))
    of_item = _codes(seen, "item")
    found = variance_components(Observed(_codes(seen, "model"), of_item, of_item, n, positive))
    sizes = seen["model"].n_unique(), seen["item"].n_unique(), seen.height, int(n.sum())
    for place, (name, size) in enumerate(zip(OF_A_JUDGE, sizes, strict=True)):
        row = {"component": name, "n_levels": size, "n_verdicts": sizes[-1]}
        variance = Interval(None, None, None) if found is None else found[place]
        yield row | _limited(variance) | _notes(name, sizes, found)


def _notes(name: str, sizes: tuple[int, ...], found: Components | None) -> dict[str, Any]:
    """Return why a component of one judge is null, or which other components it includes."""
    if found is None:
        return {"reason": TOO_FEW}
    alone = [factor for factor, n in zip(ONE_LEVEL, sizes, strict=False) if n == 1]
    missing = [n for n, value in zip(OF_A_JUDGE, found, strict=True) if value.estimate is None]
    mixed = [n for n in missing if n not in alone]
    # With one model, items and items by models are the same component; more samples separate the
    # rest.
    holder = "samples" if len(mixed) != 1 or not alone else _other_factor(alone[0])
    if name in alone:
        return {"reason": ONE_LEVEL[name]}
    if name in mixed:
        why = ONE_LEVEL[alone[0]] if holder != "samples" else "one sample an item"
        return {"reason": f"{why}: part of '{holder}'"}
    return {"includes": ", ".join(mixed)} if name == holder and mixed else {}


def _other_factor(factor: str) -> str:
    return "items" if factor == "models" else "models"


def _of_judges(group: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield the components of several judges' verdicts on the same turns."""
    n = np.ones(group.height, dtype=np.int64)
    turns = _codes(group, *(name for name in TURN_KEYS if name != "dataset"))
    positive = group["genuine"].cast(pl.Int64).to_numpy()
    of_item = _codes(group.with_columns(clusters()), "item")
    seen = Observed(_codes(group, "judge"), turns, of_item, n, positive)
    found = variance_components(seen)
    sizes = group["judge"].n_unique(), len(set(turns.tolist())), 0, group.height
    for place, (name, size) in enumerate(zip(OF_JUDGES, sizes, strict=True)):
        row = {"component": name, "n_levels": size, "n_verdicts": group.height}
        if name:
            nothing = {"reason": ONE_JUDGE}
            yield row | (nothing if found is None else _limited(found[place]))


def _limited(found: Interval) -> dict[str, Any]:
    """Return a variance with its limits, or why it has none."""
    variance, lower, upper = found
    unlimited = variance is not None and lower is None
    reason = NO_LIMITS if unlimited else None
    return {"variance": variance, "lower": lower, "upper": upper, "reason": reason}


def _over_datasets(rows: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the mean over datasets of each component that every dataset has."""
    table = pl.DataFrame(rows, schema=SCHEMA)
    keys = ["temperature", "judge", "component"]
    for names, group in table.partition_by(keys, as_dict=True, maintain_order=True).items():
        row: dict[str, Any] = {"dataset": ALL, **dict(zip(keys, names, strict=True))}
        row |= {"n_verdicts": group["n_verdicts"].sum(), "n_levels": group["n_levels"].max()}
        if names[2] in ("items", "items by models", "samples", "turns", "judges by turns"):
            row["n_levels"] = group["n_levels"].sum()
        missing = group.filter(pl.col("variance").is_null())
        if missing.height:
            yield row | {"reason": missing["reason"][0]}
        else:
            held = group["includes"].drop_nulls().unique().sort().to_list()
            yield row | _limited(_mean_of(group)) | {"includes": ", ".join(held) or None}


def _mean_of(group: pl.DataFrame) -> Interval:
    """Return the mean of datasets' variances; without limits if one of them has none."""
    parts = [Interval(*row) for row in group.select("variance", "lower", "upper").iter_rows()]
    found = combine(parts, np.full(len(parts), 1 / len(parts)))
    has_limits = all(part.lower is not None for part in parts)
    return found if has_limits else Interval(found.estimate, None, None)


def _shared(rows: Sequence[dict[str, Any]]) -> pl.DataFrame:
    """Return rows with each component's share of the positive components in its place."""
    positive = pl.col("variance").clip(lower_bound=0)
    total = positive.sum().over(*PLACE)
    share = pl.when(total > 0).then(positive / total)
    return pl.DataFrame(rows, schema=SCHEMA).with_columns(share=share)


def components_table(items: pl.DataFrame, by_judges: pl.DataFrame) -> pl.DataFrame:
    """Return the variance components of unperturbed turns, by dataset and over all (`all`).

    For each judge's verdicts: models, items, items by models, samples. For the turns that several
    judges scored: judges, turns, judges by turns. Models that name a base are left out.

    Args:
        items: one row per item of a cell and judge.
        by_judges: one row per judge and turn that several judges scored, with `genuine`.
    """
    kinds = [pl.col(name).cast(pl.String) for name in ("model", "dataset", "judge", "item")]
    plain = items.filter(pl.col("perturbation") == PLAIN).with_columns(kinds)
    rows: list[dict[str, Any]] = []
    for names, group in sorted(plain.partition_by(PLACE, as_dict=True).items()):
        rows += [dict(zip(PLACE, names, strict=True)) | row for row in _of_judge(group)]
    several = by_judges.partition_by(PLACE[:2], as_dict=True)
    for dataset, temperature in sorted({(name[0], name[1]) for name in plain.select(PLACE).rows()}):
        place = {"dataset": dataset, "temperature": temperature, "judge": ALL}
        group = several.get((dataset, temperature), by_judges.clear())
        rows += [place | row for row in _of_judges(group)]
    return _shared([*_over_datasets(rows), *rows])


LAYOUT = Layout(
    "What makes verdicts differ",
    {"dataset": ALL},
    (
        TEMPERATURE,
        *texts("judge", "component"),
        column("levels", "count", "n_levels"),
        column("variance", "number", "variance", *INTERVAL, text=number("variance", digits=4)),
        printed_only("95% limits", "interval", text=limits(*INTERVAL, digits=4)),
        column("share of the variance", "share", "share", printed="share, %"),
        *texts("includes", "reason"),
    ),
)

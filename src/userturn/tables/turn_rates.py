"""Rates of turns: verdicts counted by item, pooled over datasets, models and families.

Counts by item are the small table that every statistic starts from.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby
from typing import Any

import numpy as np
import polars as pl

from userturn.datasets.turns import clusters
from userturn.judges.judge import scan_verdicts
from userturn.judges.verdict import ARGUABLE
from userturn.stats.clustered_measures import clustered_mean
from userturn.stats.margins import change as change_of
from userturn.stats.margins import side_by_side
from userturn.stats.proportions import Floats, Interval, Patterns, clustered_rate
from userturn.storage.table_files import JUDGED_CELL_KEYS, Schema
from userturn.study.cells import ALL, PLAIN

RATE: Schema = {  # over scored turns, with interval, coverage and bounds
    **dict.fromkeys(("estimate", "lower", "upper"), pl.Float64),
    "interval": pl.String,
    **dict.fromkeys(("coverage", "if_unscored_negative", "if_unscored_positive"), pl.Float64),
}
AT_ONCE = 32  # files that are counted at a time
ROWS = 50_000  # items that are counted at a time
LABEL = "label:"  # prefix of the column that counts a label
VERIFIER = "verifier"  # the judge of answers, where they are counted as turns are


def count_items(paths_to_verdicts: Sequence[str], by_label: bool = True) -> pl.DataFrame:
    """Return the counts of the verdicts in some files, as `count_verdicts` does.

    All verdicts of a cell and judge are in one file, so a few files are counted at a time. If not
    `by_label`, no label has a column.
    """
    paths = sorted(paths_to_verdicts)
    seen = scan_verdicts(paths).select(pl.col("label").cast(pl.String).drop_nulls().unique())
    labels = sorted(seen.collect(engine="streaming")["label"]) if by_label else []
    parts = (paths[start : start + AT_ONCE] for start in range(0, len(paths), AT_ONCE))
    return pl.concat(count_verdicts(scan_verdicts(part), labels) for part in parts)


def count_verdicts(verdicts: pl.LazyFrame, labels: Sequence[str]) -> pl.DataFrame:
    """Return one row per cell, judge and item, where items that belong together are one.

    Statistics over these rows are clustered by item. Where a dataset has several turns of a
    conversation, or versions of a problem, `item` is the conversation or the problem: what belongs
    to one is no more independent than the samples of an item (`datasets.turns.clusters`).

    Returns:
        The key columns and `item` (categories, so that ten million rows fit in memory);
        `n_turns`; `n_scored`; `n_genuine`; `first`: whether the item's first sample is genuine;
        `first_item`: the id of the item with that sample; and how many turns have each of some
        labels, in a column `label:<name>`.
    """
    columns = ["model", "dataset", "perturbation", "judge", "item", "label"]
    verdicts = verdicts.with_columns(clusters(), probe=pl.col("item")).select(
        *(pl.col(name).cast(pl.Categorical) for name in columns),
        *("temperature", "sample", "probe", "genuine"),
    )
    return (
        verdicts.group_by(*JUDGED_CELL_KEYS, "item")
        .agg(
            n_turns=pl.len().cast(pl.Int32),
            n_scored=pl.col("genuine").count().cast(pl.Int32),
            n_genuine=pl.col("genuine").sum().cast(pl.Int32),
            first=pl.col("genuine").sort_by("sample", "probe").first(),
            first_item=pl.col("probe").sort_by("sample", "probe").first().cast(pl.Categorical),
            **{LABEL + name: (pl.col("label") == name).sum().cast(pl.Int32) for name in labels},
        )
        .collect()
    )


def count_answers(grades: pl.DataFrame, item: pl.Expr | None = None) -> pl.DataFrame:
    """Return the answers to each graded dataset in the form of counted items: right is genuine.

    By default items that belong together are one, as in `count_items`. Answers that the verifier
    could not decide count as unscored.
    """
    correct = pl.col("correct")
    graded = grades.filter(correct.is_not_null().any().over("model", "dataset")).sort("item")
    together = (clusters() if item is None else item).alias("item")
    return graded.group_by("model", "dataset", together, maintain_order=True).agg(
        temperature=pl.lit(None, dtype=pl.Float64),
        perturbation=pl.lit(PLAIN),
        judge=pl.lit(VERIFIER),
        n_turns=pl.len().cast(pl.Int64),
        n_scored=correct.count().cast(pl.Int64),
        n_genuine=correct.sum().cast(pl.Int64),
        first=correct.first(),
    )


def labels_of(items: pl.DataFrame) -> list[str]:
    """Return the labels that a table of counted items has columns for."""
    return [name.removeprefix(LABEL) for name in items.columns if name.startswith(LABEL)]


AVERAGES = ("micro", "macro")
COUNTS = ("n_turns", "n_scored", "n_positive")
CELL = "cell"

SCOPES = {  # what a rate is over, beside temperature, perturbation and judge
    CELL: ["model", "family", "dataset"],
    "model": ["model", "family"],
    "family and dataset": ["family", "dataset"],
    "family": ["family"],
}

RATE_SCHEMA: Schema = {
    "average": pl.String,
    **dict.fromkeys(("n_datasets", "n_items", "n_turns", "n_scored", "n_positive"), pl.Int64),
    **RATE,
    "reason": pl.String,
}

LENIENT: Schema = dict.fromkeys(("lenient", "lenient_lower", "lenient_upper"), pl.Float64)
STRICT_AND_LENIENT = ("n_genuine", "n_lenient")
GROUP = ["scope", "family", "model", "dataset", "temperature", "perturbation", "judge"]


def sorted_groups(
    table: pl.DataFrame, keys: Sequence[str]
) -> Iterator[tuple[dict[str, Any], pl.DataFrame]]:
    """Yield the values of `keys` and the rows with these values, sorted by the values."""
    for values, part in sorted(table.partition_by(keys, as_dict=True).items()):
        yield dict(zip(keys, values, strict=True)), part


def per_item(items: pl.DataFrame, keys: Sequence[str], positives: Sequence[str]) -> pl.DataFrame:
    """Return the number of items with the same counts in groups that share the columns `keys`.

    An item that several cells of a group share counts as one item, with the turns of all cells.
    """
    counts = ["n_turns", "n_scored", *positives]
    if not {*JUDGED_CELL_KEYS} <= {*keys}:  # counted items are one row in each cell
        items = items.group_by(*keys, "item").agg(pl.col(counts).sum())
    parts = chain([items.clear()], items.iter_slices(ROWS))  # added up in `patterns`
    return pl.concat([part.group_by(*keys, *counts).agg(n_items=pl.len()) for part in parts])


def patterns(counts: pl.DataFrame, keys: Sequence[str], positive: str) -> pl.DataFrame:
    """Return the number of items with the same turns and positive ones in each group, sorted."""
    of_one = counts.group_by(*keys, "n_turns", "n_scored", pl.col(positive).alias("n_positive"))
    # Categories sort by their text, so sums do not depend on the order of reading.
    texts = [pl.col(key).cast(pl.String) for key in keys if key != "temperature"]
    table = of_one.agg(pl.col("n_items").sum()).with_columns(texts)
    return table.sort(*keys, "n_turns", "n_scored", "n_positive")


def _rate(datasets: Sequence[Floats], average: str) -> dict[str, Any]:
    """Return a rate with its bounds, for all unscored turns negative and for all positive.

    Each dataset is an array of patterns, with rows `n_items` and COUNTS.
    """
    totals = np.stack([counts[1:] @ counts[0] for counts in datasets])
    seen = [Patterns(n, m, y) for n, _, m, y in datasets]
    interval, method = clustered_rate(seen, average)
    is_scored = interval.estimate is not None
    of_each = totals.sum(0, keepdims=True) if average == "micro" else totals
    turns, scored, positive = of_each.T
    return {
        "average": average,
        "n_datasets": len(datasets),
        "n_items": round(sum(n.sum() for n, *_ in datasets)),
        **dict(zip(COUNTS, map(round, totals.sum(0)), strict=True)),
        **interval._asdict(),
        "interval": method if is_scored else None,
        "coverage": float((scored / turns).mean()),
        "if_unscored_negative": float((positive / turns).mean()),
        "if_unscored_positive": float(((positive + turns - scored) / turns).mean()),
        "reason": None if is_scored else "no turn was scored",
    }


def pool(
    items: pl.DataFrame,
    by: Sequence[str],
    positives: Sequence[str],
    averages: Sequence[str] = AVERAGES,
) -> pl.DataFrame:
    """Return the rates of each group, over its turns (micro) and over its datasets (macro).

    The columns are `by`, `counted` (one of `positives`) and those of `RATE_SCHEMA`. There are macro
    rows only where a group has two datasets.
    """
    return _pooled(per_item(items, _keys_of(by), positives), by, positives, averages)


def _keys_of(by: Sequence[str]) -> list[str]:
    return list(dict.fromkeys([*by, "dataset"]))


def _pooled(
    counts: pl.DataFrame, by: Sequence[str], positives: Sequence[str], averages: Sequence[str]
) -> pl.DataFrame:
    """Return the rates of `pool`, from the counts of `per_item`."""
    keys, rows = _keys_of(by), []
    for counted in positives:
        table = patterns(counts, keys, counted).group_by(keys, maintain_order=True)
        of_datasets = table.agg("n_items", *COUNTS).iter_rows()
        for names, group in groupby(of_datasets, key=lambda row: row[: len(by)]):
            datasets = [np.array(row[len(keys) :], dtype=float) for row in group]
            for average in averages[: len(datasets)]:
                row = _rate(datasets, average)
                rows.append(dict(zip(by, names, strict=True)) | {"counted": counted, **row})
    schema: Schema = {
        name: pl.Float64 if name == "temperature" else pl.String for name in (*by, "counted")
    } | RATE_SCHEMA
    return pl.DataFrame(rows, schema=schema)


def pool_scopes(
    items: pl.DataFrame,
    positives: Sequence[str],
    scopes: Iterable[str],
    averages: Sequence[str] = AVERAGES,
) -> pl.DataFrame:
    """Return the rates of several scopes in one table, with `all` in pooled columns."""
    tables, counts = [], dict[frozenset[str], pl.DataFrame]()
    for scope in scopes:
        by = [*SCOPES[scope], "temperature", "perturbation", "judge"]
        keys = frozenset(_keys_of(by))  # scopes with equal ones have equal counts
        if keys not in counts:
            counts[keys] = per_item(items, sorted(keys), positives)
        table = _pooled(counts[keys], by, positives, averages)
        table = table.with_columns(scope=pl.lit(scope))
        missing = [name for name in ("model", "dataset") if name not in by]
        tables.append(table.with_columns(pl.lit(ALL).alias(name) for name in missing))
    columns = [*GROUP, "counted", *RATE_SCHEMA]
    return pl.concat([table.select(columns) for table in tables]).sort(*GROUP, "counted", "average")


def add_lenient_rates(pooled: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of clear follow-ups, with rates of clear or arguable ones as columns."""
    of = [name for name in pooled.columns if name not in ("counted", *RATE_SCHEMA)]
    strict, lenient = (pooled.filter(counted=name) for name in STRICT_AND_LENIENT)
    limits = dict(zip(LENIENT, ("estimate", "lower", "upper"), strict=True))
    beside = lenient.select(*of, "average", **{name: pl.col(of) for name, of in limits.items()})
    return strict.join(
        beside, on=[*of, "average"], how="left", nulls_equal=True, maintain_order="left"
    )


def count_lenient(items: pl.DataFrame) -> pl.DataFrame:
    """Return counts of items with `n_lenient`, the turns that are clearly or arguably genuine."""
    arguable = LABEL + ARGUABLE
    n_more = pl.col(arguable) if arguable in items.columns else pl.lit(0)
    return items.with_columns(n_lenient=pl.col("n_genuine") + n_more)


LIMITS = ("", "_lower", "_upper")  # endings of the columns of an estimate with its limits


def limits_of(name: str, limits: tuple[float | None, ...]) -> dict[str, Any]:
    """Return an estimate and its limits as the columns `name`, `name_lower`, `name_upper`."""
    return {f"{name}{end}": value for end, value in zip(LIMITS, limits, strict=True)}


def rate_over(
    turns: pl.DataFrame, clusters: Sequence[str], positive: str = "genuine"
) -> tuple[Interval, str]:
    """Return the share of positive turns with its 95% limits, and the name of the interval.

    `clusters` are the columns that identify a turn's cluster. `positive` is null for an unscored
    turn. Turns of one cluster are not independent, so the limits are Wilson's at the effective
    number of turns (`stats.proportions`), or plain Wilson limits if each cluster has one turn.
    """
    seen = turns.group_by(clusters).agg(y=pl.col(positive).sum(), m=pl.col(positive).count())
    counts, n = np.unique(seen.select("m", "y").to_numpy(), axis=0, return_counts=True)
    m, y = counts.T.astype(float)
    return clustered_rate([Patterns(n.astype(float), m, y)], "micro")


def mean_over(turns: pl.DataFrame, name: str, cluster: str = "conversation") -> Interval:
    """Return the mean of a column over the turns that have it, with limits over clusters."""
    seen = turns.drop_nulls(name)
    return clustered_mean(seen[name].cast(pl.Float64), seen[cluster].to_list())


def most_frequent(reasons: pl.Series) -> str | None:
    """Return the most frequent reason, the alphabetically first of several, or None."""
    counts = reasons.drop_nulls().alias("reason").value_counts()
    ordered = counts.sort("count", "reason", descending=[True, False])
    return str(ordered["reason"][0]) if ordered.height else None


def rate_columns(turns: pl.DataFrame, cluster: str) -> dict[str, Any]:
    """Return the rate of genuine turns with interval, coverage and bounds.

    The bounds are the rate over all turns if every unscored turn were not genuine, or genuine.
    """
    n_genuine, n_scored = int(turns["genuine"].sum()), turns["genuine"].count()
    limits, method = rate_over(turns, [cluster])
    n_turns = turns.height
    return {
        **limits._asdict(),
        "interval": method if n_scored else None,
        "coverage": n_scored / n_turns if n_turns else None,
        "if_unscored_negative": n_genuine / n_turns if n_turns else None,
        "if_unscored_positive": (n_genuine + n_turns - n_scored) / n_turns if n_turns else None,
    }


def change(first: pl.DataFrame, later: pl.DataFrame, cluster: str) -> tuple[Interval, int]:
    """Return the change of the rate of genuine turns in the clusters that both tables have scored.

    The result is the change with its 95% limits, null if no cluster is in both, and the number of
    these clusters.
    """
    y = pl.col("genuine").sum().cast(pl.Float64).alias("y")
    m = pl.len().cast(pl.Float64).alias("m")
    sums = [t.drop_nulls("genuine").group_by(cluster).agg(m, y) for t in (first, later)]
    both = sums[0].join(sums[1], on=cluster, suffix="_after").sort(cluster)
    if both.is_empty():
        return Interval(None, None, None), 0
    before, after = ((both[f"m{s}"], both[f"y{s}"]) for s in ("", "_after"))
    return change_of(side_by_side(before, after)), both.height

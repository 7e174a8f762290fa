"""Pair items under two conditions: their turns under both, for one difference and its test.

The difference is that of the two conditions' rates over all scored turns. The test is over
the items that were scored under both.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from userturn.config.formats import DEFAULT, format_of, models_in_other_formats
from userturn.stats.margins import Counts, change
from userturn.stats.proportions import Array
from userturn.stats.significance import is_exact, sign_flip_p
from userturn.storage.table_files import JUDGED_CELL_KEYS, Schema
from userturn.study.cells import PLAIN
from userturn.tables.added_columns import FORMAT
from userturn.tables.turn_rates import LABEL

SHARED = [
    "factor", "condition", "baseline", "scope", "family", "model", "dataset",
    "temperature", "perturbation", "judge",
]  # fmt: skip
COUNTS = ["n_turns", "n_scored", "n_genuine"]
SEEN = [*COUNTS, "first"]
BASELINE = "_baseline"
COUNTS_OF_BASELINE = [name + BASELINE for name in COUNTS]
CHANGES = ("change", "first_change")
BOUNDS: Schema = {
    **dict.fromkeys(("least_if_unscored", "most_if_unscored", "lower_if_unscored"), pl.Float64),
    "upper_if_unscored": pl.Float64,
}
Numbers = npt.NDArray[np.integer[Any]]


class Cells(NamedTuple):
    """Counted items by cell. Few differ in their counts, so each is known by a state's number.

    Attributes:
        names: a row per cell: what it is of, with text for categories, and `cell`, its place in
            `items`.
        items: of each cell, the state of each item of its dataset, in the same order in all cells
            of a dataset; 0 for an item that the cell lacks.
        states: states x SEEN, nan for null; the first is that of no turn.
    """

    names: pl.DataFrame
    items: Sequence[Numbers]
    states: Array

    def where(self, condition: pl.Expr) -> "Cells":
        """Return the cells whose names fulfil a condition."""
        return self._replace(names=self.names.filter(condition))


def _each_model(items: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
    """Yield each dataset and the items of one model, so that not all are in memory once more."""
    for dataset in items["dataset"].unique().sort():
        of_dataset = items.filter(dataset=dataset)
        for model in of_dataset["model"].unique().sort():
            yield dataset, of_dataset.filter(model=model)


def cells_of(items: pl.DataFrame) -> Cells:
    """Return counted items (`turn_rates.count_items`) by cell."""
    not_of_cells = ("item", "first_item", *SEEN)
    own = [n for n in items.columns if n not in not_of_cells and not n.startswith(LABEL)]
    states = items.select(SEEN).unique().sort(SEEN).with_row_index("state", offset=1)
    both = items.select("dataset", "item").unique().sort(pl.col("item").cast(pl.String))
    numbers = both.with_columns(number=pl.int_range(pl.len()).over("dataset"))
    n_items = dict(both.group_by("dataset").len().iter_rows())
    names, arrays = [items.select(own).clear()], list[Numbers]()
    for dataset, part in _each_model(items):
        coded = part.join(states, on=SEEN, nulls_equal=True).join(numbers, on=["dataset", "item"])
        cells = coded.group_by(own).agg("number", "state").sort(own)
        for number, state in zip(cells["number"], cells["state"], strict=True):
            arrays.append(np.zeros(n_items[dataset], dtype=np.int64))
            arrays[-1][number] = state
        names.append(cells.select(own))
    texts = pl.concat(names).with_columns(pl.col(pl.Categorical).cast(pl.String))
    absent = [[0.0, 0.0, 0.0, np.nan]]
    seen = states.select(pl.col(SEEN).cast(pl.Float64)).to_numpy()
    return Cells(texts.with_row_index("cell"), arrays, np.concatenate([absent, seen]))


class Pairs(NamedTuple):
    """Pairs of cells of the same items under two conditions.

    Attributes:
        names: a row per pair: what the cell under the condition is of, `factor`, `condition`,
            `baseline`, and the places of both cells, `cell` and `cell_baseline`.
        cells: the cells.
    """

    names: pl.DataFrame
    cells: Cells

    def where(self, condition: pl.Expr) -> "Pairs":
        """Return the pairs whose names fulfil a condition."""
        return self._replace(names=self.names.filter(condition))


def pairs(cells: Cells, factor: str, baseline: Any, keys: Sequence[str]) -> Pairs:
    """Return each cell under a condition beside the cell under the baseline that is alike.

    The conditions differ in the column `factor`, and cells that are alike have equal `keys`.
    """
    is_baseline = pl.col(factor) == baseline
    after, before = (cells.names.filter(one) for one in (~is_baseline, is_baseline))
    names = after.join(
        before.select(*keys, cell_baseline="cell"), on=keys, nulls_equal=True
    ).with_columns(
        factor=pl.lit(factor),
        condition=pl.col(factor).cast(pl.String),
        baseline=pl.lit(str(baseline)),
    )
    return Pairs(names, cells)


def _cell_keys(factor: str) -> list[str]:
    return [key for key in JUDGED_CELL_KEYS if key != factor]


def paired_items(
    cells: Cells, coolest: Any, baselines: Sequence[tuple[str, str]]
) -> tuple[Pairs, Pairs, list[Pairs]]:
    """Return the pairs under each perturbation, those under each temperature, and others.

    The others are of each model beside a base, and beside itself in the default format.
    """
    perturbed = pairs(cells, "perturbation", PLAIN, _cell_keys("perturbation"))
    warmer = pairs(cells, "temperature", coolest, _cell_keys("temperature"))
    models = [pairs_with_base(cells, *pair) for pair in baselines]
    names = cells.names["model"].unique().to_list()
    formats = [_format_pairs(cells, *pair) for pair in models_in_other_formats(names)]
    return perturbed, warmer, [*models, *formats]


def pairs_with_base(
    cells: Cells, name: str, base: str, keys: Sequence[str] = tuple(_cell_keys("model"))
) -> Pairs:
    """Return the pairs of a model's cells and its base's that are alike in `keys`."""
    return pairs(cells.where(pl.col("model").is_in([name, base])), "model", base, keys)


def _format_pairs(cells: Cells, name: str, model: str) -> Pairs:
    """Return the pairs of a model's cells in another format and in the default one."""
    texts = {"factor": FORMAT, "condition": format_of(name), "baseline": DEFAULT}
    own = pairs_with_base(cells, name, model)
    named = own.names.with_columns(pl.lit(value).alias(key) for key, value in texts.items())
    return own._replace(names=named)


Columns = Mapping[str, Array]
"""The pairs of a contrast, in arrays of equal length, with nan for null.

`n` is their number, and COUNTS are their turns under the condition and, with `_baseline`, under the
baseline. `change` is the difference of an item's shares of genuine turns, and `first_change` that
of its first samples, nan unless the item was scored under both. `is_unequal` is 1 where it was, and
has not as many turns under both.
"""


def columns_of(states: Array, here: Numbers, there: Numbers, n: npt.ArrayLike = 1) -> Columns:
    """Return pairs of the same items, by states `here` (condition) and `there` (baseline)."""
    after, before = states[here].T, states[there].T
    with np.errstate(invalid="ignore"):  # nothing of nothing is nan
        difference = after[2] / after[1] - before[2] / before[1]
    return {
        **dict(zip(COUNTS, after, strict=False)),
        **dict(zip(COUNTS_OF_BASELINE, before, strict=False)),
        "change": difference,
        "first_change": after[3] - before[3],
        "is_unequal": ((after[0] != before[0]) & ~np.isnan(difference)).astype(float),
        "n": np.broadcast_to(np.asarray(n, dtype=float), len(here)),
    }


PLACES = ("dataset", "cell", "cell_baseline")
Rows = Sequence[tuple[str, int, int]]
"""The PLACES of some pairs of cells."""


def counted(pairs: Pairs, rows: Rows) -> Columns:
    """Return the items of some pairs of cells, those with equal states counted together."""
    _, items, states = pairs.cells
    codes = [items[here] * len(states) + items[there] for _, here, there in rows]
    of_both, n = np.unique(np.concatenate(codes), return_counts=True)
    return columns_of(states, *np.divmod(of_both, len(states)), n)


def pool_models(pairs: Pairs, rows: Rows) -> Columns:
    """Return each item of a dataset once, over several models that have it.

    It has the turns of all, and its mean change over them. A baseline's cell that models have in
    common counts once.
    """
    _, items, states = pairs.cells
    each = [columns_of(states, items[here], items[there]) for _, here, there in rows]
    once = {there: of for (_, _, there), of in zip(rows, each, strict=True)}.values()
    changes = {name: _mean(np.stack([of[name] for of in each])) for name in CHANGES}
    return {
        **{name: np.sum([of[name] for of in each], axis=0) for name in COUNTS},
        **{name: np.sum([of[name] for of in once], axis=0) for name in COUNTS_OF_BASELINE},
        **changes,
        "is_unequal": np.max([of["is_unequal"] for of in each], axis=0),
        "n": each[0]["n"],
    }


def _mean(values: Array) -> Array:
    """Return the means of columns without nan, rounded, so that the order of sums does not show."""
    is_there = ~np.isnan(values)
    n, total = is_there.sum(axis=0), np.where(is_there, values, 0.0).sum(axis=0)
    means: Array = np.divide(total, n, out=np.full(len(n), np.nan), where=n > 0)
    return np.round(means, 9)


def _count_pooled(pairs: Pairs, rows: Rows) -> Columns:
    """Return items pooled over models, those with equal turns and changes counted together."""
    datasets = dict[str, list[tuple[str, int, int]]]()
    for row in rows:
        datasets.setdefault(row[0], []).append(row)
    parts = [pl.DataFrame(pool_models(pairs, of_one)) for of_one in datasets.values()]
    names = [name for name in parts[0].columns if name != "n"]
    table = pl.concat(parts).group_by(names).agg(pl.col("n").sum()).sort(names)
    return {column.name: column.to_numpy() for column in table}


def contrasts_by(
    pairs: Pairs, keys: Sequence[str], are_models_pooled: bool = False
) -> Iterator[tuple[dict[str, Any], Columns]]:
    """Yield the keys and the counted items of each contrast, sorted by the keys.

    A contrast is of the pairs of cells with equal `keys`. It is left out unless some item was
    scored under both conditions.
    """
    of_rows = [pl.col(name).alias(f"{name} of each") for name in PLACES]
    groups = pairs.names.sort(*keys, *PLACES).group_by(keys, maintain_order=True)
    for row in groups.agg(of_rows).iter_rows():
        rows = list(zip(*row[len(keys) :], strict=True))
        columns = (_count_pooled if are_models_pooled else counted)(pairs, rows)
        if not np.isnan(columns["change"]).all():
            yield dict(zip(keys, row, strict=False)), columns


def scoped_contrasts(
    parts: Iterable[Pairs], scopes: Mapping[str, Mapping[str, str]]
) -> Iterator[tuple[dict[str, Any], Columns]]:
    """Yield each contrast of some scopes with its counted pairs, where pooled columns are `all`.

    An item that several models of a family share counts once (`pool_models`). Contrasts without an
    item that was scored under both are left out.
    """
    for part in parts:
        for scope, pooled in scopes.items():
            keys = [name for name in SHARED if name != "scope" and name not in pooled]
            for names, columns in contrasts_by(part, keys, "model" in pooled):
                yield {**names, **pooled, "scope": scope}, columns


def _margins(group: Columns, genuine: Sequence[Array], turns: str) -> Counts:
    """Return a group's turns under baseline and condition: all turns, and the genuine ones."""
    both = [group[turns + suffix] for suffix in (BASELINE, "")]
    return Counts(group["n"], *(np.asfortranarray(np.stack(c, axis=1)) for c in (both, genuine)))


def scored_margins(group: Columns) -> Counts:
    """Return the scored turns under the baseline and under the condition."""
    return _margins(group, [group["n_genuine" + BASELINE], group["n_genuine"]], "n_scored")


MCNEMAR = "McNemar mid-p"


def flips(change: Array, n: Array) -> str:
    """Return the name of the sign-flip test, which says whether the changes were rounded."""
    return "sign flips exact" if is_exact(change, n) else "sign flips of rounded changes"


def _tested(group: Columns, unequal: bool) -> dict[str, Any]:
    """Return the test of the items that were scored twice, and the share of them that differ.

    With one turn under either condition it is McNemar's with mid-p: over the number of items that
    differ, which is a draw too, it rejects falsely in at most the level, also at Holm's first of
    104 steps, and far less below it than the exact test (benchmarks/coverage.md). Other flips are
    exact. With one turn against several, signs cannot be exchanged: if one of an item's five
    samples is genuine, its change is -0.8 or 0.2, depending on its greedy turn. Then first samples
    are tested (`unequal`).
    """
    is_shared = ~np.isnan(group["change"])
    tested = group["first_change" if unequal else "change"]
    is_tested = is_shared & ~np.isnan(tested)
    change, n = np.round(tested[is_tested], 9), group["n"][is_tested]
    name = MCNEMAR if np.isin(change, (-1, 0, 1)).all() else flips(change, n)
    # One more item that differs and one that does not, since no observed change is not certainty.
    turns = 1.0
    if not unequal and n.sum():
        turns = float(group["n_scored"][is_tested] @ n / n.sum())
    differing = (float(change**2 @ n) + 1 / turns) / (n.sum() + 2)
    of_items, changes = (group[name][is_shared] for name in ("n", "change"))
    return {
        "n_items": int(of_items.sum()),
        "n_rise": int(of_items[changes > 0].sum()),
        "n_fall": int(of_items[changes < 0].sum()),
        "p": sign_flip_p(change, n, 0.5 if name == MCNEMAR else 1.0),
        "test": f"{name} of first samples" if unequal else name,
        "n_tested": n.sum(),
        "differing": differing,
    }


def compared(group: Columns) -> dict[str, Any]:
    """Return two rates over all scored turns, their difference with limits, its bounds and test."""
    margins = scored_margins(group)
    turns, positive = (margins.n @ values for values in (margins.turns, margins.positive))
    difference = change(margins)
    return {
        "n_scored_baseline": round(turns[0]),
        "n_scored": round(turns[1]),
        "rate_baseline": float(positive[0] / turns[0]),
        "rate_condition": float(positive[1] / turns[1]),
        "difference": difference.estimate,
        "lower": difference.lower,
        "upper": difference.upper,
        **_if_unscored(group),
        **_tested(group, bool(group["is_unequal"].any())),
    }


def _if_unscored(group: Columns) -> dict[str, Any]:
    """Return the bounds of a difference over all turns, with their limits.

    At the lower bound every unscored turn of the baseline is genuine and none of the condition is.
    At the upper bound it is the opposite (Manski 1989, J Hum Resour 24:343-360). The lower limit of
    the first and the upper limit of the second cover the difference over all turns with at least
    the stated confidence, whatever made verdicts go missing (Horowitz and Manski 2000, JASA
    95:77-84).
    """
    missing = [group[f"n_turns{s}"] - group[f"n_scored{s}"] for s in (BASELINE, "")]
    genuine = [group[f"n_genuine{s}"] for s in (BASELINE, "")]
    least = change(_margins(group, [genuine[0] + missing[0], genuine[1]], "n_turns"))
    most = change(_margins(group, [genuine[0], genuine[1] + missing[1]], "n_turns"))
    return dict(zip(BOUNDS, (least.estimate, most.estimate, least.lower, most.upper), strict=True))

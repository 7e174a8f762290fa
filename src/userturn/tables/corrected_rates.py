"""Rates and changes corrected by people's labels, as columns of `rates` and of `contrasts`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from userturn.config.formats import model_of
from userturn.datasets.turns import clusters, originals
from userturn.humans.labels import NO_LABELS, drawn_turns, people, weighted
from userturn.stats.margins import correlations, side_by_side
from userturn.stats.prediction_powered import Corrected, Labelled, design_effect, difference
from userturn.stats.prediction_powered import corrected_rate as rate_by_labels
from userturn.storage.table_files import CELL_KEYS, ITEM_KEYS, JUDGED_CELL_KEYS, TURN_KEYS, Schema
from userturn.study.cells import ALL
from userturn.tables.added_columns import FORMAT
from userturn.tables.make_tables import Material
from userturn.tables.turn_rates import LIMITS, limits_of

NO_SAMPLE = "none of its turns was drawn; name a new round in humans.rounds"


@dataclass(frozen=True)
class Domain:
    """Turns of some cells with one judge's labels, the sample drawn from them, people's labels."""

    turns: pl.DataFrame  # keys, item; `genuine` by the judge, null without a label
    sampled: pl.DataFrame  # key columns, id, stratum, judge of the draw, inclusion_probability
    labelled: pl.DataFrame  # id, share_genuine

    def part(self, turns: pl.DataFrame, sampled: pl.DataFrame) -> "Domain":
        """Return the part of the domain with the given turns and drawn turns."""
        ids = sampled["id"].to_list()
        return Domain(turns, sampled, self.labelled.filter(pl.col("id").is_in(ids)))

    def only_datasets(self, datasets: Sequence[str]) -> "Domain":
        """Return the part of the domain with the given datasets.

        A domain that has no other datasets is returned itself, so that its rate is computed once.
        """
        is_chosen = pl.col("dataset").is_in(datasets)
        if self.turns.select(is_chosen.all()).item():
            return self
        return self.part(self.turns.filter(is_chosen), self.sampled.filter(is_chosen))

    def parts(self, by: Sequence[str]) -> dict[tuple[Any, ...], "Domain"]:
        """Return the parts of the domain by the values of some columns, sorted by these values."""
        if not by:
            return {(): self} if self.turns.height else {}
        turns, sampled_parts = (
            t.partition_by(by, as_dict=True) for t in (self.turns, self.sampled)
        )
        nothing = self.sampled.clear()
        return {v: self.part(turns[v], sampled_parts.get(v, nothing)) for v in sorted(turns)}

    @cached_property
    def reason(self) -> str | None:
        """The reason why the rate of this domain cannot be corrected, or None."""
        if self.sampled.is_empty():
            return NO_SAMPLE
        if self.labelled.is_empty():
            return NO_LABELS
        if self.sampled["judge"].n_unique() > 1:
            return "its rounds were drawn by the labels of different judges"
        seen = self.sampled.filter(pl.col("id").is_in(self.labelled["id"].to_list()))
        n_open = self.sampled["stratum"].n_unique() - seen["stratum"].n_unique()
        return f"nobody has labelled a turn of {n_open} of its strata yet" if n_open else None

    def sample(self) -> Labelled:
        """Return the turns that people labelled, with the judge's labels and design weights."""
        table = (
            weighted(self.sampled, self.labelled, ["stratum"])
            .join(self.labelled, on="id", maintain_order="left")
            .join(self.turns.select(*TURN_KEYS, "genuine"), on=TURN_KEYS, maintain_order="left")
            .with_columns(pl.col("genuine").fill_null(False).cast(pl.Float64), of=originals())
        )
        if (table["of"] != table["item"]).any():  # copies share one label
            keys = ["stratum", *TURN_KEYS[:-2], "sample", "of"]
            w = pl.col("weight")
            mean = (pl.col("share_genuine", "genuine") * w).sum() / w.sum()
            table = table.group_by(keys, maintain_order=True).agg(mean, w.sum())
        return Labelled(
            table["share_genuine"].to_numpy(),
            table["genuine"].to_numpy(),
            table["weight"].to_numpy(),
            table["stratum"].to_numpy(),
        )

    @cached_property
    def corrected(self) -> Corrected:
        """The corrected rate, which exists only if `reason` is None."""
        names = pl.concat_str("dataset", clusters(), separator="\n")
        together = self.turns.select(names).to_series().to_numpy()
        predictions = self.turns["genuine"].fill_null(False).cast(pl.Float64).to_numpy()
        effect = design_effect(predictions, together)
        return rate_by_labels(predictions, self.sample(), effect)


def correlation(first: Domain, second: Domain) -> float:
    """Return the correlation of the judge's rates in two domains, over the items of either."""
    sums = [
        domain.turns.group_by("dataset", clusters()).agg(
            m=pl.len().cast(pl.Float64), y=pl.col("genuine").sum().cast(pl.Float64)
        )
        for domain in (first, second)
    ]
    both = sums[0].join(sums[1], on=ITEM_KEYS, how="full", coalesce=True).sort(ITEM_KEYS)
    before, after = (
        (both[f"m{end}"].fill_null(0), both[f"y{end}"].fill_null(0)) for end in ("", "_right")
    )
    return float(correlations(side_by_side(before, after))[0, 1])


CORRECTED: Schema = {
    "n_turns_drawn_from": pl.Int64,
    "n_labelled": pl.Int64,
    **{f"corrected{end}": pl.Float64 for end in LIMITS},
    "corrected_reason": pl.String,
}
MEANINGS = {
    "n_turns_drawn_from": "turns of the cells that turns were drawn from, which `corrected` is of",
    "n_labelled": "drawn turns that people labelled",
    "corrected_reason": "why there is none",
}
Domains = Mapping[tuple[Any, ...], Domain]  # by the values of JUDGED_CELL_KEYS


def sampled_and_labelled(
    turns: pl.DataFrame, annotations: pl.DataFrame, keys: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the turns that any round drew, each once, and people's labels of them."""
    sampled = drawn_turns(keys, turns).unique(TURN_KEYS, keep="first", maintain_order=True)
    return sampled, people(annotations).filter(pl.col("id").is_in(sampled["id"].to_list()))


def domains(
    turns: pl.DataFrame, verdicts: pl.DataFrame, annotations: pl.DataFrame, keys: pl.DataFrame
) -> Domains:
    """Return the domain of every cell and judge, and of every model over datasets and judge.

    A domain over datasets has only the cells that turns were drawn from. Failed turns are in none.
    """
    frame = turns.filter(pl.col("outcome") != "error")
    sampled, labelled = sampled_and_labelled(frame, annotations, keys)
    by_names: dict[tuple[Any, ...], Domain] = {}
    for judge in sorted(verdicts["judge"].unique()):
        of_judge = verdicts.filter(judge=judge).select(*TURN_KEYS, "genuine")
        judged = frame.join(of_judge, on=TURN_KEYS, how="left", maintain_order="left")
        cells = Domain(judged, sampled, labelled)
        sampled_cells = judged.join(sampled, on=CELL_KEYS, how="semi", maintain_order="left")
        pools = cells.part(sampled_cells, sampled).parts([k for k in CELL_KEYS if k != "dataset"])
        by_names |= {(*cell, judge): part for cell, part in cells.parts(CELL_KEYS).items()}
        by_names |= {(model, ALL, *rest, judge): part for (model, *rest), part in pools.items()}
    return by_names


def domains_of(material: Material) -> Domains | None:
    """Return the domains of a study, or None if nobody has labelled a turn."""
    annotations, keys = material.annotations_and_keys
    if annotations.is_empty():
        return None
    return domains(material.user_turns, material.verdicts, annotations, keys)


def corrected_rate(domain: Domain | None, why_not: str | None = None) -> dict[str, Any]:
    """Return the columns of a corrected rate, or of the reason for none, which `why_not` may be.

    A domain of None had no turns drawn from it.
    """
    if domain is None:
        return {"corrected_reason": NO_SAMPLE}
    counts = {"n_turns_drawn_from": domain.turns.height, "n_labelled": domain.labelled.height}
    if reason := domain.reason or why_not:
        return counts | {"corrected_reason": reason}
    estimate = domain.corrected
    return counts | limits_of("corrected", (estimate.estimate, estimate.lower, estimate.upper))


def corrected_change(condition: Domain | None, base: Domain | None) -> dict[str, Any]:
    """Return the columns of a corrected rate's change from `base`, over the datasets of both."""
    if condition is None or base is None:
        return {"corrected_reason": NO_SAMPLE}
    shared = sorted(set(condition.turns["dataset"]) & set(base.turns["dataset"]))
    if not shared:
        return {"corrected_reason": "turns were drawn from no dataset of both"}
    after, before = condition.only_datasets(shared), base.only_datasets(shared)
    counts = {
        "n_turns_drawn_from": after.turns.height + before.turns.height,
        "n_labelled": after.labelled.height + before.labelled.height,
    }
    if reason := after.reason or before.reason:
        return counts | {"corrected_reason": reason}
    change = difference(before.corrected, after.corrected, correlation(before, after))
    return counts | limits_of("corrected", change)


def corrected_rate_columns(by_cell: Domains, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns of the corrected rate of a cell or pool."""
    return corrected_rate(by_cell.get(_cell_key(row)))


def corrected_change_columns(by_cell: Domains, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns of the corrected change from a baseline to a condition."""
    if row["factor"] == FORMAT:
        base = {**row, "model": model_of(row["model"])}
    else:
        value = row["baseline"]
        base = {**row, row["factor"]: float(value) if row["factor"] == "temperature" else value}
    return corrected_change(by_cell.get(_cell_key(row)), by_cell.get(_cell_key(base)))


def _cell_key(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(row[key] for key in JUDGED_CELL_KEYS)


def add_corrected(
    table: pl.DataFrame,
    by_cell: Domains | None,
    has_one: pl.Expr,
    correct: Callable[[Domains, Mapping[str, Any]], dict[str, Any]],
) -> pl.DataFrame:
    """Return a table with the columns of corrected numbers, null where a row has none.

    Rows have the columns of a judged cell, with `all` as the dataset of a pool. Rows for which
    `has_one` holds are corrected by `correct`, which is `corrected_rate_columns` or
    `corrected_change_columns`. `by_cell` is None if nobody has labelled a turn.
    """
    rows: list[dict[str, Any]] = []
    for row in table.with_columns(has_one=has_one).iter_rows(named=True):
        if not row["has_one"]:
            rows.append({})
        elif by_cell is None:
            rows.append({"corrected_reason": NO_LABELS})
        else:
            rows.append(correct(by_cell, row))
    bare = table.drop(list(CORRECTED), strict=False)
    return pl.concat([bare, pl.DataFrame(rows, schema=CORRECTED)], how="horizontal")

"""A domain: some cells' turns judged by one judge, the sample drawn from them, people's labels."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from userturn.datasets.clusters import clusters, originals
from userturn.humans.labels import NO_LABELS, n_unlabelled_classes, weighted
from userturn.stats.arrays import Floats
from userturn.stats.margins import correlations, side_by_side
from userturn.stats.prediction_powered import (
    Corrected,
    Labelled,
    corrected_rate,
    design_effect,
)
from userturn.storage.table_files import ITEM_KEYS, TURN_KEYS

NOT_DRAWN = "none of its turns was drawn; name a new round in humans.rounds"


@dataclass(frozen=True)
class Domain:
    """Some cells' turns judged by one judge, the sample drawn from them, and people's labels."""

    turns: pl.DataFrame  # keys, item; `genuine` by the judge, null without a label
    drawn: pl.DataFrame
    labelled: pl.DataFrame  # id, share_genuine

    def part(self, turns: pl.DataFrame, drawn: pl.DataFrame) -> "Domain":
        """Return the part of the domain with the given turns."""
        ids = drawn["id"].to_list()
        return Domain(turns, drawn, self.labelled.filter(pl.col("id").is_in(ids)))

    def of_datasets(self, datasets: Sequence[str]) -> "Domain":
        """Return the part of the domain with the given datasets.

        A domain that has no others is returned itself, so that its rate is computed once.
        """
        kept = pl.col("dataset").is_in(datasets)
        if self.turns.select(kept.all()).item():
            return self
        return self.part(self.turns.filter(kept), self.drawn.filter(kept))

    def parts(self, by: Sequence[str]) -> dict[tuple[Any, ...], "Domain"]:
        """Return the domain split by the values of some columns, sorted by them."""
        if not by:
            return {(): self} if self.turns.height else {}
        turns, drawn = (t.partition_by(by, as_dict=True) for t in (self.turns, self.drawn))
        nothing = self.drawn.clear()
        return {v: self.part(turns[v], drawn.get(v, nothing)) for v in sorted(turns)}

    @property
    def predictions(self) -> Floats:
        """The judge's labels as numbers, 0 for turns without one."""
        return self.turns["genuine"].fill_null(False).cast(pl.Float64).to_numpy()

    @cached_property
    def reason(self) -> str | None:
        """The reason why the rate of this domain cannot be corrected, or None."""
        if self.drawn.is_empty():
            return NOT_DRAWN
        if self.labelled.is_empty():
            return NO_LABELS
        if self.drawn["judge"].n_unique() > 1:
            return "its rounds were drawn by the labels of different judges"
        n_open = n_unlabelled_classes(self.drawn, self.labelled, "stratum")
        return f"nobody has labelled a turn of {n_open} of its strata yet" if n_open else None

    def sample(self) -> Labelled:
        """Return the turns that people labelled, with the judge's labels and design weights."""
        table = (
            weighted(self.drawn, self.labelled, ["stratum"])
            .join(self.labelled, on="id", maintain_order="left")
            .join(self.turns.select(*TURN_KEYS, "genuine"), on=TURN_KEYS, maintain_order="left")
            .with_columns(pl.col("genuine").fill_null(False).cast(pl.Float64), of=originals())
        )
        if (table["of"] != table["item"]).any():  # labels of copies are one
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
        """The corrected rate; ask for it only if `reason` is None."""
        names = pl.concat_str("dataset", clusters(), separator="\n")
        together = self.turns.select(names).to_series().to_numpy()
        predictions = self.predictions
        effect = design_effect(predictions, together)
        return corrected_rate(predictions, self.sample(), effect)


def correlation(first: Domain, second: Domain) -> float:
    """Return the correlation of the judge's rates in two domains, over the items that both have."""
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

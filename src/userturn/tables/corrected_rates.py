"""Corrected rates of cells, pools of cells and contrasts, beside the judges' plain rates."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from userturn.humans.labels import (
    drawn_turns,
    n_unlabelled_classes,
    people,
    weighted,
)
from userturn.humans.sample import TURN
from userturn.stats.prediction_powered import (
    Corrected,
    Floats,
    Labelled,
    contrast,
    corrected_rate,
    design_effect,
)
from userturn.stats.proportions import wilson
from userturn.storage.parquet import Schema
from userturn.tables.item_counts import CELL
from userturn.tables.material import Material
from userturn.tables.report_layout import (
    INTERVAL,
    TEMPERATURE,
    Shown,
    column,
    texts,
)

COORDINATES = ["family", *CELL]
SCOPES = {"cell": COORDINATES, "model": ["family", "model"], "family": ["family"], "all": []}
RATES_SCHEMA: Schema = {
    "scope": pl.String,
    "family": pl.String,
    "model": pl.String,
    "dataset": pl.String,
    "temperature": pl.Float64,
    "perturbation": pl.String,
    "against": pl.String,
    "judge": pl.String,
    "n_turns": pl.Int64,
    "n_labelled": pl.Int64,
    "plain_estimate": pl.Float64,
    "plain_lower": pl.Float64,
    "plain_upper": pl.Float64,
    "estimate": pl.Float64,
    "lower": pl.Float64,
    "upper": pl.Float64,
    "tuning": pl.Float64,
    "reason": pl.String,
}
NO_LABELS = "no annotations yet"
NOT_DRAWN = "none of its turns was drawn; name a new round in humans.rounds"


def table(material: Material) -> pl.DataFrame:
    """Return the table of a study."""
    annotations, keys = material.annotations_and_keys
    turns, families = material.user_turns, material.humans.families
    return corrected_rates(turns, material.verdicts, annotations, keys, families)


class Domain(NamedTuple):
    """Some cells' turns by one judge, what was drawn of them, and what people labelled."""

    turns: pl.DataFrame  # family, keys, item; `genuine` of the judge, null where it has no label
    drawn: pl.DataFrame
    labelled: pl.DataFrame  # id, share_genuine

    def part(self, turns: pl.DataFrame, drawn: pl.DataFrame) -> "Domain":
        """Return the part of the domain that some of its turns make up."""
        ids = drawn["id"].to_list()
        return Domain(turns, drawn, self.labelled.filter(pl.col("id").is_in(ids)))

    def of_items(self, items: Sequence[str]) -> "Domain":
        """Return the part of the domain that some items make up."""
        chosen = pl.col("item").is_in(items)
        return self.part(self.turns.filter(chosen), self.drawn.filter(chosen))

    def parts(self, by: Sequence[str]) -> dict[tuple[Any, ...], "Domain"]:
        """Return the parts that the values of some columns make, by value and sorted."""
        if not by:
            return {(): self} if self.turns.height else {}
        turns, drawn = (t.partition_by(by, as_dict=True) for t in (self.turns, self.drawn))
        nothing = self.drawn.clear()
        return {v: self.part(turns[v], drawn.get(v, nothing)) for v in sorted(turns)}

    @property
    def predictions(self) -> Floats:
        """The judge's labels as numbers; 0 where it has none."""
        return self.turns["genuine"].fill_null(False).cast(pl.Float64).to_numpy()

    @property
    def reason(self) -> str | None:
        """Why the rate of this domain cannot be corrected, if it cannot."""
        if self.drawn.is_empty():
            return NOT_DRAWN
        if self.labelled.is_empty():
            return NO_LABELS
        if self.drawn["judge"].n_unique() > 1:
            return "its rounds were drawn by the labels of different judges"
        n_open = n_unlabelled_classes(self.drawn, self.labelled, "stratum")
        return f"nobody has labelled a turn of {n_open} of its strata yet" if n_open else None

    def sample(self) -> Labelled:
        """Return what people labelled, with the judge's labels and design weights."""
        table = (
            weighted(self.drawn, self.labelled, ["stratum"])
            .join(self.labelled, on="id")
            .join(self.turns.select(*TURN, "genuine"), on=TURN, maintain_order="left")
        )
        return Labelled(
            table["share_genuine"].to_numpy(),
            table["genuine"].fill_null(False).cast(pl.Float64).to_numpy(),
            table["weight"].to_numpy(),
            table["stratum"].to_numpy(),
        )

    def corrected(self) -> Corrected:
        """Return the corrected rate of a domain that has no reason against it."""
        clusters = self.turns.select(pl.concat_str("dataset", "item", separator="\n")).to_series()
        predictions = self.predictions
        effect = design_effect(predictions, clusters.to_numpy())
        return corrected_rate(predictions, self.sample(), effect)

    def counts(self) -> dict[str, Any]:
        """Return the counts and the plain rate, with Wilson's limits."""
        n_scored = self.turns["genuine"].count()
        plain = wilson(int(self.turns["genuine"].sum()), n_scored)
        return {
            "n_turns": self.turns.height,
            "n_labelled": self.labelled.height,
            **{f"plain_{name}": value for name, value in plain._asdict().items()},
        }


def _rate(domain: Domain) -> dict[str, Any]:
    reason = domain.reason
    if reason:
        return {**domain.counts(), "reason": reason}
    found = domain.corrected()
    rate = {name: getattr(found, name) for name in ("estimate", "lower", "upper", "tuning")}
    return {**domain.counts(), **rate}


def _rates(domain: Domain, scope: str) -> list[dict[str, Any]]:
    """Return a row for each group of a scope; pools hold only cells that turns were drawn of."""
    by = SCOPES[scope]
    if scope != "cell":
        turns = domain.turns.join(domain.drawn, on=CELL, how="semi", maintain_order="left")
        domain = domain.part(turns, domain.drawn)
    return [
        {"scope": scope, **dict(zip(by, values, strict=True)), **_rate(part)}
        for values, part in domain.parts(by).items()
    ]


def correlation(first: pl.DataFrame, second: pl.DataFrame) -> float:
    """Return the correlation of the judge's labels of two cells over items; 0 where undefined."""
    share = pl.col("genuine").cast(pl.Float64).mean()
    left, right = (table.group_by("item").agg(share) for table in (first, second))
    both = left.join(right, on="item").drop_nulls().sort("item")
    values = both.select("genuine", "genuine_right").to_numpy()
    if len(values) < 2 or (values.std(axis=0) == 0).any():
        return 0.0
    return float(np.corrcoef(values.T)[0, 1])


def _contrast(cell: Domain, base: Domain) -> dict[str, Any]:
    """Return the difference of two cells' rates on the items that both have."""
    shared = sorted(set(cell.turns["item"]) & set(base.turns["item"]))
    first, second = cell.of_items(shared), base.of_items(shared)
    counts = [first.counts(), second.counts()]
    row: dict[str, Any] = {name: sum(c[name] for c in counts) for name in ("n_turns", "n_labelled")}
    plain = [c["plain_estimate"] for c in counts]
    if None not in plain:
        row["plain_estimate"] = plain[0] - plain[1]
    if not shared:
        return row | {"reason": "the two cells share no item"}
    reason = first.reason or second.reason
    if reason:
        return row | {"reason": reason}
    related = correlation(first.turns, second.turns)
    limits = contrast(first.corrected(), second.corrected(), related)
    return row | dict(zip(("estimate", "lower", "upper"), limits, strict=True))


def _contrasts(domain: Domain) -> list[dict[str, Any]]:
    """Return a row for each cell against the unperturbed and against the coolest one."""
    cells = domain.parts(COORDINATES)
    coolest = min(domain.turns["temperature"], default=0.0)
    rows = []
    for values, part in cells.items():
        cell = dict(zip(COORDINATES, values, strict=True))
        for name, value in (("perturbation", "none"), ("temperature", coolest)):
            base = cells.get(tuple((cell | {name: value}).values()))
            if base is not None and cell[name] != value:
                against = f"{name} {value}" if isinstance(value, str) else f"{name} {value:g}"
                rows.append(
                    {"scope": "contrast", **cell, "against": against, **_contrast(part, base)}
                )
    return rows


def corrected_rates(
    turns: pl.DataFrame,
    verdicts: pl.DataFrame,
    annotations: pl.DataFrame,
    keys: pl.DataFrame,
    families: Mapping[str, str],
) -> pl.DataFrame:
    """Return plain and corrected rates of all cells, pools and contrasts, by each judge.

    Args:
        turns: user turns of all cells: key columns, `key`, `outcome`.
        verdicts: of all judges on them.
        annotations: of all rounds.
        keys: of all rounds.
        families: model family by model.
    """
    family = pl.col("model").replace_strict(families, return_dtype=pl.String)
    frame = turns.filter(pl.col("outcome") != "error").with_columns(family=family)
    drawn = drawn_turns(keys, frame).unique(TURN, keep="first", maintain_order=True)
    labelled = people(annotations).filter(pl.col("id").is_in(drawn["id"].to_list()))
    rows = []
    for judge in sorted(verdicts["judge"].unique()):
        of_judge = verdicts.filter(pl.col("judge") == judge).select(*TURN, "genuine")
        judged = frame.join(of_judge, on=TURN, how="left", maintain_order="left")
        domain = Domain(judged, drawn, labelled)
        found = [row for scope in SCOPES for row in _rates(domain, scope)] + _contrasts(domain)
        rows += [{"judge": judge, **row} for row in found]
    table = pl.DataFrame(rows, schema=RATES_SCHEMA)
    if annotations.is_empty():
        return table.with_columns(reason=pl.lit(NO_LABELS))
    return table


REPORTED = Shown(
    "Rates corrected by people's labels",
    {},
    (
        *texts("scope", "family", "model", "dataset"),
        TEMPERATURE,
        *texts("perturbation", "judge"),
        column("labelled", "of", "n_labelled", "n_turns"),
        column("judge alone", "share", *(f"plain_{n}" for n in ("estimate", *INTERVAL))),
        column("corrected", "share", "estimate", *INTERVAL),
        *texts("reason"),
    ),
)

"""Turns that one study calls genuine and another does not, with what their readers need."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import polars as pl

from userturn.storage.hashing import fingerprint
from userturn.storage.table_files import JUDGED_CELL_KEYS, TURN_KEYS, Schema

MOST_SHOWN = 400
VERDICT = ["label", "genuine", "rationale"]
FLIPS_SCHEMA: Schema = {
    **dict.fromkeys(["model", "dataset"], pl.String),
    "temperature": pl.Float64,
    **dict.fromkeys(["perturbation", "judge", "item"], pl.String),
    "sample": pl.Int64,
    **{
        f"{name}{side}": pl.Boolean if name == "genuine" else pl.String
        for side in ("", "_b")
        for name in VERDICT
    },
}


class Side(NamedTuple):
    """What one study says of a turn."""

    answer: str
    turn: str
    label: str
    rationale: str


class Flip(NamedTuple):
    """A turn on which two studies differ; `question` and sides are None if it is private."""

    cell: str
    item: str
    question: str | None
    sides: tuple[Side, Side] | None
    labels: tuple[str, str]


def flipped(a: Path, b: Path) -> pl.DataFrame:
    """Return the verdicts of B beside those of A where one is genuine and the other is not.

    Both studies have the cell, the judge, the item and the sample. Columns are FLIPS_SCHEMA.
    """
    paths = sorted(path.relative_to(a) for path in a.glob("cells/*/*/*/*/verdicts/[!.]*.parquet"))
    found = [pl.DataFrame(schema=FLIPS_SCHEMA)]
    for path in (path for path in paths if (b / path).is_file()):
        one, other = (pl.read_parquet(study / path) for study in (a, b))
        keys = ["item", "sample"]
        beside = one.join(
            other.select(*keys, *VERDICT), on=keys, suffix="_b", maintain_order="left"
        )
        differ = beside.filter(pl.col("genuine") != pl.col("genuine_b"))
        found.append(differ.select(pl.col(name).cast(kind) for name, kind in FLIPS_SCHEMA.items()))
    return pl.concat(found)


def drawn(flips: pl.DataFrame) -> pl.DataFrame:
    """Return at most MOST_SHOWN of the flips, drawn by a hash, in the order of their cells."""
    names = [*JUDGED_CELL_KEYS, "item", "sample"]
    ranks = [fingerprint(["flip", *row]) for row in flips.select(names).iter_rows()]
    ranked = flips.with_columns(rank=pl.Series(ranks, dtype=pl.String)).sort("rank")
    return ranked.head(MOST_SHOWN).sort(*JUDGED_CELL_KEYS, "rank")


def with_texts(flips: pl.DataFrame, a: Path, b: Path, private: set[str]) -> Iterator[Flip]:
    """Yield flips with question, answers, turns and rationales; without them where private."""
    for (model, dataset, temperature, perturbation, judge), group in flips.group_by(
        JUDGED_CELL_KEYS, maintain_order=True
    ):
        folder = f"cells/{model}/{dataset}/t{temperature:g}/{perturbation}"
        name = f"{model} · {dataset} · t {temperature:g} · {perturbation} · by {judge}"
        is_shown = dataset not in private
        texts = [_texts(s / folder / "user_turns.parquet") if is_shown else {} for s in (a, b)]
        asked = _questions(a / f"datasets/{dataset}.parquet") if is_shown else {}
        for row in group.iter_rows(named=True):
            labels = (str(row["label"]), str(row["label_b"]))
            said = [str(row[f"rationale{side}"] or "") for side in ("", "_b")]
            pairs = [found.get((row["item"], row["sample"]), ("", "")) for found in texts]
            sides = (Side(*pairs[0], labels[0], said[0]), Side(*pairs[1], labels[1], said[1]))
            yield Flip(
                name, row["item"], asked.get(row["item"]), sides if is_shown else None, labels
            )


def _texts(path: Path) -> dict[tuple[str, int], tuple[str, str]]:
    """Return answer and turn of each item and sample."""
    turns = pl.read_parquet(path, columns=[*TURN_KEYS[-2:], "answer", "text"])
    return {(i, s): (answer or "", text or "") for i, s, answer, text in turns.iter_rows()}


def _questions(path: Path) -> dict[str, str]:
    """Return the last message of each item."""
    items = pl.read_parquet(path, columns=["item", "messages"])
    return {item: messages[-1]["content"] for item, messages in items.iter_rows()}

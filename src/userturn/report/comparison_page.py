"""Turns that one study calls genuine and another does not, and a page of both without a script."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from userturn.html.page import policy, read_page
from userturn.storage.hashing import fingerprint
from userturn.storage.table_files import JUDGED_CELL_KEYS, TURN_KEYS, Schema
from userturn.wording import number_of, show_codes

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


NOT_SHOWN = "not shown: private dataset"
LONGEST = 1500  # characters of a text; the studies have the rest


class Comparison(NamedTuple):
    """Two studies beside each other.

    Attributes:
        unknown: why the rates of each study are no findings, a sentence each.
        settings: how many shared cells were made with the same settings, in words.
        cells: rates by cell and judge, as `userturn compare` prints them.
        grades: task accuracy, likewise.
        only: cells by judge that only one of the studies has, by its name.
    """

    names: tuple[str, str]
    unknown: Sequence[str]
    settings: str
    cells: pl.DataFrame
    grades: pl.DataFrame
    only: Mapping[str, Sequence[str]]


def comparison_page(found: Comparison, flips: Iterable[Flip], n_flips: tuple[int, int]) -> str:
    """Return the page as HTML, with some flipped turns.

    `n_flips` says how many turns became genuine from A to B, and how many ceased to be.
    """
    shown = list(flips)
    page = read_page(
        "comparison.html",
        a=_text(found.names[0]),
        b=_text(found.names[1]),
        unknown="".join(f"<p><strong>{_text(said)}</strong></p>" for said in found.unknown),
        settings=_text(found.settings),
        cells=_rates(found.cells, ["model", "dataset", "temperature", "perturbation", "judge"]),
        grades=_rates(found.grades, ["model", "dataset"]),
        only="".join(_only(name, cells) for name, cells in found.only.items()),
        counts=_counts(len(shown), n_flips),
    )
    before, after = page.replace("{{policy}}", escape(policy(page))).split("{{flips}}")
    return before + "".join(map(_flip, shown)) + after


def _counts(n_shown: int, n_flips: tuple[int, int]) -> str:
    if not any(n_flips):
        return "No turn is genuine in one study and not genuine in the other."
    rose, fell = (number_of(n, "turn") for n in n_flips)
    below = f"Below are {n_shown:,} of them, drawn by a hash."
    told = "All are below." if n_shown == sum(n_flips) else below
    return f"Genuine in B and not in A: {rose}; in A and not in B: {fell}. {told}"


def _text(text: str) -> str:
    cut = text if len(text) <= LONGEST else f"{text[:LONGEST]} […]"
    return escape(show_codes(cut)).replace("{{", "&#123;&#123;")  # no place of the template


def _rates(table: pl.DataFrame, keys: Sequence[str]) -> str:
    """Return a table of rates in A and B, their difference and its test."""
    if table.is_empty():
        return "<p>Nothing was scored in both.</p>"
    heads = [*keys, "A", "B", "B − A, 95% interval, points", "p by Holm", "items"]
    head = "".join(f'<th scope="col">{name}</th>' for name in heads)
    body = "".join(f"<tr>{_rate(row, keys)}</tr>" for row in table.iter_rows(named=True))
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _rate(row: Mapping[str, Any], keys: Sequence[str]) -> str:
    limits = [
        f"{100 * row[name]:+.1f}".replace("-", "−") for name in ("difference", "lower", "upper")
    ]
    values = [
        *(f"{row[key]:g}" if key == "temperature" else str(row[key]) for key in keys),
        f"{row['rate_baseline']:.1%}",
        f"{row['rate_condition']:.1%}",
        f"{limits[0]} [{limits[1]}, {limits[2]}]",
        "<0.001" if row["p_adjusted"] < 0.001 else f"{row['p_adjusted']:.3f}",
        f"{row['n_items']:,}",
    ]
    return "".join(f"<td>{_text(value)}</td>" for value in values)


def _only(name: str, cells: Sequence[str]) -> str:
    rows = "".join(f"<li>{_text(cell)}</li>" for cell in cells)
    title = f"Only in {name}: {number_of(len(cells), 'cell')} by judge"
    return f"<details><summary>{title}</summary><ul>{rows}</ul></details>"


def _flip(flip: Flip) -> str:
    labels = f"{flip.labels[0]} → {flip.labels[1]}".replace("_", " ")
    title = f"<summary><b>{_text(flip.item)}</b> {_text(labels)} <small>{_text(flip.cell)}</small>"
    if flip.sides is None:
        return f"<details>{title}</summary><p>{NOT_SHOWN}</p></details>"
    sides = "".join(map(_side, ("A", "B"), flip.sides))
    asked = f'<h3>Question</h3><p class="text" dir="auto">{_text(flip.question or "")}</p>'
    return f'<details>{title}</summary>{asked}<div class="sides">{sides}</div></details>'


def _side(name: str, side: Side) -> str:
    parts = [
        (f"Answer in {name}", side.answer),
        (f"User turn in {name}", side.turn),
        (side.label.replace("_", " "), side.rationale),
    ]
    texts = "".join(
        f'<h3>{_text(title)}</h3><p class="text" dir="auto">{_text(text) or "(no text)"}</p>'
        for title, text in parts
    )
    return f"<section>{texts}</section>"

"""Two studies in one page: rates, and the turns that flipped; without a script."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

import polars as pl

from userturn.html.page import policy, read_page
from userturn.report.flips import Flip, Side
from userturn.wording import number_of, show_codes

NOT_SHOWN = "not shown: private dataset"
LONGEST = 1500  # characters of a text; the studies have the rest


class Comparison(NamedTuple):
    """Two studies beside each other.

    Attributes:
        names: what the studies are called.
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
    """Return the page as HTML.

    Args:
        found: the comparison.
        flips: the flipped turns that are shown.
        n_flips: how many turns became genuine from A to B, and how many ceased to be.
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
        *(_value(key, row[key]) for key in keys),
        f"{row['rate_baseline']:.1%}",
        f"{row['rate_condition']:.1%}",
        f"{limits[0]} [{limits[1]}, {limits[2]}]",
        "<0.001" if row["p_adjusted"] < 0.001 else f"{row['p_adjusted']:.3f}",
        f"{row['n_items']:,}",
    ]
    return "".join(f"<td>{_text(value)}</td>" for value in values)


def _value(key: str, value: Any) -> str:
    """Return a part of a cell's name as the configuration has it."""
    return f"{value:g}" if key == "temperature" else str(value)


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

"""The page of studies that are compared: their rates, item by item, and the turns that flip."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

import polars as pl

from userturn.html.page import policy, read_page
from userturn.report.flips import Flip, Side, Study
from userturn.storage.table_files import JUDGED_CELL_KEYS
from userturn.wording import label_name, number_of, show_codes

NOT_SHOWN = "Not shown: private dataset"
LONGEST = 1500  # characters of a text; the studies have the rest
NUMBERS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


class Comparison(NamedTuple):
    """A study beside the first one."""

    studies: tuple[Study, Study]  # the first one, and this one
    unknown: Mapping[str, str]  # by letter of a study, the sentence why its rates are no findings
    settings: str  # how many shared cells were made with the same settings, in words
    cells: pl.DataFrame  # rates by cell and judge, as `userturn compare` prints them
    grades: pl.DataFrame  # task accuracy, likewise
    only: Mapping[str, Sequence[str]]  # by letter, cells by judge that only one study has


def comparison_page(
    comparisons: Sequence[Comparison],
    rates: pl.DataFrame,
    flips: Iterable[Flip],
    n_flips: Sequence[int],
) -> str:
    """Return the page as HTML, with some flipped turns.

    `rates` has the rate of each cell by judge in each study: JUDGED_CELL_KEYS, `letter`,
    `estimate`, `lower`, `upper` and `n`. `n_flips` says how many turns flipped in all, and for each
    comparison how many became genuine from the first study to it, and how many ceased to be.
    """
    flips_to_show = list(flips)
    studies = [comparisons[0].studies[0], *(one.studies[1] for one in comparisons)]
    n = len(studies)
    page = read_page(
        "comparison.html",
        title=f"{NUMBERS[n - 2] if n - 2 < len(NUMBERS) else n} studies",
        names="; ".join(f"{s.letter} is {_text(s.title)}" for s in studies),
        unknown="".join(
            f"<p><strong>{_text(warning)}</strong></p>" for warning in _unknown(comparisons)
        ),
        rates=_overview(rates, studies) if n > 2 else "",
        pairs="".join(map(_pair, comparisons)),
        counts=_counts(len(flips_to_show), comparisons, n_flips),
    )
    before, after = page.replace("{{policy}}", escape(policy(page))).split("{{flips}}")
    return before + "".join(map(_flip, flips_to_show)) + after


def _unknown(comparisons: Sequence[Comparison]) -> list[str]:
    """Return why rates are no findings, each sentence once with the letters of its studies."""
    letters: dict[str, list[str]] = {}
    for letter, warning in {
        key: warning for one in comparisons for key, warning in one.unknown.items()
    }.items():
        letters.setdefault(warning, []).append(letter)
    return [f"{', '.join(of)}: {warning}" for warning, of in letters.items()]


def _counts(n_shown: int, comparisons: Sequence[Comparison], n_flips: Sequence[int]) -> str:
    n_all, *changed = n_flips
    if not n_all:
        return "No turn is genuine in one study and not genuine in the other."
    told = []
    for one, rose, fell in zip(comparisons, changed[::2], changed[1::2], strict=True):
        a, b = (study.letter for study in one.studies)
        rise, fall = (number_of(n, "turn") for n in (rose, fell))
        told.append(f"Genuine in {b} and not in {a}: {rise}; in {a} and not in {b}: {fall}.")
    below = f"Below are {n_shown:,} of {number_of(n_all, 'turn')} that flipped, drawn by a hash."
    return " ".join([*told, "All are below." if n_shown == n_all else below])


def _text(text: str) -> str:
    cut = text if len(text) <= LONGEST else f"{text[:LONGEST]} […]"
    return escape(show_codes(cut)).replace("{{", "&#123;&#123;")  # no placeholder of the template


def _table(heads: Sequence[str], rows: Iterable[Iterable[str]], name: str) -> str:
    head = "".join(f'<th scope="col">{_text(head)}</th>' for head in heads)
    body = "".join(f"<tr>{''.join(f'<td>{_text(v)}</td>' for v in row)}</tr>" for row in rows)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div class="wide" tabindex="0" role="region" aria-label="{_text(name)}">{table}</div>'


def _named(row: Mapping[str, Any], keys: Sequence[str]) -> list[str]:
    return [f"{row[key]:g}" if key == "temperature" else str(row[key]) for key in keys]


def _overview(rates: pl.DataFrame, studies: Sequence[Study]) -> str:
    cells: dict[tuple[str, ...], dict[str, str]] = {}
    for row in rates.sort(JUDGED_CELL_KEYS).iter_rows(named=True):
        limits = f"[{100 * row['lower']:.1f}, {100 * row['upper']:.1f}]"
        rate = f"{row['estimate']:.1%} {limits} of {row['n']:,}"
        cells.setdefault(tuple(_named(row, JUDGED_CELL_KEYS)), {})[row["letter"]] = rate
    rows = [
        [*cell, *(by_letter.get(s.letter, "–") for s in studies)]
        for cell, by_letter in cells.items()
    ]
    heads = [*JUDGED_CELL_KEYS, *(s.letter for s in studies)]
    return "<h2>Genuine follow-ups of every study</h2>" + _table(heads, rows, "Rates")


def _pair(one: Comparison) -> str:
    """Return a study beside the first as HTML: differences, accuracy, and cells of one alone."""
    name = f"{one.studies[1].letter} beside {one.studies[0].letter}"
    return (
        f"<h2>Genuine follow-ups, {name}</h2><p>{_text(one.settings)}.</p>"
        f"{_rates(one, one.cells, JUDGED_CELL_KEYS, 'Genuine follow-ups')}"
        f"<h2>Task accuracy, {name}</h2>"
        f"{_rates(one, one.grades, ['model', 'dataset'], 'Task accuracy')}"
        f"{''.join(_only(letter, cells) for letter, cells in one.only.items() if cells)}"
    )


def _rates(one: Comparison, table: pl.DataFrame, keys: Sequence[str], name: str) -> str:
    if table.is_empty():
        return "<p>Nothing was scored in both.</p>"
    a, b = (study.letter for study in one.studies)
    heads = [*keys, a, b, f"{b} − {a}, 95% interval, points", "p by Holm", "items"]
    return _table(heads, (_rate(row, keys) for row in table.iter_rows(named=True)), name)


def _rate(row: Mapping[str, Any], keys: Sequence[str]) -> list[str]:
    limits = [
        f"{100 * row[name]:+.1f}".replace("-", "−") for name in ("difference", "lower", "upper")
    ]
    return [
        *_named(row, keys),
        f"{row['rate_baseline']:.1%}",
        f"{row['rate_condition']:.1%}",
        f"{limits[0]} [{limits[1]}, {limits[2]}]",
        "<0.001" if row["p_adjusted"] < 0.001 else f"{row['p_adjusted']:.3f}",
        f"{row['n_items']:,}",
    ]


def _only(name: str, cells: Sequence[str]) -> str:
    rows = "".join(f"<li>{_text(cell)}</li>" for cell in cells)
    title = f"Only in {name}: {number_of(len(cells), 'cell')} by judge"
    return f"<details><summary>{title}</summary><ul>{rows}</ul></details>"


def _flip(flip: Flip) -> str:
    labels = ", ".join(f"{letter}: {label_name(side.label)}" for letter, side in flip.sides.items())
    title = f"<summary><b>{_text(flip.item)}</b> {_text(labels)} <small>{_text(flip.cell)}</small>"
    if flip.question is None:
        return f"<details>{title}</summary><p>{NOT_SHOWN}</p></details>"
    sides = "".join(_side(letter, side) for letter, side in flip.sides.items())
    question = f'<h3>Question</h3><p class="text" dir="auto">{_text(flip.question)}</p>'
    return f'<details>{title}</summary>{question}<div class="sides">{sides}</div></details>'


def _side(name: str, side: Side) -> str:
    parts = [
        (f"Answer in {name}", side.answer),
        (f"User turn in {name}", side.turn),
        (label_name(side.label), side.rationale),
    ]
    texts = "".join(
        f'<h3>{_text(title)}</h3><p class="text" dir="auto">{_text(text) or "(No text)"}</p>'
        for title, text in parts
    )
    return f"<section>{texts}</section>"

"""What commands print: tables by the terminal's width, drawn intervals, and numbers as JSON."""

import json
import math
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from io import StringIO
from shutil import get_terminal_size
from typing import Any, Literal, NamedTuple, TextIO

import polars as pl
from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from userturn.wording import number_of, show_unseen

WIDTH_OF_A_FILE = 100  # columns of what is printed where no terminal is
NARROWEST, WIDEST = 11, 31  # columns of a drawn interval
BETWEEN = 2  # columns of the terminal between two columns of a table
BREAKABLE = 10  # columns that a broken text needs at least
GOOD, BAD = "green", "yellow"


class Bar(NamedTuple):
    """An interval of a share, drawn between 0 and 1.

    Attributes:
        mark: another share to draw, such as a floor.
        is_above: whether the share is significantly above the mark, and so drawn in green.
    """

    estimate: float | None
    lower: float | None
    upper: float | None
    mark: float | None = None
    is_above: bool = False


class Sheet(NamedTuple):
    """A table at most as wide as the terminal: texts fold, and bars shrink or are left out.

    If it is still too wide, it becomes one line of text per row.

    Attributes:
        heads: headings of the columns; a column without a text is left out.
        rows: cells of each row.
        title: a line above the table.
        whole: headings of columns that are never broken and are aligned right, as numbers are.
    """

    heads: Sequence[str]
    rows: Sequence[Sequence[str | Bar]]
    title: str = ""
    whole: Sequence[str] = ()


Part = str | Text | Sheet
"""A `str` is printed as it is; `prose` and sheets follow the width."""


class Output(NamedTuple):
    """The output of a command, for a person and for a program.

    Attributes:
        numbers: the same as values by name, which `--json` prints, with a frame as a list of rows.
        code: exit code.
    """

    parts: Sequence[Part]
    numbers: Mapping[str, Any]
    code: int = 0


def draw_bar(bar: Bar, width: int) -> str:
    """Return an interval as characters from 0 to 1: ─ its extent, ● the estimate, | the mark."""
    line = [" "] * width

    def position(share: float) -> int:
        return round(min(max(share, 0.0), 1.0) * (width - 1))

    if bar.lower is not None and bar.upper is not None:
        first, last = position(bar.lower), position(bar.upper)
        line[first : last + 1] = "─" * (last + 1 - first)
    if bar.mark is not None:
        line[position(bar.mark)] = "|"
    if bar.estimate is not None:
        line[position(bar.estimate)] = "●"
    return "".join(line).rstrip()


def share(estimate: float | None, lower: float | None, upper: float | None) -> str:
    """Return a share in percent with its interval, as in `17.1% [10.1, 27.6]`, or an empty text."""
    if estimate is None:
        return ""
    limits = "" if lower is None or upper is None else f" [{100 * lower:.1f}, {100 * upper:.1f}]"
    return f"{estimate:.1%}{limits}"


def number(estimate: float | None, lower: float | None = None, upper: float | None = None) -> str:
    """Return a number with its interval, as in `0.14 [0.09, 0.20]`, or an empty text."""
    if estimate is None:
        return ""
    return f"{estimate:.2f}" + ("" if lower is None else f" [{lower:.2f}, {upper:.2f}]")


def prose(text: str, style: str = "") -> Text:
    """Return sentences as text that wraps at the terminal's width."""
    return Text(show_unseen(text), style=style)


def told_checks(checks: Sequence[tuple[str, str | None]], names_passed: bool) -> list[Part]:
    """Return a line per failed check, and the passed ones by name or only counted.

    A check is (what, trouble), with None for a check that passed.
    """
    bad = [prose(f"FAIL {what}: {trouble}", BAD) for what, trouble in checks if trouble]
    good = [what for what, trouble in checks if not trouble]
    named = [f"ok   {what}" for what in good] if names_passed else []
    ended = f", {len(bad)} would fail" if bad else ""
    return [*bad, *named, f"{number_of(len(good), 'check')} passed{ended}"]


def _laid_out(sheet: Sheet, width: int) -> RenderableType:
    """Return a sheet for rich, as a table or, if the terminal is too narrow, as lines."""
    heads, rows = sheet.heads, sheet.rows
    used = [n for n in range(len(heads)) if any(row[n] for row in rows)]
    bars = [n for n in used if any(isinstance(row[n], Bar) for row in rows)]
    texts = [n for n in used if n not in bars]
    cells = {n: [heads[n], *(str(row[n]) for row in rows)] for n in texts}
    widest = {n: max(map(cell_len, cells[n])) for n in texts}
    whole = {n for n in texts if heads[n] in sheet.whole}
    fewest = [wide if n in whole else min(wide, BREAKABLE) for n, wide in widest.items()]
    if sum(fewest) + BETWEEN * (len(texts) - 1) > width:
        told = ("; ".join(f"{heads[n]} {row[n]}" for n in texts if row[n]) for row in rows)
        return prose("\n".join(told))
    left = width - sum(widest.values()) - BETWEEN * len(texts)
    for_each = min(left // max(1, len(bars)) - BETWEEN, WIDEST)
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), show_edge=False)
    shown = used if for_each >= NARROWEST else texts
    for n in shown:
        head = f"{'0%':<{for_each - 4}}100%" if n in bars else heads[n]
        side: Literal["left", "right"] = "right" if n in whole else "left"
        stays = n not in texts or n in whole
        table.add_column(Text(head), justify=side, no_wrap=stays, overflow="fold")
    for row in rows:
        table.add_row(*(_cell_text(row[n], for_each) for n in shown))
    return table


def _cell_text(cell: str | Bar, width: int) -> Text:
    if isinstance(cell, str):
        return prose(cell)
    return Text(draw_bar(cell, width), style=GOOD if cell.is_above else "")


def as_text(parts: Iterable[Part], width: int, in_colour: bool = False) -> str:
    """Return parts of an output as text; only a `str` may be wider than `width` columns."""
    console = Console(
        file=StringIO(),
        width=width,
        force_terminal=in_colour,
        color_system="standard" if in_colour else None,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
        _environ={},
    )
    for part in parts:
        if isinstance(part, str):
            console.file.write(f"{show_unseen(part)}\n")
        elif isinstance(part, Text):
            console.print(part)
        else:
            if part.title:
                console.print(prose(part.title, "bold"))
            console.print(_laid_out(part, width))
    written: Any = console.file
    return "\n".join(line.rstrip() for line in written.getvalue().splitlines())


def as_json(numbers: Mapping[str, Any]) -> str:
    """Return values as JSON, with a frame as a list of rows and null for infinite or NaN."""
    return json.dumps(_plain(numbers), indent=1, allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, pl.DataFrame):
        return [_plain(row) for row in value.iter_rows(named=True)]
    if hasattr(value, "_asdict"):
        return _plain(value._asdict())
    if is_dataclass(value):
        return {part.name: _plain(getattr(value, part.name)) for part in fields(value)}
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple | set | pl.Series):
        return [_plain(one) for one in (sorted(value) if isinstance(value, set) else value)]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, int | str | None) else str(value)


def is_for_a_person(stream: TextIO) -> bool:
    """Return whether a stream is a terminal for which colours are not turned off."""
    environment = os.environ
    return stream.isatty() and not environment.get("NO_COLOR") and environment.get("TERM") != "dumb"


def printed(output: Output, as_numbers: bool) -> str:
    """Return an output as text for this process's standard output, or its numbers as JSON."""
    if as_numbers:
        return as_json(output.numbers)
    width = get_terminal_size((WIDTH_OF_A_FILE, 24)).columns
    return as_text(output.parts, width, is_for_a_person(sys.stdout))

"""Texts in CSV files: no spreadsheet takes them for a formula, no terminal for a command.

Spreadsheets calculate a cell that begins with = + - @, some also in full width, a tab or a line
end: a user turn such as `=1+1` would be shown as 2, and an item's id could call a program. An
apostrophe before it makes it a text (owasp.org, "CSV Injection"). A cell that begins with
apostrophes and then such a character gets one more, so that `as_written` gives back every text.
"""

import re

import polars as pl
from polars import selectors as cs

from userturn.unseen import show_codes

FORMULA = re.compile(r"'*[=+\-@\uff1d\uff0b\uff0d\uff20\t\r\n]")


def as_cell(text: str) -> str:
    """Return a text as the cell of a CSV file that no spreadsheet calculates."""
    return f"'{text}" if FORMULA.match(text) else text


def as_written(cell: str) -> str:
    """Return the text of a cell that `as_cell` or the annotation page wrote."""
    return cell[1:] if cell.startswith("'") and FORMULA.match(cell) else cell


def csv_of(table: pl.DataFrame) -> str:
    """Return a table as CSV: no text is a formula, unseen characters are shown as ⟦U+XXXX⟧.

    Numbers stay numbers, negative ones too.
    """
    texts = table.select(cs.string() | cs.categorical() | cs.enum()).cast(pl.String)
    safe = [
        pl.Series(name, [None if text is None else as_cell(show_codes(text)) for text in values])
        for name, values in texts.to_dict().items()
    ]
    return table.with_columns(column.cast(pl.String) for column in safe).write_csv()

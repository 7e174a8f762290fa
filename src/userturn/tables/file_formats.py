"""A table as Parquet, CSV, Markdown and LaTeX."""

import re
from collections.abc import Sequence
from pathlib import Path

import polars as pl
from tabulate import tabulate

from userturn.storage.atomic_files import write_text
from userturn.storage.csv_cells import csv_of
from userturn.storage.parquet import write_table
from userturn.tables.format_columns import join_formats
from userturn.tables.layout import Layout, printed

LATEX = re.compile(r"[%&_#$]")  # characters that LaTeX takes for commands


def write_csv(table: pl.DataFrame, path: str | Path) -> None:
    """Write a table as CSV, whole; texts are cells that no spreadsheet calculates."""
    write_text(csv_of(table), path)


def write_markdown(table: pl.DataFrame, path: str | Path, note: str | None = None) -> None:
    """Write a table of texts as a Markdown table, after a note if there is one, whole."""
    before = f"**{note}**\n\n" if note else ""
    write_text(before + _printed(table, "pipe"), path)


def write_latex(table: pl.DataFrame, path: str | Path, note: str | None = None) -> None:
    """Write a table of texts as a LaTeX tabular with booktabs rules, after its note, whole."""
    before = f"\\textbf{{{LATEX.sub(_escaped, note)}}}\\par\n" if note else ""
    write_text(before + _printed(table, "latex_booktabs"), path)


def _escaped(found: re.Match[str]) -> str:
    return f"\\{found[0]}"


def write_all(
    table: pl.DataFrame,
    paths: Sequence[str],
    identity: str,
    layout: Layout | None = None,
    note: str | None = None,
) -> None:
    """Write a table in the format that each path's ending names.

    Parquet and CSV have the whole table; Markdown and LaTeX have what its layout shows, after a
    note if there is one.
    """
    for path in map(str, paths):
        ending = path.rpartition(".")[2]
        if ending == "parquet":
            write_table(table, path, identity)
        elif ending == "csv":
            write_csv(table, path)
        elif layout is not None:
            shown = printed(layout, join_formats(table))
            {"md": write_markdown, "tex": write_latex}[ending](shown, path, note)


def _printed(table: pl.DataFrame, layout: str) -> str:
    return str(tabulate(table.rows(), table.columns, layout, disable_numparse=True)) + "\n"

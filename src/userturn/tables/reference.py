"""Generate the reference of a study's files: what makes each file, and what its columns mean.

`python -m userturn.tables.reference` rewrites `results/README.md`; a test fails if it is stale.
"""

import re
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import yaml

from userturn.workflow.registry import FIGURES, TABLES

PAGE = Path("results", "README.md")
FILES, COLUMNS = Path("data", "files.yaml"), Path("data", "columns.yaml")
HEAD = """\
# What a study writes

For people who read the files of a study: each file, the rule and module that make it, what one
row is, and its columns. The pipeline makes everything below, and git ignores it, except this
page. `python -m userturn.tables.reference` generates it from what tables and figures
declare, the schemas in the code, `data/files.yaml` and `data/columns.yaml`.

Shares are between 0 and 1. Every Parquet file carries in its metadata `identity`, the
fingerprint of the settings that made it, and `schema_version`; JSON artifacts have both under
`artifact`, Vega-Lite under `usermeta`. Files are written whole or not at all; equal content is
byte-equal.

`.*` means Parquet and CSV, which have every row. Tables for a paper also have Markdown and LaTeX
files with the main rows, as `LAYOUT` in the table's module says for them and the report; the same
rule writes all formats. docs/methods.md has the formulas.
In CSV, a text that begins with `=`, `+`, `-`, `@`, a tab or a line end has an apostrophe before it,
so that no spreadsheet calculates it, and a character that a reader cannot see is written as
`⟦U+XXXX⟧`. Parquet has every text as it is.

A model in another prompt format than the default (docs/models.md) is `model+format` in paths and in
the files of cells. Tables name the two in `model` and in a column `format` after it, which is there
if any row has another format than `default`.

`outcome` is `ok`, `empty` (no text but special tokens) or `error` (no reply, because a machine
failed or the prompt was too long, with the reason). An error is never graded or judged, and a
missing verdict is never a negative one: both are counted as unscored. A cell with a larger
share of errors than `max_error_share` fails; of a table of scores, what would be made of it does.
"""
LIMIT = re.compile(r"(?:.+_)?(lower|upper)(?:_loose)?")
WORDS = {pl.String: "text", pl.Boolean: "yes or no", pl.Float64: "number"}


class StoredFile(NamedTuple):
    """A file of a study, or several files of one kind."""

    name: str  # in data/columns.yaml
    paths: tuple[str, ...]  # below results, with wildcards in braces
    rules: tuple[str, ...]  # that make it; empty if every rule does
    modules: tuple[str, ...]  # of `userturn` that write it
    holds: str  # what the file, or one row of it, is
    columns: Mapping[str, str]  # or the keys of JSON, with their types in words


def type_in_words(kind: Any) -> str:
    """Return a column's type in words."""
    if isinstance(kind, pl.List):
        inner = kind.inner
        fields = [f.name for f in inner.fields] if isinstance(inner, pl.Struct) else []
        return f"list of {' and '.join(fields) or f'{type_in_words(inner)}s'}"
    return "integer" if kind.is_integer() else WORDS[kind]


def _schema(dotted_name: str) -> dict[str, str]:
    """Return the columns of a schema, with types in words, from `module.CONSTANT`."""
    module, _, constant = dotted_name.rpartition(".")
    schema = getattr(import_module(f"userturn.{module}"), constant)
    return {name: type_in_words(kind) for name, kind in schema.items()}


def stored_files() -> Iterator[StoredFile]:
    """Yield every file of a study except its tables and figures."""
    for name, entry in yaml.safe_load(FILES.read_text("utf-8")).items():
        columns = _schema(entry["schema"]) if "schema" in entry else {}
        yield StoredFile(
            name,
            tuple(entry["paths"]),
            tuple(entry.get("rules", ())),
            tuple(entry["modules"]),
            entry["holds"],
            columns or dict.fromkeys(entry.get("keys", ()), ""),
        )


def stored_tables() -> Iterator[StoredFile]:
    """Yield the file of every table."""
    for name, table in TABLES.items():
        path = f"tables/{name}.*" if len(table.formats) > 1 else f"tables/{name}{table.formats[0]}"
        module, holds = f"tables/{name}.py", f"One row is {table.row}."
        yield StoredFile(
            name, (path,), (table.rule,), (module,), holds, _schema(f"tables.{name}.SCHEMA")
        )


def stored_figures() -> Iterator[StoredFile]:
    """Yield the files of every figure."""
    for name, figure in FIGURES.items():
        sentence = f"Drawn from {', '.join(f'`tables/{table}.*`' for table in figure.tables)}."
        yield StoredFile(
            name, (f"figures/{name}.*",), (figure.rule,), (f"figures/{name}.py",), sentence, {}
        )


def meanings() -> dict[str, str]:
    """Return the meaning of each column, by its name or by `file.column`."""
    own = {
        f"{name}.{column}": text
        for name in TABLES
        for column, text in getattr(
            import_module(f"userturn.tables.{name}"), "MEANINGS", {}
        ).items()
    }
    shared: dict[str, str] = yaml.safe_load(COLUMNS.read_text("utf-8"))["columns"]
    return shared | own


def meaning(columns: Mapping[str, str], file: str, column: str) -> str:
    """Return the meaning of a column, or an empty text if there is none.

    A limit of a 95% interval, such as `floor_lower`, has a meaning by its name.
    """
    side = LIMIT.fullmatch(column)
    of_limit = f"{side[1]} limit of its 95% interval" if side else ""
    return columns.get(f"{file}.{column}", columns.get(column, of_limit))


def _section(file: StoredFile, columns: Mapping[str, str]) -> str:
    paths = ", ".join(f"`{path}`" for path in file.paths)
    rules = " and ".join(f"`{rule}`" for rule in file.rules) or "every rule"
    modules = ", ".join(f"`{module}`" for module in file.modules)
    text = f"\n### {paths}\n\n{file.holds} Made by {rules} in {modules}.\n"
    if not file.columns:
        return text
    head = ("column", "type", "meaning") if any(file.columns.values()) else ("key", "meaning")
    text += f"\n| {' | '.join(head)} |\n{'|---' * len(head)}|\n"
    for column, kind in file.columns.items():
        text_of_column = meaning(columns, file.name, column)
        text += f"| {' | '.join((f'`{column}`', *filter(None, (kind,)), text_of_column))} |\n"
    return text


def reference() -> str:
    """Return the page of the reference in Markdown."""
    columns = meanings()
    parts = {"Tables": stored_tables(), "Figures": stored_figures(), "Other files": stored_files()}
    page = HEAD
    for title, files in parts.items():
        page += f"\n## {title}\n"
        page += "".join(_section(file, columns) for file in files)
    return page


def main() -> None:
    """Rewrite the page, relative to the project's folder."""
    PAGE.write_text(reference(), encoding="utf-8")


if __name__ == "__main__":
    main()

"""All tables and figures, as their modules declare them.

A table `x` is made by `userturn/tables/x.py` and a figure `x` is drawn by `userturn/figures/x.py`.
This file is read whenever Snakemake starts.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

PACKAGE = Path(__file__).parents[1]
BARE = (".parquet", ".csv")


class Table(NamedTuple):
    """The declaration of a table, in tables/x.py as `TABLE`."""

    rule: str  # that makes it
    place: int  # among the tables: in the report, the smallest number is first
    row: str  # what one row is, in words
    made_of: tuple[str, ...]  # tables, and inputs of `workflow.tables.INPUTS` or of sources
    settings: tuple[str, ...] = ()  # names of `workflow.tables.SETTINGS` that change it besides
    formats: tuple[str, ...] = BARE  # the endings of its files in results/tables
    needs: str | None = None  # the input that a study must have for the table to apply
    version: int = 1  # raised when the same inputs give other rows than before
    says: str = ""  # what it shows, from the first line of its module


class Figure(NamedTuple):
    """The declaration of a figure, in figures/x.py as `FIGURE`."""

    rule: str  # that draws it
    place: int  # among the figures: in the report, the smallest number is first
    tables: tuple[str, ...]  # that it is drawn from, in the order of the function's parameters
    needs: str | None = None  # the input that a study must have for it to apply, beside its tables
    says: str = ""  # what it shows, from the first line of its module


Kind = TypeVar("Kind", Table, Figure)


def declared(folder: str, kind: type[Kind]) -> dict[str, Kind]:
    """Return the declarations in the modules of a package, by name, in the order of the report."""
    declarations = dict(_declarations(PACKAGE / folder, kind))
    return dict(sorted(declarations.items(), key=lambda item: item[1].place))


def _declarations(folder: Path, kind: type[Kind]) -> Iterator[tuple[str, Kind]]:
    name = kind.__name__
    call = re.compile(rf"^{name.upper()} = ({name}\(.*?\))$", re.MULTILINE | re.DOTALL)
    says = re.compile(rf'"""{name} `\w+`: (.*?)\.?(?:"""|\n)')
    for path in sorted(folder.glob("*.py")):
        text = path.read_text("utf-8")
        if declaration := call.search(text):
            described = says.match(text)
            assert described, f"{path.name} does not begin with what the {name.lower()} shows"
            node = ast.parse(declaration[1], str(path), "eval").body
            assert isinstance(node, ast.Call)
            literals = {str(k.arg): ast.literal_eval(k.value) for k in node.keywords}
            yield path.stem, kind(**literals, says=described[1])


TABLES = declared("tables", Table)
FIGURES = declared("figures", Figure)
TABLE_RULES = list(dict.fromkeys(table.rule for table in TABLES.values()))
FIGURE_RULES = list(dict.fromkeys(figure.rule for figure in FIGURES.values()))
COPIES = "copies"  # a table that every other with intervals over items is made of
BESIDE_FIGURES = ("families", "judges")  # tables that every figure is drawn with


def tables_of(rule: str) -> list[str]:
    """Return the tables that a rule makes."""
    return [name for name, table in TABLES.items() if table.rule == rule]


def figures_of(rule: str) -> list[str]:
    """Return the figures that a rule draws."""
    return [name for name, figure in FIGURES.items() if figure.rule == rule]


def report_labels(path: str) -> dict[str, Any]:
    """Return category and labels of a file in Snakemake's report, or none for other files.

    Snakemake's report has the SVG file of each figure and the CSV file of each table.
    """
    name, ending = Path(path).stem, Path(path).suffix
    words = name.replace("_", " ")
    if ending == ".svg" and name in FIGURES:
        return {"category": "Figures", "labels": {"figure": words, "shows": FIGURES[name].says}}
    if ending == ".csv" and name in TABLES:
        told = {"table": words, "shows": TABLES[name].says, "a row is": TABLES[name].row}
        return {"category": "Tables", "labels": told}
    return {}


def paths_of_figure(figure: str) -> list[str]:
    """Return the paths of a figure's files in rules: Vega-Lite, SVG and PNG."""
    return [f"results/figures/{figure}{ending}" for ending in (".vl.json", ".svg", ".png")]


def paths_of(table: str) -> list[str]:
    """Return the paths of a table's files in rules."""
    return [f"results/tables/{table}{ending}" for ending in TABLES[table].formats]


def input_names(rule: str) -> list[str]:
    """Return the names of the inputs of a rule's tables or figures, each once.

    Tables that the same rule makes are left out.
    """
    tables = tables_of(rule)
    names = [name for table in tables for name in TABLES[table].made_of]
    for figure in figures_of(rule):
        names += [*FIGURES[figure].tables, *BESIDE_FIGURES]
    return [name for name in dict.fromkeys(names) if name not in tables]


def input_of(name: str) -> str:
    """Return how the table of jobs names an input of tables or figures, as in `study.inputs.x`."""
    return f"study.{'tables.paths' if name in TABLES else 'inputs'}.{name}"

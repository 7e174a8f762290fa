"""Every table and figure of a study, as its module declares it.

A table `x` is made by `userturn/tables/x.py` and a figure `x` is drawn by `userturn/figures/x.py`.
This file is read whenever Snakemake starts.
"""

from userturn.workflow.declarations import Figure, Table, declared

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


def paths_of_figure(figure: str) -> list[str]:
    """Return the files of a figure, as rules name them: Vega-Lite, SVG and PNG."""
    return [f"results/figures/{figure}{ending}" for ending in (".vl.json", ".svg", ".png")]


def paths_of(table: str) -> list[str]:
    """Return the files of a table, as rules name them."""
    return [f"results/tables/{table}{ending}" for ending in TABLES[table].formats]


def made_of(rule: str) -> list[str]:
    """Return the names of what the tables or figures of a rule are made of, each once.

    Tables that the same rule makes are left out.
    """
    tables = tables_of(rule)
    names = [name for table in tables for name in TABLES[table].made_of]
    for figure in figures_of(rule):
        names += [*FIGURES[figure].tables, *BESIDE_FIGURES]
    return [name for name in dict.fromkeys(names) if name not in tables]

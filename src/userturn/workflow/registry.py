"""Every table and figure of a study: one line each, read by rules, report, audit and export.

A table `x` is made by `userturn/tables/x.py` and a figure `x` is drawn by `userturn/figures/x.py`;
their columns, print layout and report columns are in those files. This file is read whenever
Snakemake starts, so it imports nothing.
"""

from typing import NamedTuple

BARE, FULL = (".parquet", ".csv"), (".parquet", ".csv", ".md", ".tex")


class Table(NamedTuple):
    """A table.

    Attributes:
        rule: name of the rule that makes it.
        formats: the endings of its files in results/tables.
        needs: the attribute of `TableGrid` that must not be empty for the table to apply.
    """

    rule: str
    formats: tuple[str, ...] = BARE
    needs: str | None = None


class Figure(NamedTuple):
    """A figure: the rule that draws it, the tables that it is drawn from, and `Table.needs`."""

    rule: str
    tables: tuple[str, ...]
    needs: str | None = None


# In the order of the report.
TABLES = {
    "pooled_rates": Table("analyse", FULL),
    "accuracy": Table("tabulate"),
    "contrasts": Table("analyse", FULL),
    "interactions": Table("analyse", FULL),
    "temperature_response": Table("analyse", FULL),
    "decoupling": Table("analyse", FULL),
    "correlations": Table("analyse", FULL),
    "equivalence": Table("compare_with_margins", FULL),
    "variance_components": Table("analyse", FULL),
    "failure_profiles": Table("analyse", FULL),
    "post_training": Table("analyse", FULL),
    "judge_card": Table("measure_judges"),
    "likelihood": Table("tabulate_likelihood", needs="likelihood.scores"),
    "likelihood_contrasts": Table("tabulate_likelihood", needs="likelihood.scores"),
    "contingency": Table("tabulate_likelihood", needs="likelihood.scores"),
    "gain_auc": Table("tabulate_likelihood", needs="likelihood.scores"),
    "rates_by_turn": Table("tabulate_turns", needs="by_turn.cells"),
    "languages": Table("tabulate_languages", needs="languages.cells"),
    "language_contrasts": Table("tabulate_languages", needs="languages.cells"),
    "self_play": Table("tabulate_self_play", needs="self_play.depths"),
    "human_likeness": Table("tabulate_pairs", needs="pairs.rounds"),
    "answer_signals": Table("measure_signals", needs="candidates.turns"),
    "controls": Table("tabulate_controls"),
    "chance_floor": Table("measure_chance_floor"),
    "judges": Table("tabulate_costs"),
    "agreement": Table("compare_with_people"),
    "corrected_rates": Table("compare_with_people"),
    "anchors": Table("compare_with_paper", (".parquet", ".csv", ".md")),
    "rates": Table("tabulate"),
    "health": Table("tabulate"),
    "costs": Table("tabulate_costs", (".parquet",)),
    "families": Table("analyse"),
    "item_association": Table("analyse"),
    "confusion": Table("compare_with_people"),
    "disagreements": Table("compare_with_people"),
    "training_overlap": Table("measure_training_overlap", needs="training.models"),
}
FIGURES = {
    "accuracy_and_followup": Figure("draw_figures", ("rates", "accuracy")),
    "rates_by_temperature": Figure("draw_figures", ("rates", "chance_floor")),
    "perturbation_effects": Figure("draw_figures", ("contrasts",)),
    "failure_profiles": Figure("draw_figures", ("failure_profiles",)),
    "grid_overview": Figure("draw_figures", ("rates", "health")),
    "judge_card": Figure("draw_figures", ("judge_card",)),
    "rates_by_turn": Figure("draw_turns", ("rates_by_turn",), needs="by_turn.cells"),
    "rates_by_language": Figure("draw_languages", ("languages",), needs="languages.cells"),
    "self_play": Figure("draw_self_play", ("self_play",), needs="self_play.depths"),
    "human_likeness": Figure("draw_human_likeness", ("human_likeness",), needs="pairs.rounds"),
    "likelihood_and_followup": Figure(
        "draw_likelihood", ("rates", "pooled_rates", "likelihood"), needs="likelihood.scores"
    ),
    "answer_signals": Figure("draw_signals", ("answer_signals",), needs="candidates.turns"),
    "confusion": Figure("draw_confusion", ("confusion",)),
}


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

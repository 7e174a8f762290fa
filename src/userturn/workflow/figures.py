"""Inputs and params of rules/figures.smk: the tables that figures are drawn from."""

from operator import attrgetter

from userturn.workflow.registry import FIGURES, figures_of
from userturn.workflow.table_inputs import Inputs, files_of_tables
from userturn.workflow.tables import TableGrid


class FigureGrid:
    """The figures of a grid."""

    def __init__(self, tables: TableGrid) -> None:
        """Take the tables of a grid."""
        self.tables = tables

    def inputs_of(self, rule: str) -> Inputs:
        """Return the tables that the figures of a rule are drawn from."""
        drawn = {table for name in figures_of(rule) for table in FIGURES[name].tables}
        return files_of_tables(*sorted(drawn | {"families", "judge_card"}))

    def identity_of(self, rule: str) -> str:
        """Return the identity that the figures of a rule carry."""
        return self.tables.identity_of(rule)

    @property
    def names(self) -> list[str]:
        """The figures that apply to this study, in the order of the registry."""
        return [
            name
            for name, figure in FIGURES.items()
            if figure.needs is None or attrgetter(figure.needs)(self.tables)
        ]

    @property
    def rules(self) -> list[str]:
        """The rules that draw those figures."""
        return list(dict.fromkeys(FIGURES[name].rule for name in self.names))

    @property
    def files(self) -> list[str]:
        """Every figure, as a picture."""
        return [f"results/figures/{name}.svg" for name in self.names]

    @property
    def charts(self) -> list[str]:
        """Every figure, as Vega-Lite."""
        return [f"results/figures/{name}.vl.json" for name in self.names]

"""The figures that a study has, and their files."""

from operator import attrgetter
from pathlib import Path

from userturn.workflow.registry import FIGURES
from userturn.workflow.tables import TableGrid


class FigureGrid:
    """The figures of a grid."""

    def __init__(self, tables: TableGrid) -> None:
        """Take the tables of a grid."""
        self.tables = tables

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

    @property
    def captions(self) -> list[str]:
        """The captions of all tables and figures, in the project's folder."""
        return sorted(path.as_posix() for path in Path("data/captions").glob("*.rst"))

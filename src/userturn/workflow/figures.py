"""The figures that a study has, their files, and their identities."""

from functools import cached_property
from pathlib import Path
from types import SimpleNamespace

from userturn.storage.hashing import fingerprint
from userturn.workflow.registry import FIGURE_RULES, FIGURES, made_of
from userturn.workflow.table_inputs import SETTINGS
from userturn.workflow.tables import TableGrid

SHOWN = ("primary_judge", "thresholds")  # settings that change every figure


class FigureGrid:
    """The figures of a study."""

    def __init__(self, tables: TableGrid) -> None:
        """Take the tables of a study."""
        self.tables = tables

    @property
    def names(self) -> list[str]:
        """The figures whose tables all apply to this study, in the order of the report."""
        there = set(self.tables.names)
        return [
            name
            for name, figure in FIGURES.items()
            if there.issuperset(figure.tables) and self.tables.has(figure.needs)
        ]

    @property
    def rules(self) -> list[str]:
        """The rules that draw those figures."""
        return list(dict.fromkeys(FIGURES[name].rule for name in self.names))

    @cached_property
    def identities(self) -> SimpleNamespace:
        """By rule, the identity of its figures: it follows from those of their tables."""
        return SimpleNamespace(**{rule: self.identity_of(rule) for rule in FIGURE_RULES})

    def identity_of(self, rule: str) -> str:
        """Return the identity of the figures of a rule."""
        settings = [SETTINGS[name](self.tables.study) for name in SHOWN]
        tables = {name: self.tables.table_identity(name) for name in made_of(rule)}
        return fingerprint([settings, tables])

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
        """The captions of tables and figures, in the project's folder."""
        return sorted(path.as_posix() for path in Path("data/captions").glob("*.rst"))

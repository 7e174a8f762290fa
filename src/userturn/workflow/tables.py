"""The tables and figures of a study, their files, and their identities."""

from functools import cached_property
from types import SimpleNamespace
from typing import TYPE_CHECKING

from userturn.storage.hashing import fingerprint
from userturn.study.cells import files_of
from userturn.workflow.registry import SETTINGS, TABLE_RULES, TABLES, input_of, tables_of
from userturn.workflow.wildcards import said_of

if TYPE_CHECKING:
    from userturn.workflow.study import Study
from pathlib import Path

from userturn.workflow.registry import FIGURE_RULES, FIGURES, made_of

SHOWN = ("primary_judge", "thresholds")  # settings that change every figure


class TableGrid:
    """The tables of a study."""

    def __init__(self, study: "Study") -> None:
        """Take a study, whose other parts tables are made from."""
        self.study = study
        self.grid = study.grid
        self._known: dict[str, str] = {}  # identities of tables and of their inputs

    @cached_property
    def names(self) -> list[str]:
        """The tables that apply to this study, in the order of the report."""
        return [name for name, table in TABLES.items() if self.has(table.needs)]

    def has(self, needed: str | None) -> bool:
        """Return whether the study has an input that a table or figure needs, if it needs one."""
        return needed is None or bool(said_of(self.study, input_of(needed)))

    @property
    def files(self) -> list[str]:
        """The Parquet files of those tables."""
        return [f"results/tables/{name}.parquet" for name in self.names]

    @property
    def rules(self) -> list[str]:
        """The rules that make those tables."""
        return list(dict.fromkeys(TABLES[name].rule for name in self.names))

    @cached_property
    def paths(self) -> SimpleNamespace:
        """By name, the Parquet file of each table, as a list; nothing if it does not apply."""
        there = dict(zip(self.names, self.files, strict=True))
        return SimpleNamespace(**{name: [there[name]] if name in there else [] for name in TABLES})

    @cached_property
    def identities(self) -> SimpleNamespace:
        """By rule, the identity of its tables."""
        return SimpleNamespace(**{rule: self.identity_of(rule) for rule in TABLE_RULES})

    def identity_of(self, rule: str) -> str:
        """Return the identity of the tables of a rule, which is written in each of them."""
        return fingerprint({name: self.table_identity(name) for name in tables_of(rule)})

    def table_identity(self, name: str) -> str:
        """Return the identity of a table.

        It follows from its version, settings, and the identities of what it is made of.
        """
        if name not in self._known:
            table = TABLES[name]
            self._known[name] = fingerprint(
                {
                    "version": table.version,
                    "settings": {used: SETTINGS[used](self.study) for used in table.settings},
                    "made_of": {used: self._identity_of_input(used) for used in table.made_of},
                }
            )
        return self._known[name]

    def _identity_of_input(self, name: str) -> str | None:
        """Return the identity of an input: a table, or files; None for a table that has none."""
        if name in TABLES:
            return self.table_identity(name) if name in self.names else None
        key = f"of {name}"
        if key not in self._known:
            said = said_of(self.study, input_of(name))
            paths = [said] if isinstance(said, str) else said
            known = self.study.identities
            self._known[key] = fingerprint({path: known.get(path) for path in paths})
        return self._known[key]

    @property
    def _verdict_files(self) -> list[str]:
        return [f"verdicts/{judge}.parquet" for judge in self.grid.judges]

    @property
    def verdicts(self) -> list[str]:
        """The verdicts of every judge on all cells."""
        return files_of(self.grid.cells, *self._verdict_files)

    @property
    def conversation_verdicts(self) -> list[str]:
        """The verdicts of every judge on cells whose dataset's entry has `turns`."""
        grid = self.grid
        cells = [cell for cell in grid.cells if "turns" in grid.datasets[cell.dataset]]
        return files_of(cells, *self._verdict_files)

    @property
    def user_turns(self) -> list[str]:
        """The user turns of all cells."""
        return files_of(self.grid.cells, "user_turns.parquet")

    @property
    def answers(self) -> list[str]:
        """The answers of all models to all datasets."""
        grid = self.grid
        return [f"results/answers/{m}/{d}.parquet" for m in grid.models for d in grid.datasets]

    @property
    def grades(self) -> list[str]:
        """The grades of all models and datasets."""
        grid = self.grid
        return [f"results/grades/{m}/{d}.parquet" for m in grid.models for d in grid.datasets]


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

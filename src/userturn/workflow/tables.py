"""The tables and figures of a study: their inputs, files and identities."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from userturn.config.families import baselines, families, trainings
from userturn.prompts.perturbations import controls_of
from userturn.sources.registry import artifacts
from userturn.storage.hashing import fingerprint
from userturn.study.cells import Cell, dataset_files, files_of, verdicts_of
from userturn.study.grid import Grid
from userturn.workflow.registry import (
    FIGURE_RULES,
    FIGURES,
    TABLE_RULES,
    TABLES,
    input_names,
    tables_of,
)

if TYPE_CHECKING:
    from userturn.workflow.study import Study

SHOWN = ("primary_judge", "thresholds")  # settings that change every figure


def _paths_of_pairs(grid: Grid, folder: str) -> list[str]:
    """Return the path of the file of each model and dataset in a folder of the results."""
    return [f"results/{folder}/{m}/{d}.parquet" for m in grid.models for d in grid.datasets]


def _conversations(grid: Grid) -> list[Cell]:
    """Return the cells whose dataset's entry has `turns`."""
    return [cell for cell in grid.cells if "turns" in grid.datasets[cell.dataset]]


# The paths of inputs of tables by name, besides those of tables and of sources.
INPUTS: dict[str, Callable[["Study"], list[str] | str]] = {
    "verdicts": lambda study: verdicts_of(study.grid.cells, study.grid.judges),
    "user_turns": lambda study: files_of(study.grid.cells, "user_turns.parquet"),
    "answers": lambda study: _paths_of_pairs(study.grid, "answers"),
    "grades": lambda study: _paths_of_pairs(study.grid, "grades"),
    "prepared_items": lambda study: study.data.prepared,
    "rubric": lambda study: study.grid.contents.rubric_path,
    "made_by_sources": lambda study: [*artifacts(study.grid)],
    "annotations": lambda study: study.humans.annotations,
    "round_keys": lambda study: study.humans.keys,
    "pair_labels": lambda study: study.pairs.annotations,
    "pair_keys": lambda study: study.pairs.keys,
    "paired_turns": lambda study: files_of(study.pairs.cells, "user_turns.parquet"),
    "paired_items": lambda study: study.pairs.datasets,
    "described_models": lambda study: study.pairs.descriptions,
    "conversation_verdicts": lambda s: verdicts_of(_conversations(s.grid), s.grid.judges),
    "turn_languages": lambda study: study.languages.files,
    "turn_similarities": lambda study: study.similarities.files,
    "training_data": lambda study: study.training.data,
    "training_curves": lambda study: study.training.curves,
    "evaluated_items": lambda study: dataset_files(study.grid.datasets),
}
SETTINGS: dict[str, Callable[["Study"], Any]] = {
    "families": lambda study: families(study.grid.models),
    "bases": lambda study: baselines(study.grid.models, study.grid.entries),
    "trainings": lambda study: sorted(trainings(study.grid.models, study.grid.entries).items()),
    "exposure": lambda study: study.training.declared,
    "controls": lambda study: controls_of(study.grid.perturbations),
    "primary_judge": lambda study: study.grid.primary_judge,
    "heuristic": lambda study: study.grid.all_judges.get("heuristic"),
    "prices": lambda study: study.grid.prices,
    "seed": lambda study: study.grid.config["seed"],
    "resamples": lambda study: study.grid.config["statistics"]["resamples"],
    # The record of an older study lacks these.
    "margins": lambda study: study.grid.config["statistics"].get("margins"),
    "thresholds": lambda study: study.grid.config.get("judge_card"),
    "predictions": lambda study: study.grid.config.get("predictions"),
}


@dataclass(eq=False)
class TableGrid:
    """The tables of a study."""

    study: "Study"
    _identities: dict[str, str] = field(default_factory=dict)  # of tables and their inputs

    def has(self, needed: str | None) -> bool:
        """Return whether the study has the input that a table or figure needs, if any."""
        return needed is None or bool(getattr(self.study.inputs, needed))

    @cached_property
    def names(self) -> list[str]:
        """The names of the tables that apply to this study, in the order of the report."""
        return [name for name, table in TABLES.items() if self.has(table.needs)]

    @property
    def files(self) -> list[str]:
        """The paths of those tables' Parquet files."""
        return [f"results/tables/{name}.parquet" for name in self.names]

    @property
    def rules(self) -> list[str]:
        """The rules that make those tables."""
        return list(dict.fromkeys(TABLES[name].rule for name in self.names))

    @cached_property
    def paths(self) -> SimpleNamespace:
        """A list with the Parquet path of each table, empty if it does not apply, by name."""
        there = dict(zip(self.names, self.files, strict=True))
        return SimpleNamespace(**{name: [there[name]] if name in there else [] for name in TABLES})

    @cached_property
    def identities(self) -> SimpleNamespace:
        """The identity of each rule's tables, by rule."""
        return SimpleNamespace(**{rule: self.identity_of(rule) for rule in TABLE_RULES})

    def identity_of(self, rule: str) -> str:
        """Return the identity of the tables of a rule, which is written in each of them."""
        return fingerprint({name: self.table_identity(name) for name in tables_of(rule)})

    def table_identity(self, name: str) -> str:
        """Return the identity of a table.

        It follows from the table's version, its settings, and the identities of its inputs.
        """
        if name not in self._identities:
            table = TABLES[name]
            self._identities[name] = fingerprint(
                {
                    "version": table.version,
                    "settings": {used: SETTINGS[used](self.study) for used in table.settings},
                    "made_of": {used: self._identity_of_input(used) for used in table.made_of},
                }
            )
        return self._identities[name]

    def _identity_of_input(self, name: str) -> str | None:
        """Return the identity of an input (a table or files), or None for a table without one."""
        if name in TABLES:
            return self.table_identity(name) if name in self.names else None
        key = f"of {name}"
        if key not in self._identities:
            value = getattr(self.study.inputs, name)
            paths = [value] if isinstance(value, str) else value
            identities = self.study.identities
            self._identities[key] = fingerprint({path: identities.get(path) for path in paths})
        return self._identities[key]


@dataclass(eq=False)
class FigureGrid:
    """The figures of a study."""

    tables: TableGrid

    @property
    def names(self) -> list[str]:
        """The names of figures whose tables all apply to this study, in the order of the report."""
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
        """The identity of each rule's figures, which follows from their tables', by rule."""
        return SimpleNamespace(**{rule: self.identity_of(rule) for rule in FIGURE_RULES})

    def identity_of(self, rule: str) -> str:
        """Return the identity of the figures of a rule."""
        settings = [SETTINGS[name](self.tables.study) for name in SHOWN]
        tables = {name: self.tables.table_identity(name) for name in input_names(rule)}
        return fingerprint([settings, tables])

    @property
    def files(self) -> list[str]:
        """The paths of all figures' SVG files."""
        return [f"results/figures/{name}.svg" for name in self.names]

    @property
    def charts(self) -> list[str]:
        """The paths of all figures' Vega-Lite files."""
        return [f"results/figures/{name}.vl.json" for name in self.names]

    @property
    def captions(self) -> list[str]:
        """The paths of captions of tables and figures, in the project's folder."""
        return sorted(path.as_posix() for path in Path("data/captions").glob("*.rst"))

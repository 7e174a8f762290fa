"""A table is made of what it declares: its inputs by name, and other tables."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.whole_study import inputs_in, made_of_cells, whole_grid, write_whole_study
from userturn.sources.registry import source_inputs
from userturn.tables.make_tables import Material
from userturn.workflow.registry import (
    FIGURES,
    TABLES,
    Figure,
    declared,
    paths_of,
    paths_of_figure,
    report_labels,
)
from userturn.workflow.tables import INPUTS, SETTINGS

KNOWN = INPUTS.keys() | source_inputs().keys()

WHOLE = made_of_cells(TABLES)


def test_a_declaration_on_one_line_is_found_as_well(tmp_path: Path) -> None:
    one = (
        '"""Figure `turns`: all turns."""\n'
        'FIGURE = Figure(rule="draw_figures", place=1, tables=("health",))\nTITLE = "Turns (all)"\n'
    )
    (tmp_path / "turns.py").write_text(one)
    assert declared(str(tmp_path), Figure) == {
        "turns": Figure("draw_figures", 1, ("health",), says="all turns")
    }


def test_snakemakes_report_has_one_file_of_each_figure_and_table_with_labels_in_words() -> None:
    of_figures = [path for name in FIGURES for path in paths_of_figure(name)]
    of_tables = [path for name in TABLES for path in paths_of(name)]
    for paths, n, category in (
        (of_figures, len(FIGURES), "Figures"),
        (of_tables, len(TABLES), "Tables"),
    ):
        said = [found for path in paths if (found := report_labels(path))]
        assert len(said) == n and {one["category"] for one in said} == {category}
        assert all(text and "_" not in text for one in said for text in one["labels"].values())
    assert report_labels("results/report/index.html") == {}


@pytest.mark.parametrize("name", TABLES)
def test_a_table_names_inputs_settings_and_tables_that_there_are(name: str) -> None:
    table = TABLES[name]
    assert set(table.made_of) <= KNOWN | TABLES.keys() - {name}
    assert set(table.settings) <= SETTINGS.keys()
    assert table.needs is None or table.needs in table.made_of
    assert table.row and not table.row.endswith(".")


@pytest.mark.parametrize("kind", [TABLES, FIGURES])
def test_no_two_have_one_place(kind: dict[str, object]) -> None:
    places = [one.place for one in kind.values()]  # type: ignore[attr-defined]
    assert places == sorted(set(places)) and len(places) > 10


def test_every_input_and_setting_is_one_of_some_table() -> None:
    used = {name for table in TABLES.values() for name in table.made_of}
    assert KNOWN - used == set()
    settings = {name for table in TABLES.values() for name in table.settings}
    assert SETTINGS.keys() - settings == set()


def names_of(name: str) -> Iterator[str]:
    """Yield what a table is made of, and what tables of the same rule are that it is made from."""
    for used in TABLES[name].made_of:
        if used in TABLES and TABLES[used].rule == TABLES[name].rule:
            yield from names_of(used)
        else:
            yield used


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("study")
    write_whole_study(folder)
    return folder


@pytest.fixture(scope="module")
def whole(study: Path) -> Material:
    """What all tables are made from, all in one."""
    return Material(whole_grid(study), inputs_in(study))


@pytest.mark.slow
@pytest.mark.parametrize("name", WHOLE)
def test_a_table_needs_nothing_that_it_does_not_declare(
    name: str, study: Path, whole: Material, tmp_path: Path
) -> None:
    paths, known = {}, inputs_in(study)
    for used in names_of(name):
        if used in TABLES:
            paths[used] = [str(tmp_path / f"{used}.parquet")] if used in WHOLE else []
            if used in WHOLE:
                whole.table(used).write_parquet(paths[used][0])
        else:
            paths[used] = known.get(used, [])  # costs are counted after replies and read none
    assert Material(whole_grid(study), paths).table(name).equals(whole.table(name))

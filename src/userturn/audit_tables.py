"""Do the tables say what the cells say, and do their copies in other formats say the same?"""

from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl

from userturn.analysing import analysed
from userturn.artifacts import ANALYSED
from userturn.audit_files import Files
from userturn.audit_rows import FAULTS, difference
from userturn.controls import CONTROLS_SCHEMA, measure_judges
from userturn.counting import count_items
from userturn.findings import Finding, remake
from userturn.study import Study
from userturn.tabulating import accuracy, health, rates_of

Tables = dict[str, pl.DataFrame]


def check_tables(files: Files, study: Study, broken: frozenset[str]) -> list[Finding]:
    """Return the tables that do not follow from cells, grades and controls.

    Args:
        files: of a results folder.
        study: as its record has it.
        broken: artifacts that are missing or altered, and found so.
    """
    makers: list[tuple[Callable[[Files, Study], Tables], list[str]]] = [
        (_counted, study.summaries + study.grades),
        (_analysed, study.all_verdicts + study.grades),
        (_controls, study.controls.verdicts),
    ]
    found = [_copies(files, broken)]
    found += [_held(files, study, make, broken) for make, of in makers if broken.isdisjoint(of)]
    return [finding for findings in found for finding in findings]


def _held(
    files: Files, study: Study, make: Callable[[Files, Study], Tables], broken: frozenset[str]
) -> Iterator[Finding]:
    """Hold tables against what they should be."""
    try:
        made = make(files, study)
    except FAULTS:
        return  # found with the rows
    for name, table in made.items():
        path = f"results/tables/{name}.parquet"
        if path in broken:
            continue
        there = pl.read_parquet(files.at(path))
        keys = [column for column in table.columns if table.schema[column] == pl.String][:6]
        wrong = difference(table, there, keys or table.columns[:1])
        if wrong is not None:
            yield Finding("tables", path, *wrong, remake(path))


def _all(files: Files, paths: list[str]) -> pl.DataFrame:
    return pl.concat([pl.read_parquet(files.at(path)) for path in sorted(paths)])


def _counted(files: Files, study: Study) -> Tables:
    rates = rates_of(pl.read_parquet(files.at(path)) for path in sorted(study.summaries))
    grades = _all(files, study.grades)
    return {"rates": rates, "accuracy": accuracy(grades), "health": health(rates)}


def _analysed(files: Files, study: Study) -> Tables:
    items = count_items([str(files.at(path)) for path in study.all_verdicts])
    n_resamples = study.grid.config["statistics"]["resamples"]
    made = analysed(items, _all(files, study.grades), study.grid, n_resamples)
    return {name: made[name] for name in ANALYSED}


def _controls(files: Files, study: Study) -> Tables:
    paths = study.controls.verdicts
    empty = pl.DataFrame(schema=CONTROLS_SCHEMA)
    return {"controls": measure_judges(_all(files, paths)) if paths else empty}


def _copies(files: Files, broken: frozenset[str]) -> Iterator[Finding]:
    """Hold each CSV against the Parquet file beside it."""
    paths = [p for p in files.present if p.startswith("results/tables/") and p.endswith(".csv")]
    for path in paths:
        parquet = path.removesuffix("csv") + "parquet"
        if not broken.isdisjoint((path, parquet)) or not files.at(parquet).is_file():
            continue
        if pl.read_parquet(files.at(parquet)).write_csv().encode() != files.at(path).read_bytes():
            beside = f"the rows of {Path(path).stem}.parquet"
            yield Finding("tables", path, beside, "others", remake(path))

"""`userturn rates`: what a finished study may say, and its rates; more of it with `--all`."""

import argparse
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

import polars as pl

from userturn.cli.arguments import take_results
from userturn.cli.rates_output import (
    BY_PEOPLE,
    accuracy_sheet,
    cards_sheet,
    controls_sheet,
    correlations_sheet,
    costs_sheet,
    failures_sheet,
    likelihood_sheet,
    more_of_rates_sheet,
    predictions_sheet,
    rates_sheet,
    usual,
)
from userturn.cli.terminal import BAD, GOOD, Output, Part, Sheet, prose, share
from userturn.config.entries import currency
from userturn.errors import UserError, near_miss, near_path
from userturn.study.cells import ALL, PLAIN
from userturn.study.record import RECORD, read_study_record
from userturn.tables.added_columns import read_joined
from userturn.tables.judge_validity import card_of, shown_judges, warned
from userturn.tables.rates import cell_rates, model_rates
from userturn.tables.turn_rates import AVERAGES
from userturn.wording import number_of

HELP = "print the rates of a finished study"
EXAMPLES = ("rates", "rates results --all", "rates results --model my-model --json")
SHOWN = (*("accuracy", "anchors", "costs", "decoupling", "judges"), *("likelihood", "rates"))
MOST_RATES, MOST_BESIDE = 11, 3  # rows of a table on the first screen
KEY = "floor (drawn as |): the same turns after another item's answer; above it: in points"
Sheets = Mapping[str, Callable[[pl.DataFrame], Sheet]]
MORE: Sheets = {
    "accuracy": accuracy_sheet,
    "likelihood": likelihood_sheet,
    "judges": cards_sheet,
    "costs": costs_sheet,
    "decoupling": correlations_sheet,
    "anchors": predictions_sheet,
}


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    take_results(command)
    command.add_argument("--model", help="show this model alone")
    command.add_argument("--dataset", help="show this dataset alone")
    command.add_argument(
        "--all", action="store_true", help="also show judges, costs and all columns"
    )
    command.add_argument("--cells", action="store_true", help="also show every cell and control")


def run(arguments: argparse.Namespace) -> Output:
    """Run the command."""
    chosen = {name: getattr(arguments, name) for name in ("model", "dataset")}
    return show_rates(arguments.results, chosen, arguments.all, arguments.cells)


def show_rates(
    results: Path,
    chosen: Mapping[str, str | None] | None = None,
    with_all: bool = False,
    with_cells: bool = False,
) -> Output:
    """Return the findings and pooled rates of a results folder, and where to see more.

    With a chosen `model` or `dataset`, only their lines are shown, with the dataset's unperturbed
    cells. With cells, the rates of all cells and the controls are added; with all, every finding
    and table.

    Raises:
        UserError: the study is not finished, has tables of an earlier version, or has no such model
            or dataset.
    """
    tables = _read_tables(results / "tables", chosen or {})
    is_short = not (with_all or with_cells)
    models, cells = model_rates(tables["rates"]), cell_rates(tables["rates"])
    if (chosen or {}).get("dataset") and not with_cells:  # pooled rates are over all datasets
        cells = cells.filter(pl.col("perturbation") == PLAIN)
    elif not with_cells:
        cells = cells.clear()
    sentences = findings(models, results)
    warning = warned(results)
    few = sentences[:MOST_BESIDE] if is_short else sentences
    parts: list[Part] = [prose(line, GOOD) for line in few]
    if n_more := len(sentences) - len(few):
        parts.append(prose(f"and {number_of(n_more, 'finding')} more: --all", GOOD))
    parts += [prose(warning, BAD)] if warning else []
    parts += _pooled(models, is_short)
    if cells.height:
        parts.append(rates_sheet(cells, "genuine follow-ups of each cell"))
        parts += [] if is_short else [more_of_rates_sheet(cells, "more of the same cells")]
    if not is_short and models.height:
        of_labels = pl.col("scope") == "model", pl.col("average") == AVERAGES[0]
        parts.append(failures_sheet(tables["rates"].filter(*of_labels)))
    names = ("accuracy", "likelihood") if is_short else tuple(MORE)
    is_recorded = (results / RECORD).is_file()
    unit = currency(read_study_record(results).config) if is_recorded else None
    functions: Sheets = {**MORE, "costs": partial(costs_sheet, unit=unit)}
    sheets = [functions[name](tables[name]) for name in names if tables[name].height]
    if with_cells and tables["judges"].height:
        sheets.append(controls_sheet(tables["judges"]))
    parts += [shortened(one, MOST_BESIDE) if is_short else one for one in sheets if one.rows]
    shown = {name: tables[name] for name in SHOWN if name != "rates"}
    numbers = {"findings": sentences, "warning": warning, "rates": models, "cells": cells, **shown}
    return Output([*parts, *_elsewhere(results, is_short, with_cells)], numbers)


def findings(models: pl.DataFrame, results: Path) -> list[str]:
    """Return a sentence per rate that may be called a finding by docs/judges.md."""
    is_recorded = (results / RECORD).is_file()
    grid = read_study_record(results).grid(results) if is_recorded else None
    shown = shown_judges(card_of(results), grid) if grid else []
    lines = []
    for row in (usual(models) if models.height else models).iter_rows(named=True):
        of = f"{row['model']} at temperature {row['temperature']:g}"
        if row["corrected"] is not None:
            limits = share(*(row[f"corrected{end}"] for end in ("", "_lower", "_upper")))
            by = f"{BY_PEOPLE}, of {row['n_labelled']} turns"
        elif row["judge"] in shown and row["estimate"] is not None:
            limits = share(row["estimate"], row["lower"], row["upper"])
            by = f"{row['judge']}, which is validated"
        else:
            continue
        lines.append(f"A finding: {limits} of the turns of {of} are genuine follow-ups, by {by}.")
    return lines


def _pooled(models: pl.DataFrame, is_short: bool) -> Iterator[Part]:
    """Yield each model's rate over all datasets, unperturbed, beside its floor."""
    if models.is_empty():
        return
    rates = usual(models)
    kind = rates["perturbation"][0]
    title = "genuine follow-ups among the turns that each model writes" + (
        "" if kind == PLAIN else f" under {kind}"
    )
    shown = narrowed(rates, MOST_RATES) if is_short else rates
    yield rates_sheet(shown, title)
    if n_more := rates.height - shown.height:
        yield prose(f"and {number_of(n_more, 'rate')} more: --all")
    if rates["floor"].count():
        yield prose(KEY)
    cut = rates.filter(pl.col("n_answers_cut") > 0).unique("model", maintain_order=True)
    told = [f"{r['model']} {r['n_answers_cut']} of {r['n_answers']}" for r in cut.to_dicts()]
    if not is_short:
        yield more_of_rates_sheet(rates, "more of the same rates")
    elif told:
        more = ", ..." if len(told) > MOST_BESIDE else ""
        yield prose(f"answers cut at the token limit: {', '.join(told[:MOST_BESIDE])}{more}")


def narrowed(rates: pl.DataFrame, most: int) -> pl.DataFrame:
    """Return at most `most` rates, if need be of one judge, one temperature, and the first ones."""
    for name in ("judge", "temperature"):
        if rates.height > most:
            rates = rates.filter(pl.col(name) == rates[name][0])
    return rates.head(most)


def shortened(sheet: Sheet, most: int) -> Sheet:
    """Return a sheet with its first `most` rows, and the number of the others in its title."""
    n_more = len(sheet.rows) - most
    if n_more <= 0:
        return sheet
    title = f"{sheet.title} ({n_more} more: --all)"
    return sheet._replace(rows=sheet.rows[:most], title=title)


def _elsewhere(results: Path, is_short: bool, with_cells: bool) -> Iterator[Part]:
    report = results / "report" / "index.html"
    command = "userturn rates" if results == Path("results") else f"userturn rates {results}"
    more = f"judges, failures, costs, predictions: `{command} --all`; " if is_short else ""
    if not with_cells:
        yield prose(f"{more}every cell and control: `{command} --cells`")
    yield f"tables: {results / 'tables'}/   figures: {results / 'figures'}/"
    yield f"report: {report if report.is_file() else 'not built yet, run `snakemake`'}"


def _read_tables(folder: Path, chosen: Mapping[str, str | None]) -> dict[str, pl.DataFrame]:
    """Return the chosen rows of each shown table, or no rows for a table that a study lacks."""
    if not (folder / "rates.parquet").is_file():
        raise UserError(
            f"'{folder}/rates.parquet' does not exist; expected the results folder of a finished "
            f"study: run `snakemake` first{near_path(folder.parent)}"
        )
    paths = {name: folder / f"{name}.parquet" for name in SHOWN}
    tables = {
        name: read_joined(path) if path.is_file() else pl.DataFrame()
        for name, path in paths.items()
    }
    judges = tables["judges"]
    of_before = judges.columns and "source" not in judges.columns
    if of_before or not {"scope", "floor", "corrected"} <= set(tables["rates"].columns):
        raise UserError(
            f"the tables in '{folder}' were made by an earlier version; expected those of this "
            "one: run `snakemake`, which makes them again without asking a model"
        )
    for name, value in chosen.items():
        names = cell_rates(tables["rates"])[name].unique().sort().to_list()
        if value is not None and value not in names:
            raise UserError(f"--{name}: the study has no {name} '{value}'{near_miss(value, names)}")
    return {name: only(table, chosen) for name, table in tables.items()}


def only(table: pl.DataFrame, chosen: Mapping[str, str | None]) -> pl.DataFrame:
    """Return the rows of the chosen model and dataset, and rows over all of them."""
    for name, value in chosen.items():
        if value is not None and name in table.columns:
            column = pl.col(name).cast(pl.String)
            table = table.filter(column.is_in([value, ALL]) | column.is_null())
    return table

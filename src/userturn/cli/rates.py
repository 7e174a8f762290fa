"""`userturn rates`: print what a finished study found; the rates of all cells with `--cells`."""

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from shutil import get_terminal_size
from textwrap import TextWrapper

import polars as pl

from userturn.cli.arguments import take_results
from userturn.cli.format_rates import (
    format_accuracy,
    format_cards,
    format_cells,
    format_controls,
    format_correlations,
    format_costs,
    format_failures,
    format_likelihood,
    format_pooled,
    format_predictions,
)
from userturn.errors import UserError
from userturn.judges.verdict import GENUINE
from userturn.study.cells import ALL, PLAIN
from userturn.tables.added_columns import read_joined
from userturn.tables.judge_validity import warned
from userturn.tables.rates import of_cells, of_models
from userturn.tables.turn_rates import AVERAGES

HELP = "print the rates of a finished study"
SHOWN = (
    *("accuracy", "anchors", "costs", "decoupling", "judges"),
    *("likelihood", "rates"),
)


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    take_results(command)
    command.add_argument("--model", help="only this model's lines")
    command.add_argument("--dataset", help="only this dataset's lines")
    command.add_argument("--cells", action="store_true", help="also every cell and every control")


def run(arguments: argparse.Namespace) -> str:
    """Run the command."""
    chosen = {name: getattr(arguments, name) for name in ("model", "dataset")}
    text = show_rates(arguments.results, chosen, arguments.cells)
    return fitted(text, get_terminal_size(fallback=(0, 0)).columns)


def fitted(text: str, width: int) -> str:
    """Return a text whose lines have at most so many columns; 0, as for a pipe, for any number."""
    if width <= 0:
        return text
    form = TextWrapper(
        width, subsequent_indent="      ", break_long_words=False, break_on_hyphens=False
    )
    return "\n".join("\n".join(form.wrap(line)) for line in text.splitlines())


def show_rates(
    results: Path, chosen: Mapping[str, str | None] | None = None, with_cells: bool = False
) -> str:
    """Return what a results folder holds as text: pooled rates first, and where the report is.

    Args:
        results: folder.
        chosen: `model` and `dataset` whose lines are shown; None for all. Of a chosen dataset the
            unperturbed cells are shown, too.
        with_cells: whether the rates of all cells and the controls are shown.

    Raises:
        UserError: the study is not finished, or has no such model or dataset.
    """
    tables = _read_tables(results / "tables", chosen or {})

    def shown(name: str, form: Callable[[pl.DataFrame], str | None]) -> str | None:
        return form(tables[name]) if tables[name].height else None

    of_dataset = (chosen or {}).get("dataset")  # pooled rates are over all datasets
    models, cells = of_models(tables["rates"]), of_cells(tables["rates"])
    failures = failures_of_models(tables["rates"])
    cells_shown = cells if with_cells else plain(cells) if of_dataset else None
    parts = [
        warned(results),
        format_pooled(models) if models.height else None,
        format_failures(failures) if failures.height else None,
        None if cells_shown is None else format_cells(cells_shown),
        shown("accuracy", format_accuracy),
        shown("likelihood", format_likelihood),
        shown("judges", format_controls) if with_cells else None,
        shown("judges", format_cards),
        shown("costs", format_costs),
        shown("decoupling", format_correlations),
        shown("anchors", format_predictions),
        None if with_cells else "every cell and control: `userturn rates --cells`",
        f"tables: {results / 'tables'}/   figures: {results / 'figures'}/",
        _place_of_report(results / "report" / "index.html"),
    ]
    return "\n".join(part for part in parts if part)


def failures_of_models(rates: pl.DataFrame) -> pl.DataFrame:
    """Return the shares of every label but the genuine of models over all turns."""
    of_model = pl.col("scope") == "model", pl.col("average") == AVERAGES[0]
    return rates.filter(*of_model, pl.col("label") != GENUINE)


def plain(rates: pl.DataFrame) -> pl.DataFrame:
    """Return the unperturbed cells."""
    return rates.filter(pl.col("perturbation") == PLAIN)


def _place_of_report(path: Path) -> str:
    return f"report: {path}" if path.is_file() else "report: not built yet, run `snakemake`"


def _read_tables(folder: Path, chosen: Mapping[str, str | None]) -> dict[str, pl.DataFrame]:
    """Return the chosen rows of each table that is shown; no rows where a study has no table."""
    if not (folder / "rates.parquet").is_file():
        raise UserError(
            f"'{folder}/rates.parquet' does not exist; expected the results folder of a finished "
            "study: run `snakemake` first"
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
            f"the tables in '{folder}' are of an earlier version; expected those of this one: run "
            "`snakemake`, which makes them anew without a request"
        )
    _check_chosen(tables["rates"], chosen)
    return {name: only(table, chosen) for name, table in tables.items()}


def _check_chosen(rates: pl.DataFrame, chosen: Mapping[str, str | None]) -> None:
    for name, value in chosen.items():
        known = of_cells(rates)[name].unique().sort().to_list()
        if value is not None and value not in known:
            raise UserError(
                f"--{name}: the study has no {name} '{value}'; expected one of {', '.join(known)}"
            )


def only(table: pl.DataFrame, chosen: Mapping[str, str | None]) -> pl.DataFrame:
    """Return the rows of the chosen model and dataset, and rows over all of them."""
    for name, value in chosen.items():
        if value is not None and name in table.columns:
            kept = pl.col(name).cast(pl.String)
            table = table.filter(kept.is_in([value, ALL]) | kept.is_null())
    return table

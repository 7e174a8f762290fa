"""`userturn rates`: print what a finished study found; the rates of all cells with `--cells`."""

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from shutil import get_terminal_size
from textwrap import TextWrapper
from typing import Any

import polars as pl

from userturn.cli.arguments import take_results
from userturn.errors import UserError
from userturn.judges.verdict import GENUINE
from userturn.study.cells import ALL, PLAIN
from userturn.tables.added_columns import read_joined
from userturn.tables.anchors import NOT_COMPARABLE, outcome_in_words
from userturn.tables.beside_accuracy import LIMITS
from userturn.tables.decoupling import OVER_MODELS
from userturn.tables.judge_card import OVER_KINDS
from userturn.tables.judge_validity import warned
from userturn.tables.judges import cards, kinds_of_controls
from userturn.tables.likelihood import REFERENCE
from userturn.tables.likelihood_measures import CHARACTER
from userturn.tables.rates import of_cells, of_models
from userturn.tables.turn_rates import AVERAGES

HELP = "print the rates of a finished study"
SHOWN = (*("accuracy", "anchors", "costs", "decoupling", "judges"), *("likelihood", "rates"))


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

    Of a chosen `model` and `dataset` only their lines are shown, and the dataset's unperturbed
    cells; with cells also the rates of all cells, and the controls.

    Raises:
        UserError: the study is not finished, or has no such model or dataset.
    """
    tables = _read_tables(results / "tables", chosen or {})

    def shown(name: str, form: Callable[[pl.DataFrame], str | None]) -> str | None:
        return form(tables[name]) if tables[name].height else None

    of_dataset = (chosen or {}).get("dataset")  # pooled rates are over all datasets
    models, cells = of_models(tables["rates"]), of_cells(tables["rates"])
    of_model = pl.col("scope") == "model", pl.col("average") == AVERAGES[0]
    failures = tables["rates"].filter(*of_model, pl.col("label") != GENUINE)
    report = results / "report" / "index.html"
    cells_shown = cells if with_cells else None
    if of_dataset and not with_cells:
        cells_shown = cells.filter(pl.col("perturbation") == PLAIN)
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
        f"report: {report if report.is_file() else 'not built yet, run `snakemake`'}",
    ]
    return "\n".join(part for part in parts if part)


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
    for name, value in chosen.items():
        known = of_cells(tables["rates"])[name].unique().sort().to_list()
        if value is not None and value not in known:
            raise UserError(
                f"--{name}: the study has no {name} '{value}'; expected one of {', '.join(known)}"
            )
    return {name: only(table, chosen) for name, table in tables.items()}


def only(table: pl.DataFrame, chosen: Mapping[str, str | None]) -> pl.DataFrame:
    """Return the rows of the chosen model and dataset, and rows over all of them."""
    for name, value in chosen.items():
        if value is not None and name in table.columns:
            kept = pl.col(name).cast(pl.String)
            table = table.filter(kept.is_in([value, ALL]) | kept.is_null())
    return table


def limits(row: Mapping[str, Any], estimate: str, lower: str, upper: str) -> str:
    """Return a share with its interval in percent; blanks where there is none."""
    if row[estimate] is None:
        return "      no verdict      "
    return f"{row[estimate]:6.1%} [{row[lower]:6.1%}, {row[upper]:6.1%}]"


def format_floor(row: Mapping[str, Any]) -> str:
    """Return the chance floor of a rate in words; empty if the study has none."""
    if row["floor"] is None:
        return f"  floor: {row['floor_reason']}" if row["floor_reason"] else ""
    change, low, high = (100 * row[f"above_floor{end}"] for end in ("", "_lower", "_upper"))
    text = f"  floor {row['floor']:6.1%}, above it {change:+5.1f} [{low:+5.1f}, {high:+5.1f}]"
    if row["reacts"] is None:
        return text
    return f"{text}; reacting {limits(row, 'reacts', 'reacts_lower', 'reacts_upper')}"


def usual(rates: pl.DataFrame) -> pl.DataFrame:
    """Return the rows without perturbation, or under the first of a study that has none such."""
    kinds = rates["perturbation"].unique().sort().to_list()
    kind = PLAIN if PLAIN in kinds else next(iter(kinds), PLAIN)
    return rates.filter(pl.col("perturbation") == kind)


def format_failures(shares: pl.DataFrame) -> str:
    """Return what the other turns of each model are, the most frequent first, as lines of text."""
    lines = ["the other turns, in percent of scored turns with 95% interval"]
    by_share = usual(shares).filter(pl.col("estimate") > 0).sort("estimate", descending=True)
    keys = ["model", "temperature", "judge"]
    for (model, temperature, judge), rows in by_share.sort(keys, maintain_order=True).group_by(
        keys, maintain_order=True
    ):
        shown = zip(rows["label"], *(100 * rows[name] for name in LIMITS), strict=True)
        told = ", ".join(f"{n} {x:.1f} [{low:.1f}, {high:.1f}]" for n, x, low, high in shown)
        lines.append(f"  {model} t={temperature:g} ({judge}): {told}")
    return "\n".join(lines)


def format_pooled(pooled: pl.DataFrame) -> str:
    """Return each model's rate over all datasets, unperturbed, beside its chance floor, as text."""
    about_floors = (
        ";\nfloor: of turns judged again after another item's answer; above it: points from it to "
        "the rate, at least so many turns react"
    )
    if pooled["reacts"].count():
        about_floors += "; reacting: how many do, by the judge's sensitivity"
    kind = next(iter(usual(pooled)["perturbation"]), PLAIN)
    after = "" if kind == PLAIN else f" under {kind}"
    lines = [
        f"genuine follow-ups of each model over all datasets{after}, share of scored turns with "
        f"95% interval{about_floors if pooled['floor'].count() else ''}"
    ]
    for row in usual(pooled).iter_rows(named=True):
        lines += format_rate(f"{row['model']} t={row['temperature']:g}", row)
    return "\n".join(lines)


def format_rate(name: str, row: Mapping[str, Any]) -> list[str]:
    """Return one rate as lines of text: as people's labels correct it, then as a judge gives it."""
    counts = f"{row['judge']}, {row['n_scored']}/{row['n_turns']} scored"
    if row["n_answers_cut"]:
        counts += f", {row['n_answers_cut']} of {row['n_answers']} answers cut at the token limit"
    lines = [f"  {name} ({counts})"]
    by_judge = f"    {limits(row, 'estimate', 'lower', 'upper')}{format_floor(row)}"
    if row.get("lenient") not in (None, row["estimate"]):
        lenient = limits(row, "lenient", "lenient_lower", "lenient_upper").strip()
        by_judge += f"  clearly or arguably {lenient}"
    if row.get("n_copies"):
        over_texts = limits(row, "distinct", "distinct_lower", "distinct_upper").strip()
        copies = f"{row['n_copies']} of {row['n_ok']} turns are copies of another item's"
        by_judge += f"\n    {copies}; over different texts {over_texts}"
    if row["corrected"] is None:
        return [*lines, by_judge]
    corrected = limits(row, "corrected", "corrected_lower", "corrected_upper")
    labelled = f"{row['n_labelled']} of {row['n_turns_drawn_from']} turns labelled"
    lines.append(f"    {corrected}  corrected by people's labels, {labelled}")
    return [*lines, f"{by_judge}  by the judge"]


def format_cells(rates: pl.DataFrame) -> str:
    """Return the rate of every cell with its chance floor, as lines of text with intervals."""
    lines = ["genuine follow-ups of each cell"]
    for row in rates.iter_rows(named=True):
        cell = f"{row['model']} {row['dataset']} t={row['temperature']:g} {row['perturbation']}"
        lines += format_rate(cell, row)
    return "\n".join(lines)


def format_accuracy(accuracy: pl.DataFrame) -> str:
    """Return accuracies as lines of text with intervals; no line where nothing is graded."""
    graded = accuracy.drop_nulls("estimate")
    lines = ["task accuracy, share of graded answers with 95% interval"][: graded.height]
    for row in graded.iter_rows(named=True):
        cell, share = f"{row['model']} {row['dataset']}", limits(row, "estimate", "lower", "upper")
        lines.append(f"  {cell:<50} {share}  {row['n_graded']}/{row['n_items']} graded")
    return "\n".join(lines)


def format_controls(judges: pl.DataFrame) -> str:
    """Return how each judge labels turns of a known kind, as lines of text with intervals."""
    lines = ["judged correctly, share of turns of a known kind with 95% interval"]
    for row in kinds_of_controls(judges).iter_rows(named=True):
        told = f"none: {row['reason']}"
        if row["n_scored"]:
            share = limits(row, "estimate", "lower", "upper")
            told = f"{share}  {row['n_scored']}/{row['n_turns']} scored"
        lines.append(f"  {row['group'] + ' (' + row['source'] + ')':<50} {row['judge']:<10} {told}")
    return "\n".join(lines)


def format_costs(costs: pl.DataFrame) -> str:
    """Return what each judge cost as lines of text."""
    lines = ["what judges cost, of 1,000 verdicts"]
    for row in costs.filter(pl.col("cell") == ALL, pl.col("n_verdicts") > 0).to_dicts():
        cost = "no price" if row["cost"] is None else f"{row['cost_per_1000']:.2f}"
        lines.append(f"  {row['judge']:<50} {cost}, {row['seconds_per_1000']:.0f} s")
    return "\n".join(lines) if lines[1:] else ""


def format_correlations(decoupling: pl.DataFrame) -> str:
    """Return the rank correlations over models as lines of text, each interval first."""
    everything = (pl.col("dataset") == ALL) & (pl.col("family") == ALL)
    over = decoupling.filter(everything, pl.col("over") == OVER_MODELS)
    lines = ["", "rank correlation over models, 95% interval first"]
    for row in over.drop_nulls("estimate").iter_rows(named=True):
        what = f"{row['x']} and {row['y']}, t={row['temperature']:g}, {row['n_models']} models"
        limits = "no interval"
        if row["lower"] is not None:
            limits = f"[{row['lower']:5.2f}, {row['upper']:5.2f}]"
        p = "" if row["p"] is None else f"  p {row['p']:.2g}"
        said = "".join(f"; {row[name]}" for name in ("note", "reason") if row.get(name))
        lines.append(f"  {what:<58} {row['judge']:<10} {limits}  {row['estimate']:.2f}{p}{said}")
    return "\n".join(lines) if len(lines) > 2 else ""


def format_likelihood(likelihood: pl.DataFrame) -> str:
    """Return how likely models find reference follow-ups, as lines of text with intervals."""
    lines = [
        "reference follow-ups: share likelier after their own conversation than after others;\n"
        "gains in nats a character; 95% interval"
    ]
    shown = likelihood.filter(
        pl.col("part") == REFERENCE, pl.col("unit").is_in(["share", CHARACTER])
    )
    for row in shown.drop_nulls("estimate").to_dicts():
        what = f"{row['model']} {row['dataset']} {row['measure']}"
        limits = "" if row["lower"] is None else f"[{row['lower']:6.2f}, {row['upper']:6.2f}]"
        chance = "" if row["chance"] is None else f"  chance {row['chance']:.2f}"
        scored = f"{row['n_scored']}/{row['n_turns']} scored"
        lines.append(f"  {what:<50} {row['estimate']:6.2f} {limits}  {scored}{chance}")
    return "\n".join(lines)


def format_cards(judges: pl.DataFrame) -> str:
    """Return each judge's card over all turns of each source, as lines of text with intervals."""
    lines = ["how far each judge can be believed, on turns of a known kind, with 95% interval"]
    for row in cards(judges).drop_nulls("estimate").to_dicts():
        what = f"{row['measure']} on {row['source']} turns"
        limits = "" if row["lower"] is None else f"[{row['lower']:6.2f}, {row['upper']:6.2f}]"
        scored = f"{row['n_scored']}/{row['n_turns']} scored"
        if row["source"] in OVER_KINDS:  # and which of these a judge knows least
            same = (pl.col(name) == row[name] for name in ("judge", "source", "measure"))
            kinds = judges.filter(*same, pl.col("by") == "kind").drop_nulls("estimate")
            worst = next(kinds.sort("estimate").iter_rows(named=True), None)
            told = "" if worst is None else f", worst {worst['group']} {worst['estimate']:.2f}"
            scored += f", mean over kinds{told}"
        lines.append(f"  {what:<38} {row['judge']:<11} {row['estimate']:6.2f} {limits}  {scored}")
    return "\n".join(lines)


def format_predictions(anchors: pl.DataFrame) -> str | None:
    """Return what became of the paper's results and the study's predictions, if any can be told."""
    compared = anchors.filter(pl.col("outcome") != NOT_COMPARABLE)
    if "n_more" not in anchors.columns or compared.is_empty():
        return None
    lines = ["the paper's results, and predictions of this study (the table anchors says when)"]
    for row in compared.iter_rows(named=True):
        of = f"{row['quantity']}, {row['published']}"
        lines.append(f"  {outcome_in_words(row)}: {of}: {row['this_study']}")
    return "\n".join(lines)

"""The claims sheet of a study: each main number, table and figure, with what makes it again.

Artifact reviews (ACM's badges, NeurIPS' checklist) ask for such a list.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from userturn.judges.verdict import GENUINE
from userturn.study.cells import ALL, PLAIN
from userturn.tables.judge_validity import warned
from userturn.tables.judges import KNOWN
from userturn.tables.layout import layouts
from userturn.tables.likelihood import REFERENCE
from userturn.workflow.job_record import SWEEPS
from userturn.workflow.registry import FIGURES
from userturn.workflow.study import open_record
from userturn.workflow.study_files import Files

SHEET = "CLAIMS.md"
TEXT = """# Claims

What this study says, where each number is, and what makes it again. In an archive of the study:

    userturn audit results.zip
    userturn remake results.zip --to remade
    userturn remake results.zip --to anew --sweep

The first checks that every number follows from what models and judges replied, the second makes
each file below again from the archive, in seconds, without a model, the third runs the study again,
with its models and judges. In the project's folder, the command of each row makes that file alone.

## Numbers

{warning}Times 100, with 95% limits; n is what they are out of.

| what | number | n | row | of file |
|---|---|---|---|---|
{numbers}

## Tables and figures

| what | file | command |
|---|---|---|
{files}

## What it took

| job | runs | hours | devices |
|---|---|---|---|
{jobs}

Seed {seed}. Licences are those of the models and datasets:

{sources}
"""


class Number(NamedTuple):
    """Main numbers of a study: the rows of a table that have them, and in which columns."""

    table: str
    what: str  # in words
    filters: Mapping[str, Any]  # the values of the rows, by column
    named: tuple[str, ...]  # columns that name a row
    columns: tuple[str, str, str, str]  # estimate, lower and upper limit, n


RATE = ("estimate", "lower", "upper", "n_scored")
OF_MODELS = {"scope": "model", "label": GENUINE, "average": "micro", "perturbation": PLAIN}
NAMED = ("scope", "label", "average", "perturbation", "model", "temperature", "judge")
NUMBERS = (
    Number("rates", "genuine follow-ups", OF_MODELS, NAMED, RATE),
    Number(
        "rates",
        "genuine follow-ups by chance",
        OF_MODELS,
        NAMED,
        ("floor", "floor_lower", "floor_upper", "n_scored_again"),
    ),
    Number(
        "rates",
        "genuine follow-ups, corrected by people's labels",
        OF_MODELS,
        NAMED,
        ("corrected", "corrected_lower", "corrected_upper", "n_labelled"),
    ),
    Number(
        "likelihood",
        "reference follow-ups found likelier after their own answer",
        {"part": REFERENCE, "measure": "identified_answer"},
        ("part", "measure", "model", "dataset"),
        RATE,
    ),
    Number("accuracy", "right answers", {}, ("model", "dataset"), (*RATE[:3], "n_graded")),
    Number(
        "judges",
        "judge beside known turns",
        {"by": ALL, "part": KNOWN},
        ("by", "part", "judge", "source", "measure"),
        RATE,
    ),
)
MODEL_JOBS = (*SWEEPS, "train", "serve_judge", "batch_judge")


def claims_sheet(results: Path) -> str:
    """Return a study's claims sheet in Markdown, or raise UserError if it is not finished."""
    record, _ = open_record(results)
    config = record.config
    chosen = config.get("run", {})
    warning = warned(results)
    sources = [
        f"- {kind[:-1]} {name}: {_source(config[kind][name])}"
        for kind in ("models", "datasets")
        for name in chosen.get(kind, sorted(config[kind]))
    ]
    return TEXT.format(
        warning=f"**{warning}**\n\n" if warning else "",
        numbers="\n".join(line for number in NUMBERS for line in _lines(results, number)),
        files="\n".join(_files(results)),
        jobs="\n".join(_jobs(Files(results, {}))),
        seed=config["seed"],
        sources="\n".join(sources),
    )


def _lines(results: Path, number: Number) -> Iterator[str]:
    path = results / "tables" / f"{number.table}.parquet"
    if not path.is_file():
        return
    table = pl.read_parquet(path)
    value, lower, upper, n = number.columns
    if value not in table.columns:  # a table of an earlier version
        return
    rows = table.filter(pl.lit(True), *(pl.col(k) == v for k, v in number.filters.items()))
    for row in rows.filter(pl.col(value).is_not_null()).iter_rows(named=True):
        names = ", ".join(f"{k} {row[k]}" for k in number.named if row[k] is not None)
        limits = [f"{100 * row[column]:.1f}" for column in (value, lower, upper)]
        interval = f"{limits[0]} [{limits[1]}, {limits[2]}]"
        file = f"results/tables/{number.table}.csv"
        yield f"| {number.what} | {interval} | {row[n]} | {names} | {file} |"


def _files(results: Path) -> Iterator[str]:
    """Yield a row for each table that the report shows and each figure, if it is there."""
    titled = {f"tables/{name}.csv": parts[0].title for name, parts in layouts().items()}
    figures = {f"figures/{name}.svg": f"figure {name.replace('_', ' ')}" for name in FIGURES}
    for path, what in {**titled, **figures}.items():
        if (results / path).is_file():
            yield f"| {what} | results/{path} | `snakemake --cores 2 --force results/{path}` |"


def _jobs(files: Files) -> Iterator[str]:
    """Yield a row for each kind of job that runs a model: number of runs, hours and devices."""
    for rule in MODEL_JOBS:
        records = [record["made"] for _, record in files.readable if record["rule"] == rule]
        times = [
            (datetime.fromisoformat(m["began"]), datetime.fromisoformat(m["ended"]))
            for m in records
        ]
        spent = sum((ended - began for began, ended in times), timedelta())
        devices = sorted({device for m in records for device in m.get("devices", [])})
        if records:
            hours = spent.total_seconds() / 3600
            yield f"| {rule} | {len(records)} | {hours:.2f} | {', '.join(devices) or 'CPU'} |"


def _source(entry: Any) -> str:
    if isinstance(entry, str):
        return entry
    named = (str(entry[key]) for key in ("source", "base", "hub", "file") if key in entry)
    return " ".join(named)

"""`userturn calibrate`: anybody's judge beside people's labels, without a study."""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from userturn.calibration.calibrate import calibrate, labelled_rows
from userturn.calibration.judged_rows import Columns
from userturn.cli.terminal import Output

HELP = "correct the rates of anybody's judge by people's labels, from tables or logs"
EXAMPLES = (
    "calibrate verdicts.csv labels.csv",
    "calibrate verdicts.csv labels.csv --by model --json",
)


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    command.add_argument(
        "verdicts",
        type=Path,
        nargs="+",
        help="tables (CSV, JSON lines, Parquet), logs of Inspect, samples of lm-eval, or rows of "
        "Every Eval Ever",
    )
    command.add_argument("labels", type=Path, help="a table of people's labels of some rows")
    command.add_argument(
        "--id", metavar="COLUMN", help="column that names a row in verdicts and labels"
    )
    command.add_argument(
        "--item", metavar="COLUMN", help="column of the item, whose rows belong together"
    )
    command.add_argument(
        "--verdict",
        nargs="+",
        default=(),
        metavar="COLUMN",
        help="columns of verdicts, one for each judge",
    )
    command.add_argument("--label", metavar="COLUMN", help="column of people's labels")
    command.add_argument(
        "--stratum", metavar="COLUMN", help="column by which rows were drawn for people"
    )
    command.add_argument(
        "--by", nargs="+", metavar="COLUMN", help="columns of groups, such as model"
    )
    command.add_argument(
        "--positive", nargs="+", default=(), metavar="VALUE", help="values that mean yes"
    )


def run(arguments: argparse.Namespace) -> Output:
    """Run the command."""
    columns = {name: getattr(arguments, name) for name in Columns._fields}
    labelled = labelled_rows(arguments.verdicts, arguments.labels, Columns(**columns))
    left_out = [f"{judge} is left out ({why})" for judge, why in labelled.left_out.items()]
    heading = "shares of rows that are a yes, with 95% intervals"
    rates = calibrate(labelled)
    return Output([heading, as_text(rates), *left_out], {"rates": rates, "left_out": left_out})


def as_text(table: pl.DataFrame) -> str:
    """Return a table of rates as text, with one block per judge and group."""
    lines = []
    before = None
    for row in table.iter_rows(named=True):
        group = (row["judge"], ", ".join(filter(None, (row["model"], row["dataset"]))))
        if group != before:
            counts = "{n_labelled} of {n_rows} rows labelled, {n_scored} with a verdict"
            of = f": {counts.format_map(row)}" if row["n_rows"] is not None else ""
            lines.append(f"{group[0]} on {group[1]}{of}")
        before = group
        lines.append(f"  {row['measure']:<18} {_numbers(row)}")
    return "\n".join(lines)


def _numbers(row: Mapping[str, Any]) -> str:
    if row["estimate"] is None:
        return f"none: {row['reason']}"
    limits = f" [{row['lower']:.3f}, {row['upper']:.3f}]" if row["lower"] is not None else ""
    return f"{row['estimate']:6.3f}{limits}"

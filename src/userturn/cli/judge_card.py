"""`userturn judge-card`: measure one judge on the labelled turns before anything is spent on it."""

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
from tabulate import tabulate

from userturn.cli.arguments import study_config, take_configuration, with_judge
from userturn.controls.known_turns import (
    labelled_items,
    labelled_turns,
    read_labelled,
    take_labelled_turns,
)
from userturn.endpoints.budget import read_accounts
from userturn.endpoints.usage import money
from userturn.judges.judge import CellToJudge, verdicts_table
from userturn.judges.kinds import kind_of
from userturn.sources.registry import check_study
from userturn.study.grid import Grid
from userturn.study.inputs import LABELLED, LABELLED_TURNS
from userturn.study.judge import judge_of
from userturn.tables.judge_card import judge_card
from userturn.tables.judge_validity import warning
from userturn.tables.known_turns import beside_labels

HELP = "measure a judge on labelled turns before it judges a study"


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    command.add_argument("judge", help="a name under `judges` of the configuration")
    take_configuration(command)


def run(arguments: argparse.Namespace) -> str:
    """Run the command."""
    config = with_judge(study_config(arguments.configfile), arguments.judge)
    check_study(config)
    return format_card(Grid(config, arguments.results), arguments.judge)


class LabelledCell(CellToJudge):
    """The labelled turns in a scratch folder, counted in accounts as those of a study are."""

    def name(self, results: Path) -> str:
        """Return the folder that a study has for them."""
        return LABELLED


def verdicts_of(grid: Grid, name: str) -> pl.DataFrame:
    """Return a judge's verdicts on the labelled turns.

    They go into the judge's journal among the results: a study asks none of them again.
    """
    judge = judge_of(grid, name)
    n_at_once = int(judge.settings.get("concurrency", 0))
    with TemporaryDirectory(prefix="userturn-") as folder:
        paths = [str(Path(folder, file)) for file in (f"{LABELLED}.parquet", "user_turns.parquet")]
        take_labelled_turns("", LABELLED_TURNS, *paths)
        cell = LabelledCell(paths[1], paths[0])
        if judge.settings.get("serve"):
            from userturn.judges.pending_cells import fill_journal  # vLLM

            fill_journal(judge, [cell])
        judged = kind_of(judge.settings).verdicts(judge, cell, n_at_once)
        return pl.concat([verdicts_table(judge, part, verdicts) for part, verdicts in judged])


def format_card(grid: Grid, name: str) -> str:
    """Return a judge's card on the labelled turns as text, what it cost, and what is not shown."""
    rows = read_labelled(LABELLED_TURNS)
    items, said = labelled_items(rows), labelled_turns(rows).select("item", "text")
    turns = beside_labels(verdicts_of(grid, name), items, said)
    card = judge_card(turns, grid.config["seed"])
    return "\n".join(
        [
            f"{name} on {items.height} labelled turns (data/labelled/README.md)",
            _as_text(card),
            _cost(grid, name),
            *filter(None, [warning(card, grid, name)]),
        ]
    )


def _as_text(card: pl.DataFrame) -> str:
    rows = [
        (
            row["by"],
            row["group"],
            row["measure"],
            f"{row['n_scored']}/{row['n_turns']}",
            "" if row["estimate"] is None else f"{row['estimate']:.3f}",
            "" if row["lower"] is None else f"[{row['lower']:.3f}, {row['upper']:.3f}]",
        )
        for row in card.to_dicts()
        if row["reason"] is None
    ]
    names = ("by", "group", "measure", "scored", "estimate", "95% interval")
    return str(tabulate(rows, names, "simple", disable_numparse=True))


def _cost(grid: Grid, name: str) -> str:
    judge = judge_of(grid, name)
    price = judge.prices.get(name)
    spent = [
        a.total for a in read_accounts(judge.accounts) if a.judge == name and a.cell == LABELLED
    ]
    if not spent:
        return "cost: nothing"
    if price is None:
        return "cost: not known, the judge's entry has no price"
    return f"cost: {sum(money(one, price) for one in spent):.4f}"

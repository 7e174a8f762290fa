"""`userturn judge-card`: measure one judge on the labelled turns before anything is spent on it."""

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl

from userturn.cli.arguments import select_judge, study_config, take_configuration
from userturn.cli.busy_line import engine_log
from userturn.cli.terminal import BAD, Bar, Output, Part, Sheet, prose
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
from userturn.study.contents import LABELLED, LABELLED_TURNS
from userturn.study.grid import Grid
from userturn.study.judge import judge_of
from userturn.tables.judge_card import judge_card
from userturn.tables.judge_validity import warning
from userturn.tables.known_turns import add_true_labels

HELP = "measure a judge on labelled turns before it judges a study"
EXAMPLES = ("judge-card heuristic", "judge-card gpt-5.4-mini --json")


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    command.add_argument("judge", help="a name under `judges` of the configuration")
    take_configuration(command)


def run(arguments: argparse.Namespace) -> Output:
    """Run the command."""
    config = select_judge(study_config(arguments.configfile), arguments.judge)
    check_study(config)
    grid, name = Grid(config, arguments.results), arguments.judge
    rows = read_labelled(LABELLED_TURNS)
    items, texts = labelled_items(rows), labelled_turns(rows).select("item", "text")
    turns = add_true_labels(verdicts_of(grid, name), items, texts)
    card = judge_card(turns, grid.config["seed"])
    title = f"{name} on {items.height} labelled turns (data/labelled/README.md)"
    cost, warned = _cost(grid, name), warning(card, grid, name)
    parts: list[Part] = [_card_sheet(card, title), cost]
    parts += [prose(warned, BAD)] if warned else []
    return Output(parts, {"judge": name, "card": card, "cost": cost, "warning": warned})


class LabelledCell(CellToJudge):
    """The labelled turns in a scratch folder, with the name that their cell has in a study."""

    def name(self, results: Path) -> str:
        """Return the folder of the labelled turns in a study."""
        return LABELLED


def verdicts_of(grid: Grid, name: str) -> pl.DataFrame:
    """Return the table of a judge's verdicts on the labelled turns.

    They go into the judge's journal in the results, so that a study does not ask for them again.
    """
    judge = judge_of(grid, name)
    n_at_once = int(judge.settings.get("concurrency", 0))
    with TemporaryDirectory(prefix="userturn-") as folder:
        paths = [str(Path(folder, file)) for file in (f"{LABELLED}.parquet", "user_turns.parquet")]
        take_labelled_turns("", LABELLED_TURNS, *paths)
        cell = LabelledCell(paths[1], paths[0])
        if judge.settings.get("serve"):
            from userturn.judges.pending_cells import fill_journal  # vLLM

            with engine_log("judge-card", f"{name}: judging the labelled turns"):
                fill_journal(judge, [cell])
        judged = kind_of(judge.settings).verdicts(judge, cell, n_at_once)
        return pl.concat([verdicts_table(judge, part, verdicts) for part, verdicts in judged])


def _card_sheet(card: pl.DataFrame, title: str) -> Sheet:
    rows = [
        (
            *(row["by"], row["group"], row["measure"], f"{row['n_scored']}/{row['n_turns']}"),
            "" if row["estimate"] is None else f"{row['estimate']:.3f}",
            "" if row["lower"] is None else f"[{row['lower']:.3f}, {row['upper']:.3f}]",
            Bar(row["estimate"], row["lower"], row["upper"]),
        )
        for row in card.to_dicts()
        if row["reason"] is None
    ]
    heads = ("by", "group", "measure", "scored", "estimate", "95% interval", "drawn")
    return Sheet(heads, rows, title, heads[3:])


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

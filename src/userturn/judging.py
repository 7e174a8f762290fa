"""Judging: the verdicts of one judge on the user turns of one cell."""

from collections.abc import Sequence

import polars as pl

from userturn.heuristic import judge_by_words
from userturn.judges import CellToJudge, Judge
from userturn.tables import write_table
from userturn.verdicts import Verdict

KEYS = ["model", "dataset", "temperature", "perturbation", "item", "sample"]


def judge_cell(
    judge: Judge,
    identity: str,
    n_at_once: int,
    path_to_items: str,
    path_to_user_turns: str,
    path_to_verdicts: str,
) -> None:
    """Write one judge's verdict on every user turn of a cell."""
    cell = CellToJudge(path_to_user_turns, path_to_items)
    if judge.settings["kind"] == "endpoint":
        from userturn.endpoint_judging import endpoint_verdicts  # half a second to import

        verdicts = endpoint_verdicts(judge, cell, n_at_once)
    else:
        verdicts = heuristic_verdicts(judge, cell)
    write_table(verdicts_table(judge.name, cell, verdicts), path_to_verdicts, identity)


def heuristic_verdicts(judge: Judge, cell: CellToJudge) -> list[Verdict]:
    """Return the heuristic judge's verdict on every turn of a cell."""
    return [
        judge_by_words(row["messages"], row["answer"] or "", row["text"] or "", judge.settings)
        if row["outcome"] != "error"
        else Verdict(None, None)
        for row in cell.turns()
    ]


def verdicts_table(judge: str, cell: CellToJudge, verdicts: Sequence[Verdict]) -> pl.DataFrame:
    """Return a judge's verdicts as a table, one row a turn of the cell."""
    turns = pl.read_parquet(cell.path_to_user_turns, columns=[*KEYS, "outcome", "error"])
    judged = turns.with_columns(
        judge=pl.lit(judge),
        label=pl.Series([v.label for v in verdicts], dtype=pl.String),
        genuine=pl.Series([v.genuine for v in verdicts], dtype=pl.Boolean),
        rationale=pl.Series([v.rationale for v in verdicts], dtype=pl.String),
        unscored_reason=pl.Series([v.unscored_reason for v in verdicts], dtype=pl.String),
    ).with_columns(
        unscored_reason=pl.when(pl.col("outcome") == "error")
        .then(pl.format("no user turn: {}", "error"))
        .otherwise("unscored_reason")
    )
    return judged.drop("outcome", "error")

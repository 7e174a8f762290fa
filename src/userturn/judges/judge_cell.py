"""Write the verdicts of one judge on the user turns of one cell."""

from collections.abc import Iterable, Sequence
from typing import Any

import polars as pl

from userturn.judges.judge import CellToJudge, Judge
from userturn.judges.kinds import kind_of
from userturn.judges.verdict import Verdict
from userturn.storage.table_files import TURN_COLUMNS, TURN_KEYS, Schema, write_parts

VERDICTS_SCHEMA: Schema = {
    **TURN_COLUMNS,
    "judge": pl.String,
    "label": pl.String,
    "genuine": pl.Boolean,
    "rationale": pl.String,
    "unscored_reason": pl.String,
}
# Only in the files of judges that give probabilities.
OF_SOME: Schema = {
    "probabilities": pl.List(pl.Struct({"label": pl.String, "probability": pl.Float64})),
}


def judge_cell(
    judge: Judge,
    identity: str,
    n_at_once: int,
    path_to_items: str,
    path_to_user_turns: str,
    path_to_verdicts: str,
) -> None:
    """Write one judge's verdict on every user turn of a cell, a part of the cell at a time."""
    cell = CellToJudge(path_to_user_turns, path_to_items)
    judged = kind_of(judge.settings).verdicts(judge, cell, n_at_once)
    tables = (verdicts_table(judge, part, verdicts) for part, verdicts in judged)
    write_parts(tables, path_to_verdicts, identity)


def scan_verdicts(paths: Iterable[str]) -> pl.LazyFrame:
    """Return the verdicts of any judges, without the column that only some of them have."""
    return pl.scan_parquet(sorted(paths), extra_columns="ignore").drop(*OF_SOME, strict=False)


def verdicts_table(judge: Judge, cell: CellToJudge, verdicts: Sequence[Verdict]) -> pl.DataFrame:
    """Return a judge's verdicts as a table, one row per turn of the cell.

    Where the judge's kind gives probabilities, it has a column `probabilities`, too.
    """
    judged = (
        cell.columns(*TURN_KEYS, "outcome", "error")
        .with_columns(
            judge=pl.lit(judge.name),
            label=pl.Series([v.label for v in verdicts], dtype=pl.String),
            genuine=pl.Series([v.genuine for v in verdicts], dtype=pl.Boolean),
            rationale=pl.Series([v.rationale for v in verdicts], dtype=pl.String),
            unscored_reason=pl.Series([v.unscored_reason for v in verdicts], dtype=pl.String),
        )
        .with_columns(
            unscored_reason=pl.when(pl.col("outcome") == "error")
            .then(pl.format("no user turn: {}", "error"))
            .otherwise("unscored_reason")
        )
    )
    table = judged.select(list(VERDICTS_SCHEMA))
    if not kind_of(judge.settings).HAS_PROBABILITIES:
        return table
    return table.with_columns(
        pl.Series(name, [_listed(verdict) for verdict in verdicts], dtype)
        for name, dtype in OF_SOME.items()
    )


def _listed(verdict: Verdict) -> list[dict[str, Any]] | None:
    """Return a verdict's probabilities as the column has them."""
    if verdict.probabilities is None:
        return None
    return [{"label": label, "probability": p} for label, p in verdict.probabilities.items()]

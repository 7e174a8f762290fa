"""Ask judges again about turns that they have labelled; no journal is read or written."""

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl

from userturn.audit.check_reruns import (
    Reruns,
    SampledRow,
    conversation_of,
    draw_rows_by,
    rerun_table,
)
from userturn.endpoints.budget import read_accounts
from userturn.endpoints.usage import Spent, money
from userturn.errors import UserError
from userturn.judges.judge import Judge
from userturn.judges.kinds import kind_of
from userturn.judges.verdict import UserTurn, Verdict
from userturn.sources.registry import written_verdicts
from userturn.storage.table_files import TURN_KEYS
from userturn.study.grid import Grid
from userturn.study.judge import judge_of
from userturn.study.record import StudyRecord, read_study_record

SCORED = pl.col("label").is_not_null()
NOT_HERE = "the turn or its item is not in this folder"
Outcome = dict[str, Any]


def rejudge_sample(results: Path, k: int, rng: np.random.Generator) -> Reruns:
    """Ask judges again about `k` random turns that they have labelled, and compare.

    `equal_label` compares the labels and `equal_bytes` the rationales. Endpoints may cost money;
    `max_cost` applies to these questions.

    Raises:
        UserError: the folder has no record.
    """
    record = read_study_record(results)
    grid = record.grid(results)
    paths = written_verdicts(results)
    rows: list[tuple[SampledRow, Outcome]] = []
    costs: list[float] = []
    with TemporaryDirectory(prefix="userturn-") as folder:
        texts = _write_texts(record, Path(folder))
        for name, verdicts in draw_rows_by("judge", paths, SCORED, k, rng).items():
            turns = [_turn_of(grid, verdict) for verdict in verdicts]
            try:
                outcomes, cost = _judged(_judge(grid, name, Path(folder), texts), turns)
            except UserError as error:
                outcomes, cost = [{"reason": str(error)}] * len(turns), None
            costs += [] if cost is None else [cost]
            rows += zip(verdicts, outcomes, strict=True)
    return Reruns(rerun_table(results, rows), sum(costs) if costs else None)


def _write_texts(record: StudyRecord, folder: Path) -> dict[str, str]:
    """Write the study's rubrics and prompts; return the new paths by the old ones."""
    paths = {name: folder / f"text{i}" for i, name in enumerate(record.contents.texts)}
    for name, path in paths.items():
        path.write_text(record.contents.texts[name], encoding="utf-8")
    return {name: str(path) for name, path in paths.items()}


def _judge(grid: Grid, name: str, folder: Path, texts: Mapping[str, str]) -> Judge:
    """Return a judge with its texts in their new places and its accounts in a folder.

    Raises:
        UserError: the study's record has no such judge, or none of its texts.
    """
    try:
        judge = judge_of(grid, name)
        own = {k: texts[judge.settings[k]] for k in ("rubric", "prompt") if k in judge.settings}
    except KeyError as error:
        raise UserError(f"the study's record has no {error} for the judge '{name}'") from error
    settings, accounts = {**judge.settings, **own}, folder / "accounts" / name
    return Judge(name, settings, folder, accounts, judge.prices, judge.cap, judge.max_error_share)


def _turn_of(grid: Grid, verdict: SampledRow) -> dict[str, Any] | None:
    """Return the turn of a verdict with its item's messages, or None if they are not here.

    The verdict takes over the key of the turn's request.
    """
    turns = pl.scan_parquet(verdict.path.parent.parent / "user_turns.parquet")
    same = [pl.col(name).eq_missing(pl.lit(verdict.values[name])) for name in TURN_KEYS]
    verdict.values["key"] = None
    try:
        found = turns.filter(*same).collect().row(0, named=True)
    except (OSError, pl.exceptions.PolarsError):
        return None
    verdict.values["key"] = found.get("key")
    messages = conversation_of(grid, verdict.path.parent.parent, found["item"])
    said = {"label": verdict.values["label"], "rationale": verdict.values["rationale"]}
    return None if messages is None else found | said | {"messages": messages}


def _judged(judge: Judge, turns: list[dict[str, Any] | None]) -> tuple[list[Outcome], float | None]:
    """Return the outcome of each turn, and the cost of all.

    Raises:
        UserError: the judge's key is missing, or nothing serves it.
    """
    here = [turn for turn in turns if turn is not None]
    asked = [UserTurn(t["messages"], t["answer"] or "", t["text"] or "") for t in here]
    verdicts = iter(kind_of(judge.settings).judge_turns(judge, asked, "rejudged"))
    outcomes = [
        {"reason": NOT_HERE} if turn is None else _compared(turn, next(verdicts)) for turn in turns
    ]
    price = judge.prices.get(judge.name)
    spent = sum((account.total for account in read_accounts(judge.accounts)), start=Spent())
    return outcomes, None if price is None else money(spent, price)


def _compared(turn: Mapping[str, Any], said: Verdict) -> Outcome:
    if said.label is None:
        return {"reason": str(said.unscored_reason)}
    return {
        "equal_bytes": said.rationale == turn["rationale"],
        "equal_label": said.label == turn["label"],
    }

"""A cell of turns, and the judge with an endpoint that is put before it."""

import json
from pathlib import Path
from typing import Any

import polars as pl

from tests.support.snakemake_runs import ROOT
from userturn.endpoints.budget import read_accounts
from userturn.endpoints.usage import Spent
from userturn.judges.ask_missing import note_trial
from userturn.judges.endpoint_verdicts import json_format
from userturn.judges.judge import CellToJudge, Judge, judge_cell

MAX_TOKENS = 100  # of a verdict
PRICE = {"input": 1.0, "cached_input": 0.5, "output": 10.0}
ANSWER = "Toast the rice in a little oil, then steam it."


def settings(url: str, **changes: Any) -> dict[str, Any]:
    """Return a complete entry of an endpoint."""
    return {
        "kind": "endpoint",
        "base_url": url,
        "model": "m",
        "rubric": str(ROOT / "data/rubric.yaml"),
        "prompt": str(ROOT / "data/judge_prompt.txt"),
        "settings": {"max_tokens": MAX_TOKENS},
        "reply": "json_schema",
        "concurrency": 8,
        "timeout": 5,
        "attempts": 3,
        "batch": False,
        "serve": False,
        "gpus": 1,
        "vllm": {},
    } | changes


def judge(
    results: Path, url: str, cap: float | None = None, is_tried: bool = True, **changes: Any
) -> Judge:
    """Return a judge of a study, whose endpoint has passed its trial or is to be tried."""
    shares = [changes.pop(f"max_{what}_share", 1.0) for what in ("error", "unscored")]
    accounts = results / "journal/costs"
    one = Judge("j", settings(url, **changes), results, accounts, {"j": PRICE}, cap, *shares)
    if is_tried:
        endpoint = json_format(one).open_endpoint(one.settings.get("base_url", ""), 1)
        note_trial(endpoint, one.account(""))
    return one


def cell(
    results: Path, *turns: str, name: str = "cells/m/d/t0/none", dataset: str = "d"
) -> CellToJudge:
    """Write a cell with some turns, each of its own item."""
    folder = results / name
    folder.mkdir(parents=True, exist_ok=True)
    ids = [f"i{number}" for number in range(len(turns))]
    asked = [[{"role": "user", "content": f"Question {i}: how do I cook rice?"}] for i in ids]
    table = pl.DataFrame(
        {
            "model": "m",
            "dataset": dataset,
            "temperature": 0.0,
            "perturbation": "none",
            "item": ids,
            "sample": 0,
            "answer": ANSWER,
            "outcome": ["ok" if turn else "empty" for turn in turns],
            "text": list(turns),
            "error": pl.Series([None] * len(turns), dtype=pl.String),
        }
    )
    table.write_parquet(folder / "user_turns.parquet")
    pl.DataFrame({"item": ids, "messages": asked}).write_parquet(folder / "items.parquet")
    return CellToJudge(str(folder / "user_turns.parquet"), str(folder / "items.parquet"))


def spent(results: Path) -> Spent:
    """Return what all accounts say was spent, requests without a known end included."""
    return sum((a.total for a in read_accounts(results / "journal/costs")), start=Spent())


def verdicts_of(judge: Judge, cell: CellToJudge) -> pl.DataFrame:
    """Judge a cell and return its table."""
    path = Path(cell.path_to_user_turns).with_name("verdicts.parquet")
    judge_cell(
        judge=judge,
        identity="i",
        n_at_once=judge.settings.get("concurrency", 0),
        path_to_items=cell.path_to_items,
        path_to_user_turns=cell.path_to_user_turns,
        path_to_verdicts=str(path),
    )
    return pl.read_parquet(path)


__all__ = ["cell", "json", "judge", "settings", "spent", "verdicts_of"]

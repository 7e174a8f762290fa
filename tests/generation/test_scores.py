"""Scores are gathered some items at a time, and the parts make the table of the whole."""

from pathlib import Path

import polars as pl
import pytest

from tests.support.snakemake_runs import ROOT
from userturn.config.load import load_config
from userturn.errors import UserError
from userturn.generation import scores as scores_module
from userturn.generation.scorer import SCORING_PLAN_SCHEMA
from userturn.generation.scores import SCORES_SCHEMA, check_scored, score_record, scores_of
from userturn.models.requests import scores, scoring_request
from userturn.sources.registry import asked
from userturn.sources.scores import HUMAN_TURNS, scores_path
from userturn.sources.source import Asked
from userturn.storage.journal import Writer
from userturn.storage.table_files import write_table
from userturn.study.finished_requests import LostPlansError, swept_again_if_lost
from userturn.study.grid import Grid

SCORED = ("smollm2-135m", "follow-ups", HUMAN_TURNS)
SHARDS = {"1of2": ["c", "a"], "2of2": ["b", "c"]}  # shards changed: "c" is planned in both


def scored(grid: Grid) -> Asked:
    """Return the table of scores of the study."""
    return asked(grid)[scores_path(*SCORED)]


@pytest.fixture
def grid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Grid:
    """A study that scored three reference follow-ups, each after its own answer alone."""
    monkeypatch.chdir(ROOT)
    grid = Grid(load_config(["config.yaml", "profiles/demo/study.yaml"]), tmp_path)
    identity = scored(grid).identity
    plans = grid.requests_folder(SCORED[0], SCORED[1], identity)
    with Writer(grid.journal_folder(SCORED[0], SCORED[1])) as writer:
        for shard, items in SHARDS.items():
            rows = [planned(position, item) for position, item in enumerate(items)]
            plan = pl.DataFrame(rows, schema=SCORING_PLAN_SCHEMA)
            write_table(plan, plans / f"{shard}.parquet", identity)
            for item in items:
                request = scoring_request({}, SCORED[1], item, [ord(item), 7, 8], 1)
                writer.append(score_record(request, scores([-float(ord(item)), -1.0])))
    return grid


def planned(position: int, item: str) -> dict[str, object]:
    request = scoring_request({}, SCORED[1], item, [ord(item), 7, 8], 1)
    asked = {"key": request.key, "token_ids": request.token_ids, "n_context": 1}
    row = dict.fromkeys(SCORING_PLAN_SCHEMA) | asked
    return row | {"position": position, "item": item, "context": "own"}


@pytest.mark.parametrize("n_items", [1, 2, 3])
def test_every_turn_is_gathered_once_in_order_whatever_the_parts(
    grid: Grid, monkeypatch: pytest.MonkeyPatch, n_items: int
) -> None:
    monkeypatch.setattr(scores_module, "SLICE", n_items)
    parts = list(scores_of(grid, scored(grid)))
    assert len(parts) == {1: 3, 2: 2, 3: 1}[n_items]
    found = pl.concat(parts)
    assert found["item"].to_list() == ["a", "b", "c"]
    assert found["logprob"].to_list() == [-98.0, -99.0, -100.0]  # minus 97, 98, 99 and minus 1
    assert found["token_ids"].to_list() == [[7, 8]] * 3


@pytest.mark.parametrize("damage", [None, b"", b"PAR1"])
def test_scores_whose_plan_is_lost_or_damaged_are_planned_again_by_the_next_run(
    grid: Grid, damage: bytes | None
) -> None:
    plan, *_ = grid.results.rglob("*.parquet")
    for path in plan.parent.iterdir():
        path.unlink() if damage is None else path.write_bytes(damage)
    with pytest.raises(LostPlansError, match="again"), swept_again_if_lost(grid, SCORED[0]):
        list(scores_of(grid, scored(grid)))
    assert not plan.parent.exists()  # which the next run sees


def scores_with_errors(path: Path, n_errors: int) -> Path:
    """Write 20 scores, some of them errors, and a turn that no request was made for."""
    row = dict.fromkeys(SCORES_SCHEMA)
    asked = [row | {"key": str(n), "error": "no rows" if n < n_errors else None} for n in range(20)]
    unasked = row | {"error": "the answer is an error"}
    write_table(pl.DataFrame([*asked, unasked], schema=SCORES_SCHEMA), path, "identity")
    return path


def test_table_of_scores_with_too_many_errors_is_refused_with_the_first_reason(
    tmp_path: Path,
) -> None:
    path = str(scores_with_errors(tmp_path / "own_turns.parquet", n_errors=2))
    with pytest.raises(UserError, match="2 of 20 scores ended in an error") as refused:
        check_scored([path], 0.05)
    assert "max_error_share allows 0.05; the first: no rows; " in str(refused.value)
    assert Path(path).exists()  # so that nothing is asked again by itself


def test_share_of_errors_in_scores_is_of_those_that_were_asked_for(tmp_path: Path) -> None:
    """Of 20 scores one may be an error; the turn that was not asked for is none."""
    check_scored([str(scores_with_errors(tmp_path / "own_turns.parquet", n_errors=1))], 0.05)

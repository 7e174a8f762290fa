"""The audit joins plan and journal of scores again, and finds others."""

import json
from pathlib import Path
from shutil import rmtree
from typing import Any

import polars as pl
import pytest

from tests.support.findings_of import findings_of
from tests.support.snakemake_runs import ROOT
from userturn.audit.check_rows import check_likelihood
from userturn.audit.pair import Pair
from userturn.config.load import load_config
from userturn.generation.scorer import SCORING_PLAN_SCHEMA
from userturn.generation.scores import score_record, scores_of
from userturn.models.requests import scores, scoring_request
from userturn.sources.registry import asked
from userturn.sources.scores import HUMAN_TURNS, scores_path
from userturn.sources.source import Asked
from userturn.storage.hashing import fingerprint
from userturn.storage.journal import Writer
from userturn.study.contents import FileContents
from userturn.study.grid import Grid
from userturn.study.record import StudyRecord, study_record

SCORED = ("smollm2-135m", "follow-ups", HUMAN_TURNS)
PATH = scores_path(*SCORED).removeprefix("results/")
# Two follow-ups of two conversations, so that each has the other as its only distractor.
ITEMS = pl.DataFrame(
    {
        "item": ["a", "b"],
        "reference_context": [
            [{"role": "user", "content": text}, {"role": "assistant", "content": text * 2}]
            for text in ("Why?", "How?")
        ],
        "reference_user_turn": ["And then?", "Since when?"],
    }
)
ASKED = {"dtype": "float32", "engine": "vllm"}  # what the entry adds to a model's identity


def scored(grid: Grid) -> Asked:
    """Return the table of scores of the study."""
    return asked(grid)[scores_path(*SCORED)]


@pytest.fixture
def record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StudyRecord:
    """A study that scored two reference follow-ups, each after its own and after other contexts."""
    monkeypatch.chdir(ROOT)
    config = load_config(["config.yaml", "profiles/demo/study.yaml"])
    config["likelihood"] |= {"turns": 0}
    record = study_record(config, FileContents(config))
    grid = record.grid(tmp_path)
    for folder in ("datasets", "models", Path(PATH).parent):
        (tmp_path / folder).mkdir(parents=True)
    ITEMS.write_parquet(tmp_path / "datasets" / "follow-ups.parquet")
    (tmp_path / "models" / "smollm2-135m.json").write_text(json.dumps({"identity": {}}))
    rows = [row for item in ITEMS.to_dicts() for row in plan_rows(item)]
    with Writer(grid.journal_folder(SCORED[0], SCORED[1])) as writer:
        for position, row in enumerate(rows):
            request = scoring_request(ASKED, SCORED[1], row["item"], [position, 7, 8], 1)
            writer.append(score_record(request, scores([-1.0 - position, -2.0])))
            row |= {"position": position, "key": request.key, "n_context": 1}
            row["token_ids"] = request.token_ids
    plan = plan_of(tmp_path, record)
    plan.parent.mkdir(parents=True)
    pl.DataFrame(rows, schema=SCORING_PLAN_SCHEMA).write_parquet(
        plan, metadata={"identity": plan.parent.name}
    )
    pl.concat(scores_of(grid, scored(grid))).write_parquet(tmp_path / PATH)
    return record


def plan_of(results: Path, record: StudyRecord) -> Path:
    grid = record.grid(results)
    folder = grid.requests_folder(SCORED[0], SCORED[1], scored(grid).identity)
    return folder / "1of1.parquet"


def plan_rows(item: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what is asked of an item; its distractor is the other."""
    other = "b" if item["item"] == "a" else "a"
    distractors = {"own": None, "assistant_header": None}
    distractors |= {"other_answer": other, "other_conversation": other}
    shared = {
        **dict.fromkeys(SCORING_PLAN_SCHEMA),
        "item": item["item"],
        "conversation": fingerprint(item["reference_context"][0]["content"])[:16],
        "n_characters": len(item["reference_user_turn"]),
    }
    return [{**shared, "context": c, "distractor": d} for c, d in distractors.items()]


def found(results: Path, record: StudyRecord, broken: frozenset[str] = frozenset()) -> list[str]:
    has_journals = (results / "journal").is_dir()
    pair = Pair(record.grid(results), record, *SCORED[:2], has_journals, broken)
    findings = findings_of(check_likelihood(pair))
    assert all(f.check == "rows" for f in findings)
    return [f"{finding.expected} | {finding.found}" for finding in findings]


def edit(results: Path, **columns: Any) -> None:
    table = pl.read_parquet(results / PATH)
    table.with_columns(**columns).write_parquet(results / PATH)


def test_scores_that_follow_from_plan_and_journal_have_no_finding(
    tmp_path: Path, record: StudyRecord
) -> None:
    table = pl.read_parquet(tmp_path / PATH)
    # By item and position: -1 and -2 of the first row, -2 and -2 of the second, and so on.
    assert table["logprob"].to_list() == [-3.0, -4, -5, -6, -7, -8, -9, -10]
    assert table["token_ids"][0].to_list() == [7, 8]
    assert found(tmp_path, record) == []


def test_a_score_that_the_engine_did_not_give_is_found(tmp_path: Path, record: StudyRecord) -> None:
    edit(tmp_path, logprob=pl.Series([-3.0, -0.5, -5, -6, -7, -8, -9, -10]))
    (said,) = found(tmp_path, record)
    assert "-4.0" in said and said.endswith("-0.5")


def test_two_contexts_exchanged_are_found(tmp_path: Path, record: StudyRecord) -> None:
    edit(tmp_path, context=pl.col("context").reverse())
    assert len(found(tmp_path, record)) == 1


def test_a_turn_that_was_dropped_is_found(tmp_path: Path, record: StudyRecord) -> None:
    pl.read_parquet(tmp_path / PATH)[:1].write_parquet(tmp_path / PATH)
    assert found(tmp_path, record) == ["8 rows | 1 rows"]


def test_a_request_without_a_line_in_the_journal_is_found(
    tmp_path: Path, record: StudyRecord
) -> None:
    for path in (tmp_path / "journal").rglob("*.jsonl"):
        path.write_bytes(path.read_bytes().splitlines(keepends=True)[0])
    (said,) = found(tmp_path, record)
    assert "7 of 8 scoring requests have no record" in said


def test_a_table_that_was_already_found_altered_is_not_reported_twice(
    tmp_path: Path, record: StudyRecord
) -> None:
    edit(tmp_path, logprob=pl.lit(0.0))
    assert found(tmp_path, record, frozenset({f"results/{PATH}"})) == []


def edit_plan(results: Path, record: StudyRecord, **columns: Any) -> None:
    """Edit a plan and make the scores of it again, as a forger would."""
    plan = plan_of(results, record)
    edited = pl.read_parquet(plan).with_columns(**columns)
    edited.write_parquet(plan, metadata={"identity": plan.parent.name})
    grid = record.grid(results)
    pl.concat(scores_of(grid, scored(grid))).write_parquet(results / PATH)


def test_contexts_exchanged_in_plan_and_scores_are_found(
    tmp_path: Path, record: StudyRecord
) -> None:
    swapped = {"own": "other_answer", "other_answer": "own"}
    edit_plan(tmp_path, record, context=pl.col("context").replace(swapped))
    assert found(tmp_path, record) == ["context of a/other_answer, as made again | another content"]


def test_a_key_of_another_request_is_found(tmp_path: Path, record: StudyRecord) -> None:
    edit_plan(tmp_path, record, key=pl.col("key").reverse())
    (said,) = found(tmp_path, record)
    assert said.startswith("key ") and "of a turn of a, from its request" in said


def test_a_plan_of_human_turns_is_compared_without_journals(
    tmp_path: Path, record: StudyRecord
) -> None:
    edit_plan(tmp_path, record, distractor=pl.lit("a"))
    rmtree(tmp_path / "journal")
    assert found(tmp_path, record) == ["distractor of a/own, as made again | another content"]

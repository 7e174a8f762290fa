"""Logs that other harnesses wrote are read as what they say.

Those of tests/fixtures/calibration were written by lm-eval 0.4.13 (a task of our own, answered by
a fixed rule), by Inspect 0.3.285 (its model for tests), and by Every Eval Ever's converter 0.3.0.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.support.snakemake_runs import ROOT
from userturn.calibration.verdict_rows import member_bytes, verdict_rows
from userturn.errors import UserError

LOGS = ROOT / "tests" / "fixtures" / "calibration"
LM_EVAL = LOGS / "made-up__shop-1b" / "samples_boxes_2026-11-27T22-03-22.723142.jsonl"
INSPECT, INSTANCES = LOGS / "trivia.eval", LOGS / "every_eval_ever_samples.jsonl.gz"


def told(path: Path) -> list[dict[str, object]]:
    return [row for _, row in verdict_rows(path)]


def test_samples_of_lm_eval_have_a_row_for_each_metric_and_filter() -> None:
    rows = told(LM_EVAL)
    assert len(rows) == 240
    assert rows[1] == {"dataset": "boxes", "model": "made-up/shop-1b", "id": 1, "verdict": 0.0,
                       "judge": "exact_match,strict-match"}  # fmt: skip
    # lm-eval's own results of these samples: .475 by strict-match, .65 by flexible-extract.
    for name, mean in (("strict-match", 0.475), ("flexible-extract", 0.65)):
        own = [row["verdict"] for row in rows if row["judge"] == f"exact_match,{name}"]
        assert sum(map(float, own)) / len(own) == mean  # type: ignore


def test_samples_of_earlier_lm_eval_have_their_metrics_beside_known_keys(tmp_path: Path) -> None:
    row = {
        "doc_id": 3,
        "doc": {},
        "target": "a",
        "arguments": [],
        "resps": [],
        "filtered_resps": [],
    }
    path = tmp_path / "arc_easy.jsonl"
    path.write_text(json.dumps(row | {"acc": 1.0, "acc_norm": 0.0}) + "\n")
    rows = [(row["dataset"], row["model"], row["judge"], row["verdict"]) for row in told(path)]
    assert rows == [("arc_easy", None, "acc", 1.0), ("arc_easy", None, "acc_norm", 0.0)]


def test_every_eval_ever_says_what_the_log_said_that_it_was_made_from() -> None:
    def known(path: Path) -> Iterator[tuple[object, ...]]:
        for row in told(path):
            judge = str(row["judge"]).replace(":", ",")
            yield row["model"], row["dataset"], str(row["id"]), judge, row["verdict"]

    assert sorted(known(INSTANCES)) == sorted(known(LM_EVAL))  # type: ignore


def test_a_log_of_inspect_has_a_row_for_each_sample_epoch_and_scorer() -> None:
    rows = told(INSPECT)
    assert len(rows) == 8 * 2 * 2
    assert rows[4] == {"model": "mockllm/model", "dataset": "trivia", "id": "q2", "sample": 1,
                       "judge": "includes", "verdict": "I"}  # fmt: skip


def as_json(path: Path) -> dict[str, object]:
    """Return an .eval file in the form of a log that Inspect writes as JSON."""
    with ZipFile(path) as log:
        members = {info.filename: json.loads(member_bytes(log, info)) for info in log.infolist()}
    samples = [one for name, one in members.items() if name.startswith("samples/")]
    return members["header.json"] | {"samples": samples}


def test_a_log_of_inspect_in_json_says_the_same(tmp_path: Path) -> None:
    path = tmp_path / "trivia.json"
    path.write_text(json.dumps(as_json(INSPECT), indent=1))
    assert sorted(map(str, told(path))) == sorted(map(str, told(INSPECT)))


def test_scores_of_several_values_and_samples_without_a_score_are_rows(tmp_path: Path) -> None:
    scores = {"rubric": {"value": {"kind": 1, "true": 0}}, "match": {"value": "C"}}
    samples = [{"id": 1, "epoch": 1, "scores": scores}, {"id": 2, "epoch": 1, "scores": None}]
    log = {"status": "error", "eval": {"model": "m", "task": "t"}, "samples": samples}
    path = tmp_path / "log.json"
    path.write_text(json.dumps(log))
    rows = [(row["id"], row["judge"], row["verdict"]) for row in told(path)]
    names = ("rubric/kind", "rubric/true", "match")
    assert rows == [*zip([1] * 3, names, (1, 0, "C"), strict=True),
                    *zip([2] * 3, names, [None] * 3, strict=True)]  # fmt: skip


def test_results_of_every_eval_ever_lead_to_their_rows(tmp_path: Path) -> None:
    results = {
        "evaluation_results": [],
        "detailed_evaluation_results": {"file_path": "data/a/b.jsonl"},
    }
    path = tmp_path / "results.json"
    path.write_text(json.dumps(results))
    with pytest.raises(UserError, match=r"without their rows; give the file .* \*_samples.jsonl"):
        verdict_rows(path)
    (tmp_path / "b.jsonl").write_text('{"id": 1, "verdict": 1}\n')
    assert told(path) == [{"id": 1, "verdict": 1}]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.json", b"{}", "is an object of an unknown kind; expected a table"),
        ("a.json", b"{", "is not JSON"),
        ("a.eval", b"PK\x03\x04", "cannot be read as a log of Inspect"),
        ("a.csv", b"", "has no rows; expected a table"),
        ("a.jsonl", b"[1]", "row 1: found a number"),
    ],
)
def test_another_file_is_one_sentence(tmp_path: Path, name: str, content: bytes, said: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError, match=said):
        told(tmp_path / name)


def test_no_file_and_another_archive_are_one_sentence(tmp_path: Path) -> None:
    with ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("x", "y")
    for name, said in (
        ("none.csv", "none.csv' does not exist; expected a table"),
        ("a.zip", "but no log of Inspect"),
    ):
        with pytest.raises(UserError, match=said):
            told(tmp_path / name)

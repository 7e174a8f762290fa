"""Several answers an item change no identity but their own."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.snakemake_runs import ROOT
from userturn.study.candidates import candidate_tables, candidates_identity
from userturn.study.grid import Grid
from userturn.study.record import study_record
from userturn.study.scored_turns import REACTIONS, scored_turns, scores_identity


def grid(monkeypatch: pytest.MonkeyPatch, **answer: Any) -> Grid:
    """Return the demo's grid with changes of how answers are sampled."""
    monkeypatch.chdir(Path(ROOT))
    config = yaml.safe_load((ROOT / "config.yaml").read_text())
    demo: dict[str, Any] = yaml.safe_load((ROOT / "profiles/demo/study.yaml").read_text())
    settings = config["answer"] | demo["answer"] | {"temperature": 0.7} | answer
    controls = config["controls"] | demo["controls"]
    judges = {"judge_defaults": config["judge_defaults"]}
    return Grid(config | demo | judges | {"answer": settings, "controls": controls})


def test_several_answers_leave_answers_cells_and_other_scores_as_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one, four = grid(monkeypatch), grid(monkeypatch, samples=4)
    pair = ("smollm2-135m", "word-problems")
    assert four.answers_identity(*pair) == one.answers_identity(*pair)
    assert [*map(four.cell_identity, four.cells)] == [*map(one.cell_identity, one.cells)]
    of_one = {scored: scores_identity(one, scored) for scored in scored_turns(one)}
    of_four = {scored: scores_identity(four, scored) for scored in scored_turns(four)}
    assert of_four.items() > of_one.items()
    assert [s.turns for s in of_four.keys() - of_one.keys()] == [REACTIONS]


def test_a_study_with_one_answer_an_item_has_neither_candidates_nor_a_trace_of_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for answer in ({}, {"samples": 1}):
        one = grid(monkeypatch, **answer)
        assert candidate_tables(one) == []
        contents = study_record(one.config, one.contents).content["contents"]
        assert "reactions" not in contents
    several = grid(monkeypatch, samples=2)
    assert study_record(several.config, several.contents).content["contents"]["reactions"]


def test_graded_datasets_alone_have_candidates_whose_number_is_part_of_their_identity(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    four, eight = grid(monkeypatch, samples=4), grid(monkeypatch, samples=8)
    tables = candidate_tables(four)
    assert {(of.dataset, of.table) for of in tables} == {  # `everyday` has no verifier
        ("word-problems", "answers"),
        ("word-problems", "user_turns"),
    }
    for of in tables:
        assert candidates_identity(four, of) != candidates_identity(eight, of)

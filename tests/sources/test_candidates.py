"""Several answers an item change no identity but their own."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.snakemake_runs import ROOT
from userturn.errors import ConfigError
from userturn.sources import candidates
from userturn.sources.registry import asked
from userturn.study.grid import Grid
from userturn.study.record import study_record


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
    of_one, of_four = ({p: of.identity for p, of in asked(grid).items()} for grid in (one, four))
    assert of_four.items() > of_one.items()
    assert {path.split("/", 2)[1] for path in of_four.keys() - of_one.keys()} == {
        "candidates",
        "likelihood",
    }


def test_a_study_with_one_answer_an_item_has_neither_candidates_nor_a_trace_of_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for answer in ({}, {"samples": 1}):
        one = grid(monkeypatch, **answer)
        assert list(candidates.asked(one)) == []
        contents = study_record(one.config, one.contents).content["contents"]
        assert "reactions" not in contents
    several = grid(monkeypatch, samples=2)
    assert study_record(several.config, several.contents).content["contents"]["reactions"]


def test_graded_datasets_alone_have_candidates_whose_number_is_part_of_their_identity(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    four, eight = grid(monkeypatch, samples=4), grid(monkeypatch, samples=8)
    of_four, of_eight = (
        {(of.dataset, of.name): of.identity for of in candidates.asked(grid)}
        for grid in (four, eight)
    )
    assert of_four.keys() == {  # `everyday` has no verifier
        ("word-problems", name) for name in ("answers", "user_turns", "reactions")
    }
    assert not set(of_four.values()) & set(of_eight.values())


def test_several_greedy_answers_of_an_item_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError) as refused:
        candidates.check(grid(monkeypatch, samples=8, temperature=0).config)
    assert str(refused.value) == (
        "answer.temperature: found 0 with answer.samples 8, and such answers are all the same; set "
        "a temperature above 0, such as 0.7, or leave answer.samples out"
    )
    candidates.check(grid(monkeypatch, samples=8, temperature=0.7).config)

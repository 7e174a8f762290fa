"""What is scored of reference follow-ups: also the end at once, where a study asks for it."""

from pathlib import Path

import polars as pl
import pytest
import yaml

from tests.support.snakemake_runs import ROOT
from userturn.generation.scored_turns import human_turns
from userturn.generation.scorer import ENDING
from userturn.sources.registry import asked
from userturn.sources.scores import HUMAN_TURNS, scores_path
from userturn.sources.source import Size
from userturn.study.grid import Grid

MODEL, DATASET = "smollm2-135m", "follow-ups"


def grid_of(results: Path, endings: bool) -> Grid:
    """Return the demo's grid with two reference follow-ups, of two conversations."""
    demo = yaml.safe_load((ROOT / "profiles/demo/study.yaml").read_text())
    config = yaml.safe_load((ROOT / "config.yaml").read_text()) | demo
    config["likelihood"] = {**config["likelihood"], "endings": endings}
    grid = Grid(config, results)
    context = [
        [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]
        for question, answer in (("Why?", "So."), ("When?", "Now."))
    ]
    items = {"item": ["a", "b"], "reference_context": context}
    path = grid.dataset_path(DATASET)
    path.parent.mkdir(parents=True)
    pl.DataFrame({**items, "reference_user_turn": ["How so?", "Then?"]}).write_parquet(path)
    return grid


@pytest.mark.parametrize("endings", [False, True])
def test_the_end_at_once_is_scored_last_after_the_turns_own_context(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, endings: bool
) -> None:
    monkeypatch.chdir(ROOT)
    grid = grid_of(tmp_path, endings)
    scored = asked(grid)[scores_path(MODEL, DATASET, HUMAN_TURNS)]
    turns = list(human_turns(grid, scored, "1of1"))
    kinds = [[context.kind for context in turn.contexts] for turn in turns]
    assert [ENDING in of_turn for of_turn in kinds] == [endings, endings]
    if endings:
        own, *_, ended = turns[0].contexts
        assert (ended.kind, ended.prompt, ended.answer) == (ENDING, own.prompt, own.answer)
    # What is counted before a run is what is then asked.
    sizes = {DATASET: Size(2, 10, True, n_follow_ups=2, n_follow_up_tokens=10)}
    assert scored.count(sizes).n == sum(map(len, kinds))

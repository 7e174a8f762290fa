"""Which turns are scored, and what the identity of their scores depends on."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.snakemake_runs import ROOT
from userturn.sources.registry import asked
from userturn.sources.scores import HUMAN_TURNS, OWN_TURNS, scores_path
from userturn.study.grid import Grid


def identities(shards: dict[str, int], **settings: bool) -> dict[str, str]:
    """Return the identities of the demo model's scores, by the kind of turn."""
    demo: dict[str, Any] = yaml.safe_load((ROOT / "profiles/demo/study.yaml").read_text())
    config = yaml.safe_load((ROOT / "config.yaml").read_text()) | demo
    config["models"]["smollm2-135m"] = {**config["models"]["smollm2-135m"], **shards}
    config["likelihood"] = {**config["likelihood"], **settings}
    grid = Grid(config)
    return {
        turns: asked(grid)[scores_path("smollm2-135m", dataset, turns)].identity
        for turns, dataset in ((HUMAN_TURNS, "follow-ups"), (OWN_TURNS, "everyday"))
    }


def test_own_turns_of_a_sharded_model_have_scores_of_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Their distractors are answers to items of the same shard; human turns draw over all items.
    monkeypatch.chdir(Path(ROOT))
    one, two = identities({}), identities({"shards": 2})
    assert one == identities({"shards": 1})
    assert one[HUMAN_TURNS] == two[HUMAN_TURNS]
    assert one[OWN_TURNS] != two[OWN_TURNS]


def test_scores_with_endings_are_others_and_those_without_are_as_they_were(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(Path(ROOT))
    without, with_endings = identities({}), identities({}, endings=True)
    assert without == identities({}, endings=False)
    assert all(without[turns] != with_endings[turns] for turns in (HUMAN_TURNS, OWN_TURNS))

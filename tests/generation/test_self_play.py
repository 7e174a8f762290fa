"""Self-play: each depth asks about the whole conversation before it, once and for all."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.support.self_play_study import (
    DATASET,
    MODEL,
    Talking,
    at_depth,
    collect,
    place,
    study,
    sweep,
)
from userturn.errors import ConfigError
from userturn.generation.load_model import load_model
from userturn.sources.registry import check_study
from userturn.study.grid import Grid
from userturn.study.model_description import read_description
from userturn.workflow.pending import Pending


def items_of(grid: Grid) -> dict[str, str]:
    """The question of each item."""
    table = pl.read_parquet(grid.dataset_path(DATASET), columns=["item", "messages"])
    return {item: messages[0]["content"] for item, messages in table.iter_rows()}


def test_prompts_of_depth_2_are_what_the_template_renders_for_the_whole_conversation(
    tmp_path: Path,
) -> None:
    grid = study(tmp_path, 2)
    engine = sweep(grid)
    tokenizer = load_model(grid, MODEL, read_description(grid, MODEL)).template.tokenizer
    asked = [r for r in engine.asked if r.prompt.text.count("<|im_start|>assistant") == 2]
    of_answers = {r.item: r.prompt for r in asked if r.prompt.text.endswith("assistant\n")}
    of_turns = {r.item: r.prompt for r in asked if r.prompt.text.endswith("user\n")}
    assert len(of_answers) == len(of_turns) == 4
    for item, question in items_of(grid).items():
        conversation = [
            {"role": "user", "content": question},
            {"role": "assistant", "content": f"Answer 1 to {item}."},
            {"role": "user", "content": f"Question 1 of {item}?"},
        ]
        text = tokenizer.apply_chat_template(
            conversation, tokenize=False, add_generation_prompt=True
        )
        assert of_answers[item].text == text
        # The probe: the same conversation, answered, up to where a further user turn would begin.
        more = [
            *conversation,
            {"role": "assistant", "content": f"Answer 2 to {item}."},
            {"role": "user", "content": "HERE"},
        ]
        whole = tokenizer.apply_chat_template(more, tokenize=False)
        assert of_turns[item].text == whole[: whole.index("HERE")]
        ids = tokenizer(of_turns[item].text, add_special_tokens=False)["input_ids"]
        assert list(of_turns[item].token_ids) == ids


@pytest.mark.slow
def test_one_turn_more_asks_exactly_its_own_requests(tmp_path: Path) -> None:
    grid = study(tmp_path, 2)
    first = sweep(grid)
    assert len(first.asked) == 4 * 4  # an answer and a user turn of 4 items at 2 depths
    assert sweep(grid).asked == []  # as after a kill
    collect(grid)
    longer = study(tmp_path, 3)
    pending = Pending(longer)
    third = at_depth(longer, 3)
    assert list(pending.tables) == [third.path_to_answers, third.path_to_user_turns]
    second = sweep(longer)
    texts = [request.prompt.text for request in second.asked]
    assert len(texts) == 4 * 2
    assert {text.count("<|im_start|>assistant") for text in texts} == {3}
    collect(longer)
    assert Pending(longer).tables == {}


def conversations(grid: Grid, depth: int) -> dict[str, tuple[Any, str | None]]:
    path = place(grid, at_depth(grid, depth).path_to_conversations)
    return {item: (messages, ended) for item, messages, ended in pl.read_parquet(path).iter_rows()}


def test_an_empty_or_failed_turn_ends_its_conversation_with_the_reason(tmp_path: Path) -> None:
    grid = study(tmp_path, 3)
    silent, broken, *others = items_of(grid)
    engine = sweep(grid, faults={(silent, 1): "empty", (broken, 2): "error"})
    collect(grid)
    at_2, at_3 = conversations(grid, 2), conversations(grid, 3)
    assert at_2[silent] == (None, "the user turn of depth 1 was empty")
    assert at_3[silent] == at_2[silent]
    assert at_2[broken][1] is None
    assert at_3[broken] == (None, "the user turn of depth 2 failed: the engine failed")
    item = others[0]
    assert [message["content"] for message in at_3[item][0]] == [
        items_of(grid)[item],
        f"Answer 1 to {item}.",
        f"Question 1 of {item}?",
        f"Answer 2 to {item}.",
        f"Question 2 of {item}?",
    ]
    turns = pl.read_parquet(place(grid, at_depth(grid, 3).path_to_user_turns))
    assert turns["item"].to_list() == others
    asked = [(r.item, r.prompt.text.count("<|im_start|>assistant")) for r in engine.asked]
    assert max(depth for item, depth in asked if item == silent) == 1
    assert max(depth for item, depth in asked if item == broken) == 2


def test_only_first_samples_go_on_and_each_depth_has_seeds_of_its_own(tmp_path: Path) -> None:
    run = {"temperatures": [1.0], "perturbations": ["none"], "judges": ["heuristic"]}
    grid = study(tmp_path, 3, run=run, samples=3)
    engine = sweep(grid)
    turns = [r for r in engine.asked if r.prompt.text.endswith("user\n")]
    assert len(turns) == 4 * (3 + 1 + 1)
    deep = [r for r in turns if r.prompt.text.count("<|im_start|>assistant") > 1]
    assert {request.sample for request in deep} == {0}
    seeds = [request.sampling.seed for request in turns]
    assert None not in seeds
    assert len(set(seeds)) == len(seeds)


@pytest.mark.slow
def test_shards_write_the_plans_of_the_whole(tmp_path: Path) -> None:
    whole, parted = study(tmp_path / "a", 2), study(tmp_path / "b", 2)
    one = sweep(whole)
    parted.models["tiny"]["shards"] = 2
    two = [sweep(parted, shard) for shard in parted.shards(MODEL)]
    asked = [request.key for engine in two for request in engine.asked]
    assert len(asked) == len(set(asked))

    def prompts(engines: list[Talking]) -> list[tuple[str, str]]:
        return sorted((r.item, r.prompt.text) for engine in engines for r in engine.asked)

    assert prompts(two) == prompts([one])


@pytest.mark.slow
def test_two_runs_write_the_same_bytes(tmp_path: Path) -> None:
    grids = [study(tmp_path / name, 2) for name in "ab"]
    for grid in grids:
        sweep(grid)
        collect(grid)
    for name in ("conversations", "answers", "user_turns"):
        one, other = (
            pl.read_parquet(grid.results / at_depth(grid, 2).folder / f"{name}.parquet").drop(
                "key", strict=False
            )
            for grid in grids
        )
        assert one.equals(other)


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"run": {"perturbations": ["truncate"]}}, "self_play: the run has no perturbation 'none'"),
        ({"self_play": {"turns": 2, "datasets": ["item"]}}, "'item' is not a dataset of the run"),
        ({"self_play": {"turns": 1}}, "self_play.turns: found 1, expected at least 2"),
    ],
)
def test_a_study_that_cannot_go_on_is_refused(
    tmp_path: Path, changes: dict[str, Any], found: str
) -> None:
    config = dict(study(tmp_path, 2).config) | changes
    with pytest.raises(ConfigError, match=found):
        check_study(config)

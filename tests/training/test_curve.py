"""A point of a training's curve is what the loaded model says greedily, noted once."""

from pathlib import Path

import polars as pl
import pytest
import torch

from tests.support.tiny_model import write_tiny_model
from tests.training.test_turn_gains import exchange, talk
from userturn.models.whole_model import whole_model
from userturn.prompts.load_template import load_template
from userturn.tables.training_curve import SCHEMA, curve
from userturn.training.curve import Curve
from userturn.training.turn_gains import gains

ROWS = [
    {"conversation": letter, "messages": talk(letter, "why so"), "reference_answer": answer}
    for letter, answer in (("a", "12"), ("b", "12"), ("c", None))
]
SETTINGS = {"items": 3, "max_tokens": 6, "verifier": "numeric"}


def test_a_point_is_greedy_noted_once_and_leaves_the_model_training(tmp_path: Path) -> None:
    folder = write_tiny_model(tmp_path / "tiny")
    template = load_template(folder, {"enable_thinking": False}, "2026-04-02")
    model = whole_model(folder, dtype="float32").train()
    short = {**ROWS[0], "conversation": "short", "messages": talk("d")[:2]}
    points = Curve(template, SETTINGS, [*ROWS, short], tmp_path / "curve")
    before = torch.get_rng_state()
    points.measure(model, 0)
    points.measure(model, 2)
    found = points.points
    points.measure(model, 2)  # as after a kill behind the note
    assert points.points == found and model.training
    assert torch.equal(torch.get_rng_state(), before)
    assert [(row["step"], row["conversation"]) for row in found] == [
        (step, letter) for step in (0, 2) for letter in "abc"
    ]

    def greedy(ids: tuple[int, ...], ends: tuple[int, ...]) -> str:
        said: list[int] = []
        while len(said) < SETTINGS["max_tokens"] and not set(said) & set(ends):
            with torch.no_grad():
                said.append(int(model.eval()(torch.tensor([[*ids, *said]])).logits[0, -1].argmax()))
        return template.decode([token for token in said if token not in ends]).strip()

    row = found[0]
    asked = ROWS[0]["messages"][:1]
    answer = greedy(template.answer_prompt(asked).token_ids, template.end_token_ids)
    turn = greedy(template.probe_prompt(asked, answer).token_ids, template.stop_token_ids)
    assert (row["answer"], row["turn"]) == (answer, turn)
    turns = [exchange(letter, "why so") for letter in "abc"]
    assert [row["gain"] for row in found[:3]] == gains(model, template, turns, turns)
    assert [row["correct"] for row in found[:3]] == [False, False, None]


def test_a_row_of_the_table_is_a_checkpoint_with_what_could_be_measured() -> None:
    asked = {"prompt": "How many apples are left?", "answer": "Six apples are left in the basket."}
    noted = [
        {"step": step, "conversation": name, **asked, "turn": turn, "gain": gain, "correct": right}
        for step, name, turn, gain, right in (
            (0, "a", "", 0.1, False),
            (0, "b", "", None, None),
            (9, "a", "Which six apples are in the basket?", 0.3, True),
            (9, "b", "", 0.5, None),
        )
    ]
    judge = {"restated": 0.8, "grounded": 0.3, "repeated": 0.5, "arguable": True}
    table = pl.DataFrame([{"model": "m", **row} for row in curve(noted, judge)], schema=SCHEMA)
    columns = ["step", "n_conversations", "n_scored", "rate", "n_gains", "gain", "accuracy"]
    assert table.select(columns).rows() == [
        (0, 2, 2, 0.0, 1, pytest.approx(0.1), 0.0),
        (9, 2, 2, 0.5, 2, pytest.approx(0.4), 1.0),
    ]
    (first, _) = curve(noted, None)
    assert (first["n_scored"], first["rate"]) == (0, None)

"""Files of conversations become training data: of CollabLLM's the latest turn and best score."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.support.snakemake_runs import ROOT
from userturn.errors import UserError
from userturn.training.data import final_answer, prepare_training_data


def row(conversation: str, turn: int, score: float, said: str, **other: Any) -> dict[str, Any]:
    prompt = [{"role": "user", "content": "I need help"}]
    for i in range(turn):
        prompt += [{"role": "assistant", "content": f"a{i}"}, {"role": "user", "content": f"u{i}"}]
    return {
        "conv_id": conversation,
        "turn_id": turn,
        "score": score,
        "prompt": prompt,
        "completion": said,
        "single_turn_prompt": "Solve x + 1 = 3.",
        "single_turn_completion": r"So $x = \boxed{2}$.",
    } | other


def prepared(
    folder: Path, rows: list[dict[str, Any]], form: str = "collabllm", **settings: Any
) -> pl.DataFrame:
    file = folder / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    recipe = {"data": [{"file": str(file), "format": form} | settings]}
    prepare_training_data(recipe, "id", folder / "pins.json", folder / "data.parquet")
    return pl.read_parquet(folder / "data.parquet")


def test_latest_turn_and_then_the_best_score_of_each_conversation_are_taken(tmp_path: Path) -> None:
    rows = [
        row("one", 0, 0.9, "early"),
        row("one", 1, 0.2, "late and poor"),
        row("one", 1, 0.7, "late and good"),
        row("two", 0, 0.1, "alone"),
    ]
    table = prepared(tmp_path, rows)
    said = {r["conversation"]: r["messages"][-1]["content"] for r in table.to_dicts()}
    assert said == {"one": "late and good", "two": "alone"}
    assert table["reference_answer"].to_list() == ["2", "2"]
    assert table["goal"][0] == "Solve x + 1 = 3."


def test_conversations_below_the_least_accuracy_are_left_out(tmp_path: Path) -> None:
    rows = [
        row("wrong", 0, 1.0, "no", rewards={"accuracy": 0.0}),
        row("right", 0, 0.1, "yes", rewards={"accuracy": 1.0}),
    ]
    assert prepared(tmp_path, rows, minimum_accuracy=0.5)["conversation"].to_list() == ["right"]


def test_wrong_columns_are_named_beside_those_that_were_expected(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="found the columns prompt, text, expected also conv_id"):
        prepared(tmp_path, [{"text": "x", "prompt": []}])


def test_conversation_without_an_answer_is_refused_by_its_place(tmp_path: Path) -> None:
    rows = [{"messages": [{"role": "user", "content": "hello?"}]}]
    with pytest.raises(UserError, match=r"rows\.jsonl, line 1: found no answer to a user"):
        prepared(tmp_path, rows, "messages")


def test_same_conversation_is_taken_once(tmp_path: Path) -> None:
    messages = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
    table = prepared(tmp_path, [{"id": i, "messages": messages} for i in ("a", "b")], "messages")
    assert table["conversation"].to_list() == ["a"]


@pytest.mark.parametrize(
    ("solution", "answer"),
    [
        (r"first \boxed{1}, then \boxed{\frac{1}{2}}.", r"\frac{1}{2}"),
        ("no box", "no box"),
        (None, None),
    ],
)
def test_final_answer_is_what_the_last_box_holds(solution: str | None, answer: str | None) -> None:
    assert final_answer(solution) == answer


def test_our_own_conversations_react_to_their_answers_and_stand_in_no_demo_set() -> None:
    text = (ROOT / "data/training/everyday_conversations.jsonl").read_text()
    rows = [json.loads(line) for line in text.splitlines()]
    roles = [[message["role"] for message in row["messages"]] for row in rows]
    assert len(rows) == 40 and all(r == ["user", "assistant"] * 2 for r in roles)
    demo = (ROOT / "data/demo/everyday_questions.jsonl").read_text()
    assert not [row["id"] for row in rows if row["messages"][0]["content"] in demo]

"""Columns are told from names and values as a person would, and said where they cannot be."""

from collections.abc import Mapping
from typing import Any

import pytest

from userturn.errors import UserError
from userturn.workflow.columns import guessed_entry

TALK = [{"role": "user", "content": "Hello?"}]
NAMED: Mapping[str, str | None] = {"prompt": None, "reference": None}


def guessed(
    rows: list[dict[str, Any]], are_all: bool = True, **named: str
) -> tuple[dict[str, Any], str]:
    placed = [(f"rows, row {number}", row) for number, row in enumerate(rows, start=1)]
    entry = guessed_entry(placed, {**NAMED, **named}, are_all)
    return dict(entry["fields"]), entry["verifier"]


@pytest.mark.parametrize(
    ("row", "fields", "verifier"),
    [
        ({"question": "Why?", "answer": "48"}, {"prompt": "question", "reference": "answer"}, True),
        ({"Question": "Why?", "Answer": 48}, {"prompt": "Question", "reference": "Answer"}, True),
        ({"prompt": "Why?"}, {"prompt": "prompt"}, False),
        ({"what people ask": "Why?", "n": 3}, {"prompt": "what people ask"}, False),
        ({"messages": TALK, "prompt": "x"}, {"messages": "messages"}, False),
        ({"prompt": TALK}, {"messages": "prompt"}, False),
        ({"chat": '[{"from": "human", "value": "?"}]'}, {"messages": "chat"}, False),
        ({"query": "Why?", "target": "so"}, {"prompt": "query", "reference": "target"}, False),
        ({"question": "Why?", "answer": ["a", "b"]}, {"prompt": "question"}, False),
    ],
)  # fmt: skip
def test_usual_names_of_columns_are_known(
    row: dict[str, Any], fields: dict[str, str], verifier: bool
) -> None:
    assert guessed([row]) == (fields, "numeric" if verifier else "none")


@pytest.mark.parametrize(
    ("references", "verifier"),
    [
        (["48", "1,250.50", "$3", "50%"], "numeric"),
        (["So 4 are left. #### 4"], "numeric"),
        ([r"\frac{1}{2}", "$x^2$"], "math"),
        (["48", "Paris in 1920"], "none"),
        (["A", "B"], "none"),
        ([None, "48"], "numeric"),
        ([None, None], "none"),
    ],
)
def test_references_are_graded_only_where_all_can_be(
    references: list[str | None], verifier: str
) -> None:
    rows = [{"question": f"Why {n}?", "answer": text} for n, text in enumerate(references)]
    assert guessed(rows)[1] == verifier


def test_named_columns_come_before_known_names() -> None:
    row = {"prompt": "Why?", "asked": "How?", "answer": "1", "truth": "2"}
    assert guessed([row], prompt="asked", reference="truth")[0] == {
        "prompt": "asked",
        "reference": "truth",
    }


def test_ids_are_taken_where_every_row_of_the_whole_file_has_its_own() -> None:
    rows = [{"id": "a", "question": "Why?"}, {"id": "b", "question": "How?"}]
    assert guessed(rows)[0]["id"] == "id"
    assert "id" not in guessed(rows, are_all=False)[0]
    assert "id" not in guessed([{**row, "id": "a"} for row in rows])[0]


def test_a_conversation_that_ends_in_an_answer_is_probed_after_its_first_turn() -> None:
    talk = [*TALK, {"role": "assistant", "content": "Hi."}]
    assert guessed_entry([("row 1", {"messages": talk})], NAMED, True)["turns"] == [1]
    assert "turns" not in guessed_entry([("row 1", {"messages": TALK})], NAMED, True)


@pytest.mark.parametrize(
    ("rows", "named", "said"),
    [
        ([], {}, "the dataset has no row"),
        ([{"a": "x", "b": "y"}], {}, "no column is known as the prompt, found a, b; name it with"),
        ([{"question": "Why?"}], {"prompt": "qestion"}, "--prompt: 'qestion' is not a"),
        ([{"question": "Why?"}, {"question": None}], {}, "rows, row 2: the prompt is"),
    ],
)  # fmt: skip
def test_rows_that_cannot_be_items_end_in_a_sentence(
    rows: list[dict[str, Any]], named: dict[str, str], said: str
) -> None:
    with pytest.raises(UserError, match=said):
        guessed(rows, **named)

"""`turns`: one item after each user turn of a conversation, which its id names."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml

from tests.support.published_data import SHARED, needs_shared_data
from userturn.config.check import check
from userturn.datasets.fetch import complete
from userturn.datasets.prepare import items_table, read_dataset
from userturn.datasets.turns import cluster_of, clusters, turn_numbers, version_id
from userturn.errors import ConfigError, UserError

ROOT = Path(__file__).resolve().parents[2]
CHATS = {"fields": {"id": "id", "messages": "messages"}, "turns": "all"}
GRADED = {"id": "id", "messages": "messages", "reference": "answer"}
TREES = {"fields": {"tree": "prompt"}, "turns": "all"}


def chat(name: str, *said: str) -> dict[str, Any]:
    """A conversation whose messages begin with s, u or a: system, user or assistant."""
    roles = {"s": "system", "u": "user", "a": "assistant"}
    return {"id": name, "messages": [{"role": roles[t[0]], "content": t} for t in said]}


def read(path: Path, rows: list[Any], **settings: Any) -> list[dict[str, Any]]:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return read_dataset(path, complete(settings, {"seed": 1}))


def texts(item: dict[str, Any]) -> list[str]:
    return [message["content"] for message in item["messages"]]


THREE = chat("x", "s", "u1", "a1", "u2", "u2b", "a2", "u3", "a3")


def test_each_user_turn_is_an_item_with_the_real_conversation_before_it(tmp_path: Path) -> None:
    items = read(tmp_path / "rows", [THREE], **CHATS)
    assert [(item["item"], item["conversation"], item["turn"]) for item in items] == [
        ("x/turn-1", "x", 1),
        ("x/turn-2", "x", 2),
        ("x/turn-3", "x", 3),
    ]
    assert [texts(item) for item in items] == [
        ["s", "u1"],
        ["s", "u1", "a1", "u2", "u2b"],  # two messages in a row are one turn
        ["s", "u1", "a1", "u2", "u2b", "a2", "u3"],
    ]


def test_the_reference_is_the_next_answer_and_what_the_user_replied_to_it(tmp_path: Path) -> None:
    first, second, last = read(tmp_path / "rows", [THREE], **CHATS)
    assert [m["content"] for m in first["reference_context"]] == ["s", "u1", "a1"]
    assert first["reference_user_turn"] == "u2"
    assert second["reference_user_turn"] == "u3"
    assert last["reference_context"] is last["reference_user_turn"] is None


def test_a_list_of_turns_gives_these_alone_under_the_same_ids(tmp_path: Path) -> None:
    rows = [THREE, chat("y", "u1", "a1")]
    everything = {i["item"] for i in read(tmp_path / "rows", rows, **CHATS)}
    assert everything == {"x/turn-1", "x/turn-2", "x/turn-3", "y/turn-1"}
    some = read(tmp_path / "rows", rows, **{**CHATS, "turns": [1, 3]})
    assert [item["item"] for item in some] == ["x/turn-1", "x/turn-3", "y/turn-1"]


def test_ids_made_from_content_do_not_depend_on_the_list_of_turns(tmp_path: Path) -> None:
    settings = {"fields": {"messages": "messages"}}
    one = read(tmp_path / "rows", [THREE], **settings, turns=[2])
    every = read(tmp_path / "rows", [THREE], **settings, turns="all")
    assert one[0]["item"] == every[1]["item"]


def test_a_limit_takes_whole_conversations(tmp_path: Path) -> None:
    rows = [chat(name, "u1", "a1", "u2") for name in "abcdefgh"]
    items = read(tmp_path / "rows", rows, **CHATS, limit=3)
    taken = {item["conversation"] for item in items}
    assert len(taken) == 3
    assert len(items) == 6
    more = read(tmp_path / "rows", rows, **CHATS, limit=4)
    assert taken < {item["conversation"] for item in more}


def test_an_empty_user_message_is_refused_by_its_row(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="line 1: the conversation ends in the role user"):
        empty = {"id": "x", "messages": [{"role": "user", "content": " "}]}
        read(tmp_path / "rows", [empty], **CHATS)


def node(name: str, role: str, *replies: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"message_id": name, "role": role, "text": name, "replies": list(replies), **more}


def test_a_tree_gives_each_message_that_people_wrote_up_to_there(tmp_path: Path) -> None:
    machine = node("a3", "assistant", node("u4", "prompter"), synthetic=True)
    tree = node(
        "u1",
        "prompter",
        node("a1", "assistant", node("u2", "prompter"), node("u3", "prompter", machine)),
    )
    items = read(tmp_path / "rows", [{"prompt": tree}], **TREES)
    # u4 follows a message that a model wrote.
    assert [(item["item"], texts(item)) for item in items] == [
        ("u1/turn-1/u1", ["u1"]),
        ("u1/turn-2/u2", ["u1", "a1", "u2"]),
        ("u1/turn-2/u3", ["u1", "a1", "u3"]),
    ]
    assert {item["conversation"] for item in items} == {"u1"}


@pytest.mark.parametrize(
    ("item", "turn"),
    [("x/turn-12", 12), ("u1/turn-2/u3", 2), ("test/algebra/7.json", None), ("turn-3", None)],
)
def test_an_id_names_its_turn(item: str, turn: int | None) -> None:
    assert pl.DataFrame({"item": [item]}).select(turn_numbers()).item() == turn


def test_prepared_tables_have_the_two_columns_only_with_turns(tmp_path: Path) -> None:
    path = tmp_path / "rows"
    path.write_text(json.dumps(chat("x", "u1", "a1", "u2")) + "\n")
    with_turns = items_table(CHATS, path)
    assert with_turns.select("conversation", "turn").rows() == [("x", 1), ("x", 2)]
    plain = items_table({"fields": CHATS["fields"]}, path)
    assert plain.columns == [n for n in with_turns.columns if n not in ("conversation", "turn")]


@pytest.mark.parametrize(
    ("settings", "found"),
    [
        ({"fields": {"prompt": "q"}}, "needs `fields.messages` or `fields.tree`"),
        ({"verifier": "numeric", "fields": GRADED}, "goes with `verifier: none` only"),
        ({"condition": "gold_context"}, "takes the place of `condition`"),
        ({"turns": "last"}, "found 'last', expected all, or a list"),
        ({"turns": [0]}, "found 0, expected at least 1"),
    ],
)
def test_an_entry_that_cannot_be_is_refused(settings: dict[str, Any], found: str) -> None:
    config = yaml.safe_load((ROOT / "config.yaml").read_text())
    entry = {"file": str(ROOT / "data/demo/everyday_questions.jsonl"), "verifier": "none", **CHATS}
    config["datasets"] = {"chats": entry | settings}
    config["run"] = {"datasets": ["chats"]}
    config["controls"]["human"] = []
    config.pop("likelihood", None)
    with pytest.raises(ConfigError, match=f"datasets.chats.turns.*{found}"):
        check(config)


@needs_shared_data
def test_published_trees_have_as_many_items_as_human_messages_on_human_paths() -> None:
    path = SHARED / "oasst_en100/en_100_tree.jsonl"
    items = read_dataset(path, TREES)
    # 95 of 100 prompts, 329 human replies at depth 2 and 51 at depth 4 (SOURCE.md).
    of_turns = pl.DataFrame({"turn": [item["turn"] for item in items]})
    assert dict(of_turns.group_by("turn").len().iter_rows()) == {1: 95, 2: 329, 3: 51}


@needs_shared_data
def test_published_second_turns_follow_the_answers_that_are_published_beside_them(
    tmp_path: Path,
) -> None:
    folder = SHARED / "mt_bench"
    answers = {
        row["question_id"]: row["choices"][0]["turns"][0]
        for row in map(json.loads, (folder / "gpt-4.jsonl").read_text().splitlines())
    }
    asked = map(json.loads, (folder / "question.jsonl").read_text().splitlines())
    rows = [
        chat(
            str(row["question_id"]),
            f"u{row['turns'][0]}",
            f"a{answers[row['question_id']]}",
            f"u{row['turns'][1]}",
        )
        for row in asked
        if row["question_id"] in answers
    ]
    items = read(tmp_path / "rows", rows, **CHATS)
    assert [item["turn"] for item in items] == [1, 2] * 30


@pytest.mark.parametrize(
    ("item", "cluster"),
    [
        ("x/turn-12", "x"),
        ("u1/turn-2/u3", "u1"),
        (version_id("7", "de/7"), "7"),
        (f"{version_id('7', 'x')}/turn-2", "7"),
        (f"{version_id('7', 'x')}/turn-2/u3", "7"),
        ("test/algebra/7.json", "test/algebra/7.json"),
        ("turn-3", "turn-3"),
        ("version", "version"),
    ],
)
def test_an_id_names_the_conversation_or_problem_that_it_belongs_to(
    item: str, cluster: str
) -> None:
    assert cluster_of(item) == cluster
    assert pl.DataFrame({"item": [item]}).select(clusters()).item() == cluster

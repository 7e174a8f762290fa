"""A file of any usual form is read, or refused in one sentence that says what was found."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from userturn.config.load import catalogue
from userturn.datasets.fetch import shaping
from userturn.datasets.prepare import items_table
from userturn.errors import UserError

MESSAGES = {"fields": {"messages": "m"}}
PROMPTS = {"fields": {"prompt": "q"}}
USER = {"role": "user", "content": "Hi"}
ANSWER = {"role": "assistant", "content": "Hello"}
BACK = {"role": "user", "content": "Why?"}
TALK = [("user", "Hi"), ("assistant", "Hello"), ("user", "Why?")]
FAR = 253_402_300_800_000  # milliseconds: the year 10000, which Python's dates have not


def said(path: Path, entry: dict[str, Any]) -> list[list[tuple[str, str]]]:
    """Return role and content of the messages of each item."""
    items = items_table({"file": str(path)} | entry, path).to_dicts()
    return [[(m["role"], m["content"]) for m in item["messages"]] for item in items]


def fault(path: Path, entry: dict[str, Any]) -> str:
    with pytest.raises(UserError) as error:
        items_table({"file": str(path)} | entry, path)
    assert "\n" not in str(error.value)
    return str(error.value)


def lines(path: Path, *rows: Any) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize(
    ("messages", "entry"),
    [
        ([USER, ANSWER, BACK], {}),
        (json.dumps([USER, ANSWER, BACK]), {}),
        (list(map(json.dumps, [USER, ANSWER, BACK])), {}),
        ([{"from": name, "value": text} for name, text in zip("hgh", "abc", strict=True)], None),
        ([{"user": "Hi", "bot": "Hello"}, {"user": "Why?", "bot": None}], {}),
        ([{"bot": "Hello", "user": "Hi"}, {"user": "Why?"}], {}),
        ([{"q": "Hi", "a": "Hello"}, {"q": "Why?"}], {"roles": {"q": "user", "a": "assistant"}}),
        (["Hi", "Hello", "Why?"], {"roles": ["user", "assistant"]}),
        ([USER | {"role": "User"}, ANSWER | {"role": "MODEL"}, BACK | {"role": "prompter"}], {}),
        ([USER, ANSWER, BACK | {"content": [{"type": "text", "text": "Why"}, "?"]}], {}),
        ([{"role": "Alice", "text": "Hi"}, ANSWER, BACK], {"roles": {"Alice": "user"}}),
        (
            [
                USER,
                ANSWER | {"content": "No", "if_chosen": False},
                ANSWER | {"if_chosen": True},
                BACK,
            ],
            {},
        ),
    ],
    ids=[
        *("messages", "JSON text", "JSON texts", "from and value", "pairs", "pairs in any order"),
        *(
            "pairs of other names",
            "texts in turns",
            "names of roles",
            "parts",
            "own names",
            "PRISM",
        ),
    ],
)
def test_conversation_of_any_usual_form_is_read(
    tmp_path: Path, messages: Any, entry: dict[str, Any] | None
) -> None:
    if entry is None:
        names, texts = ("human", "gpt", "human"), ("Hi", "Hello", "Why?")
        messages = [{"from": n, "value": t} for n, t in zip(names, texts, strict=True)]
    path = lines(tmp_path / "rows", {"m": messages})
    assert said(path, MESSAGES | (entry or {})) == [TALK]


@pytest.mark.parametrize(
    ("messages", "found"),
    [
        ("Hi", "messages are a text, expected a list"),
        ("[" * 100_000, "messages are a text, expected a list"),
        (["Hi", "Hello"], "message 1 is a text, expected {role, content}"),
        ([["Hi", "Hello"]], "message 1 is a list, expected {role, content}"),
        ([{"speaker": "Q", "text": "Hi"}], "is not {role, content} but has speaker, text;"),
        ([{"role": "tool", "content": "4"}], "message 1 has the role tool, expected one of system"),
        ([{"role": ["user"], "content": "4"}], "message 1 has the role a list, expected one of"),
        ([USER, ANSWER | {"content": None, "tool_calls": [{}]}, BACK], "message 2 calls a tool"),
        ([USER | {"content": [{"type": "image_url", "image_url": "x"}]}], "of the type image_url"),
        ([USER | {"content": {"text": "Hi"}}, USER], None),
        ([USER | {"content": 4}], "message 1 has as its content a number, expected text"),
        ([USER | {"content": []}], "message 1 has as its content a list, expected text"),
        (
            [USER, ANSWER],
            "ends in the role assistant, expected a user message with text; set `turns",
        ),
        ([], "the conversation ends in no message"),
    ],
)
def test_conversation_that_cannot_be_read_says_what_was_found(
    tmp_path: Path, messages: Any, found: str | None
) -> None:
    path = lines(tmp_path / "rows", {"m": messages})
    if found is None:
        assert said(path, MESSAGES) == [[("user", "Hi"), ("user", "Hi")]]
        return
    assert found in fault(path, MESSAGES)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("rows.csv", 'q,a\nHi,1\n,\n"a\nb, c",2\n'),
        ("rows.CSV", '\n\ufeffq;a\r\nHi;1\r\n;\r\n"a\nb, c";2\r\n'.lstrip("\n")),
        ("rows.tsv", 'q\ta\nHi\t1\n"a\nb, c"\t2\n\t\n'),
        ("rows.json", json.dumps([{"q": "Hi"}, {"q": "a\nb, c"}], indent=2)),
        ("rows", '{"q": "Hi"}\n\n{"q": "a\\nb, c"}\n'),
        ("rows.csv", '{"q": "Hi"}\n{"q": "a\\nb, c"}\n'),
    ],
)
def test_text_of_any_usual_form_is_read_packed_or_not(tmp_path: Path, name: str, text: str) -> None:
    plain, packed = tmp_path / name, tmp_path / f"{name}.gz"
    plain.write_bytes(text.encode())
    packed.write_bytes(gzip.compress(text.encode()))
    expected = {(("user", "Hi"),), (("user", "a\nb, c"),)}
    assert {*map(tuple, said(plain, PROMPTS))} == {*map(tuple, said(packed, PROMPTS))} == expected


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("rows.csv", "q,a,q\n1,2,3\n", "has the column 'q' more than once"),
        ("rows.csv", "q,a\nHi,1,2\n", "row 1: found 3 cells, expected 2"),
        ("rows.csv", "q,a\nHi\n", "row 1: found 1 cells, expected 2"),
        ("rows.csv", 'q,a\nx,y\n"Hi,1\n', "after row 1: not CSV (unexpected end of data)"),
        ("rows.csv", "question,a\nHi,1\n", "names 'q', which is not a column; expected one of"),
        ("rows.csv", "", "has no rows"),
        ("rows.csv", "q\n", "has no rows"),
        ("rows.txt", "q,a\nHi,1\n", "give CSV a name that ends in .csv"),
        ("rows.json", "[1]", "row 1: found a number, expected one list of objects"),
        ("rows.json", '[{"q": "Hi"}', "not JSON (Expecting ',' delimiter)"),
        ("rows.json", '[{"q": "Hi", "q": "Ho"}]', "not JSON (a key is given twice)"),
        ("rows.json", '{\n "q": "Hi"\n}', "line 1: not JSON"),
        ("rows", '{"q": ["Hi", "Ho"]}', "the prompt is a list, expected text; correct that row or"),
    ],
)
def test_text_that_cannot_be_read_says_what_was_found(
    tmp_path: Path, name: str, text: str, found: str
) -> None:
    (tmp_path / name).write_text(text)
    assert found in fault(tmp_path / name, PROMPTS)


def test_bytes_of_csv_that_are_not_utf8_are_refused_by_row(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_bytes("q,a\nZoë,1\n".encode("latin-1"))
    assert "row 1: found bytes that are not UTF-8" in fault(tmp_path / "rows.csv", PROMPTS)


def test_a_list_is_a_prompt_only_where_the_entry_says_how(tmp_path: Path) -> None:
    path = lines(tmp_path / "rows", {"turns": ["Hi", "Ho"]})
    assert said(path, {"fields": {"prompt": "turns.0"}}) == [[("user", "Hi")]]
    assert said(path, {"fields": {"prompt": ["turns"]}}) == [[("user", "Hi\nHo")]]
    assert "is a list of 2, which has no 'turns.2'" in fault(
        path, {"fields": {"prompt": "turns.2"}}
    )


TABLE = pa.table(
    {
        "q": ["Hi", "Ho"],
        "outer": [{"inner": "Hi", "other": 1}] * 2,
        "when": pa.array([FAR, 0], pa.timestamp("ms")),
    }
)


def write_stream(table: pa.Table, path: Path) -> None:
    with pa.ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table)


def write_arrow(table: pa.Table, path: Path) -> None:
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table, 1)


@pytest.mark.parametrize("write", [pq.write_table, write_stream, write_arrow])
def test_only_columns_that_an_entry_names_are_read(
    tmp_path: Path, write: Callable[[pa.Table, Path], None]
) -> None:
    path = tmp_path / "rows"
    write(TABLE, path)
    assert sorted(said(path, PROMPTS)) == [[("user", "Hi")], [("user", "Ho")]]
    assert said(path, {"fields": {"prompt": "outer.inner"}}) == [[("user", "Hi")]] * 2
    said_of = fault(path, {"fields": {"prompt": "when"}})
    assert "the column 'when' of the type timestamp[ms] has a value that cannot be read" in said_of
    assert "names 'Q', which is not a column, did you mean 'q'?" in fault(
        path, {"fields": {"prompt": "Q"}}
    )
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    assert "is damaged" in fault(path, PROMPTS)


@pytest.mark.parametrize("write", [pq.write_table, write_stream, write_arrow])
def test_two_columns_of_one_name_are_refused_at_any_depth(
    tmp_path: Path, write: Callable[[pa.Table, Path], None]
) -> None:
    words = pa.array(["a"])
    write(pa.Table.from_arrays([words, words], names=["q", "q"]), tmp_path / "flat")
    assert "has the column 'q' more than once" in fault(tmp_path / "flat", PROMPTS)
    inner = pa.StructArray.from_arrays([words, words], names=["x", "x"])
    deep = pa.ListArray.from_arrays([0, 1], inner)
    write(pa.Table.from_arrays([words, deep], names=["q", "deep"]), tmp_path / "deep")
    assert "column 'deep': has the column 'x' more than once" in fault(tmp_path / "deep", PROMPTS)


def test_folder_that_datasets_saved_is_read_and_identified_by_content(tmp_path: Path) -> None:
    rows = datasets.Dataset.from_dict({"q": [f"Is it {n}?" for n in range(5)]})
    for name in ("one", "again"):
        rows.save_to_disk(tmp_path / name, num_shards=2)
    datasets.DatasetDict({"train": rows, "test": rows}).save_to_disk(tmp_path / "both")
    assert sorted(said(tmp_path / "one", PROMPTS)) == [[("user", f"Is it {n}?")] for n in range(5)]
    one, again = (shaping({"file": str(tmp_path / name), **PROMPTS}) for name in ("one", "again"))
    assert one == again
    assert "holds the splits train, test;" in fault(tmp_path / "both", PROMPTS)
    assert "is neither a file nor a folder that `save_to_disk`" in fault(tmp_path, PROMPTS)


def test_keys_of_messages_that_nothing_reads_are_named_once(tmp_path: Path) -> None:
    rows = [{"m": [USER | {"toxic": False, "name": None}, ANSWER | {"state": "x"}, BACK]}] * 3
    notes: list[str] = []
    items_table(MESSAGES, lines(tmp_path / "rows", *rows), notes)
    assert notes == ["nothing reads these keys of messages: state, toxic"]


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.parquet"])
def test_column_that_an_answer_may_depend_on_is_named_if_nothing_reads_it(
    tmp_path: Path, name: str
) -> None:
    rows = [{"q": "Hi", "system": "Be brief", "tools": "", "source": "x"}]
    path = lines(tmp_path / name, *rows)
    if name.endswith("parquet"):
        pq.write_table(pa.Table.from_pylist(rows), path)
    notes: list[str] = []
    items_table(PROMPTS, path, notes)
    assert notes == ["nothing reads these columns: system"]
    notes.clear()
    items_table({"fields": {"prompt": "system"}}, path, notes)
    assert notes == []


def whole(*messages: dict[str, Any], **more: Any) -> list[dict[str, Any]]:
    """Return messages with the keys that a corpus has beside role and content."""
    return [message | more for message in messages]


CORPORA: dict[str, dict[str, Any]] = {  # a row of each, in the schema of its card; texts invented
    "wildchat": {
        "conversation_hash": "c1",
        "model": "gpt-4",
        "conversation": whole(USER, ANSWER, BACK, ANSWER, toxic=False, language="English"),
        "turn": 2,
        "language": "English",
        "toxic": False,
    },
    "lmsys_chat": {
        "conversation_id": "c1",
        "model": "vicuna-13b",
        "conversation": [USER, ANSWER, BACK, ANSWER],
        "turn": 2,
        "language": "English",
        "openai_moderation": [{"flagged": False}],
        "redacted": False,
    },
    "prism": {
        "conversation_id": "c1",
        "user_id": "user1",
        "conversation_history": [
            USER | {"turn": 0},
            {"role": "model", "content": "No", "turn": 0, "if_chosen": False, "score": 3},
            {"role": "model", "content": "Hello", "turn": 0, "if_chosen": True, "score": 90},
            BACK | {"turn": 1},
            {"role": "model", "content": "So", "turn": 1, "if_chosen": True, "score": 50},
            {"role": "model", "content": "Thus", "turn": 1, "if_chosen": False, "score": 49},
        ],
    },
    "ultrachat": {"prompt": "Hi", "prompt_id": "p1", "messages": [USER, ANSWER, BACK, ANSWER]},
}


@pytest.mark.parametrize("name", CORPORA)
def test_row_in_the_schema_of_a_corpus_gives_an_item_after_each_user_turn(
    tmp_path: Path, name: str
) -> None:
    entry = {key: value for key, value in catalogue()[name].items() if key not in ("hub", "limit")}
    assert said(lines(tmp_path / "rows", CORPORA[name]), entry) == [TALK[:1], TALK]


def test_row_in_the_schema_of_mt_bench_gives_its_first_message(tmp_path: Path) -> None:
    row = {"question_id": 81, "category": "writing", "turns": ["Hi", "Why?"]}
    entry = {"fields": catalogue()["mt_bench"]["fields"]}
    assert said(lines(tmp_path / "rows", row), entry) == [[("user", "Hi")]]


def test_texts_of_the_first_ultrachat_are_whose_turn_it_is(tmp_path: Path) -> None:
    entry = {"fields": {"messages": "data"}, "roles": ["user", "assistant"], "turns": "all"}
    path = lines(tmp_path / "rows", {"id": "0", "data": ["Hi", "Hello", "Why?", "So"]})
    assert said(path, entry) == [TALK[:1], TALK]

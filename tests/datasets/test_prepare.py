"""Datasets: the same rows give the same items, and a bad row is refused by its place."""

import gzip
import json
import random
import tracemalloc
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from userturn.config.check import check
from userturn.config.load import catalogue
from userturn.datasets.fetch import complete, fetch, shaping
from userturn.datasets.messages import answer_to
from userturn.datasets.prepare import prepare_dataset, read_dataset, read_items
from userturn.errors import ConfigError, UserError
from userturn.storage.hashing import file_sha256

ROOT = Path(__file__).resolve().parents[2]
CONFIG = yaml.safe_load((ROOT / "config.yaml").read_text())
QUESTIONS = {"fields": {"prompt": "question", "reference": "answer"}}
CHATS = {"fields": {"id": "prompt_id", "messages": "prompt.messages"}}
ROWS = [
    {"question": "What is 2 + 3?", "answer": "5"},
    {"question": "Wie viel ist 7 × 6?\u2028", "answer": "42"},
    {"question": "Name a prime.", "answer": None},
]
REVISION = "0123456789abcdef0123456789abcdef01234567"


def write(path: Path, rows: list[Any], ending: str = "\n", start: bytes = b"") -> Path:
    text = ending.join(json.dumps(row, ensure_ascii=False) for row in rows)
    path.write_bytes(start + text.encode() + ending.encode())
    return path


def read(path: Path, settings: dict[str, Any], **more: Any) -> list[dict[str, Any]]:
    return read_dataset(path, complete(settings | more, {"seed": 1}))


def coval_row(prompt_id: str, *turns: str) -> dict[str, Any]:
    """A row in the schema of CoVal's comparisons.jsonl, all texts invented."""
    said = zip(["developer", "user", "assistant", "user"], ["Be brief.", *turns], strict=False)
    response = [{"role": "assistant", "content": "It depends."}]
    ranking = {"ranking": "A>B>C=D", "rationale": "clearer"}
    blocks = {"world": [ranking], "personal": [ranking], "unacceptable": [{"rating": "none"}]}
    assessment = {"annotator_id": "a1", "importance": "high", "ranking_blocks": blocks}
    return {
        "prompt_id": prompt_id,
        "prompt": {"messages": [{"role": role, "content": text} for role, text in said]},
        "responses": [{"response_index": index, "messages": response} for index in "ABCD"],
        "metadata": {"assessments": [assessment]},
    }


@pytest.mark.parametrize(("ending", "start"), [("\r\n", b""), ("\r", b""), ("\n", b"\xef\xbb\xbf")])
def test_line_endings_and_byte_order_marks_change_nothing(
    tmp_path: Path, ending: str, start: bytes
) -> None:
    plain = read(write(tmp_path / "plain.jsonl", ROWS), QUESTIONS)
    assert read(write(tmp_path / "other", ROWS, ending, start), QUESTIONS) == plain


def test_nulls_that_parquet_fills_into_arguments_are_dropped_and_zeros_kept(tmp_path: Path) -> None:
    kwargs = [{"n": 0, "word": ""}, {"m": 2.0, "flag": False}]
    rows = [{"q": "a", "kwargs": kwargs}, {"q": "b", "kwargs": [{"m": 1.5}]}]
    settings = {"fields": {"prompt": "q", "arguments": {"kwargs": "kwargs"}}}
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "filled.parquet")
    items = read(tmp_path / "filled.parquet", settings)
    assert items == read(write(tmp_path / "plain", rows), settings)
    assert '{"kwargs":[{"n":0,"word":""},{"flag":false,"m":2}]}' in [
        item["verifier_arguments"] for item in items
    ]


def test_a_reference_that_pandas_left_out_is_none(tmp_path: Path) -> None:
    rows = [{"question": "a", "answer": float("nan")}, {"question": "b", "answer": 2.5}]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "rows")
    assert {i["reference_answer"] for i in read(tmp_path / "rows", QUESTIONS)} == {None, "2.5"}


def test_an_id_that_is_no_whole_number_is_refused_by_its_kind(tmp_path: Path) -> None:
    for id_, kind in {1.0: "a number", None: "nothing", "": "empty"}.items():
        with pytest.raises(UserError, match=f"line 1: the id is {kind}, expected text or a whole"):
            read(
                write(tmp_path / "rows", [{"id": id_, "question": "a"}]),
                {"fields": {"id": "id", "prompt": "question"}},
            )


def test_the_order_of_rows_changes_neither_ids_nor_subsample(tmp_path: Path) -> None:
    rows = [{"question": f"How much is {n} + 1?", "answer": str(n + 1)} for n in range(50)]
    turned = write(tmp_path / "turned", rows[::-1])
    straight = write(tmp_path / "straight", rows)
    assert read(turned, QUESTIONS) == read(straight, QUESTIONS)
    assert read(turned, QUESTIONS, limit=7) == read(straight, QUESTIONS, limit=7)


def test_a_subsample_of_a_grown_file_keeps_its_old_rows_or_takes_new_ones(tmp_path: Path) -> None:
    rows = [{"question": f"How much is {n} + 1?", "answer": str(n + 1)} for n in range(60)]
    ids = {i["item"] for i in read(write(tmp_path / "old", rows[:50]), QUESTIONS)}
    old = {i["item"] for i in read(tmp_path / "old", QUESTIONS, limit=20)}
    new = {i["item"] for i in read(write(tmp_path / "new", rows), QUESTIONS, limit=20)}
    assert len(new) == 20
    assert new & ids <= old


def test_equal_rows_without_ids_are_told_apart(tmp_path: Path) -> None:
    items = read(write(tmp_path / "rows", [ROWS[0], ROWS[1], ROWS[0]]), QUESTIONS)
    assert sorted(item["item"][16:] for item in items) == ["", "", "-2"]


def test_an_id_seen_before_is_refused_with_both_places(tmp_path: Path) -> None:
    path = write(
        tmp_path / "rows", [{"id": 7, "q": "a"}, {"id": 8, "q": "b"}, {"id": "7", "q": "c"}]
    )
    with pytest.raises(UserError, match=r"line 3: the id '7' is also that of .*line 1;"):
        read(path, {"fields": {"id": "id", "prompt": "q"}})


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"question": "What', "not JSON"),
        (b'{"question": "\xff"}', "not UTF-8"),
        (b'["a"]', "found a list, expected one object in each line"),
        (b'{"question": NaN, "answer": "1"}', "not JSON"),
        (b'{"question": "a", "question": "b"}', "not JSON .a key is given twice"),
        (b'{"question": null, "answer": "1"}', "the prompt is nothing, expected text"),
        (b'{"question": " ", "answer": "1"}', "expected a user message with text"),
        (b'{"question": "\\u200b\\u00a0", "answer": "1"}', "expected a user message with text"),
        (b'{"question": {"text": "a"}, "answer": "1"}', "the prompt is keys with values, expected"),
        (b'{"question": "a", "answer": {}}', "the reference answer is keys with values, expected"),
        (b'{"question": "a\\ud800", "answer": "1"}', "lone surrogate"),
        (b'{"question": "a", "answer": ["1"]}', "the reference answer is a list"),
        (b'{"question": "a", "anwser": "1"}', "which is not a column, did you mean 'anwser'"),
    ],
)
def test_a_bad_row_is_refused_by_its_line(tmp_path: Path, line: bytes, reason: str) -> None:
    path = write(tmp_path / "rows.jsonl", ROWS)
    path.write_bytes(path.read_bytes() + b"\n" + line)
    with pytest.raises(UserError, match=f"rows.jsonl, line 5: .*{reason}"):
        read(path, QUESTIONS)


def test_what_stands_in_a_bad_row_is_not_shown(tmp_path: Path) -> None:
    secret = [{"role": "user", "content": "xyzzy"}, {"role": "assistant", "content": "xyzzy"}]
    path = write(tmp_path / "rows", [{"prompt_id": "p", "prompt": {"messages": secret}}])
    with pytest.raises(UserError, match="line 1: the conversation ends in") as refusal:
        read(path, CHATS)
    assert "xyzzy" not in str(refusal.value)


def test_another_number_of_rows_than_pinned_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="found 3 rows, expected 4"):
        read(write(tmp_path / "rows", ROWS), QUESTIONS, rows=4)


def test_another_content_than_pinned_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "rows", ROWS)
    with pytest.raises(UserError, match=rf"found the sha256 {file_sha256(path)}, expected 00"):
        fetch({"file": str(path), "sha256": "0" * 64})


def test_a_dataset_is_identified_by_content_not_by_name(tmp_path: Path) -> None:
    first, second = (write(tmp_path / name, ROWS) for name in ("first", "second"))
    identities = [shaping(QUESTIONS | {"file": str(path), "rows": 3}) for path in (first, second)]
    assert identities[0] == identities[1]


def hub_entry(**more: str) -> dict[str, Any]:
    return QUESTIONS | {"hub": "some/thing", "revision": REVISION, "file": "main/test.jsonl"} | more


def test_a_file_in_the_hubs_cache_needs_no_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    snapshot = tmp_path / "datasets--some--thing" / "snapshots" / REVISION / "main"
    snapshot.mkdir(parents=True)
    path = write(snapshot / "test.jsonl", ROWS)
    entry = hub_entry(sha256=file_sha256(path))
    prepare_dataset(complete(entry, {"seed": 1}), "identity", tmp_path / "items.parquet")
    assert len(list(read_items(tmp_path / "items.parquet"))) == 3


def test_a_file_that_neither_cache_nor_hub_gives_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(UserError, match=r"dataset 'some/thing' \('main/test.jsonl' at "):
        fetch(hub_entry())


def test_the_instruction_follows_the_prompt_and_changes_no_id(tmp_path: Path) -> None:
    path = write(tmp_path / "rows", ROWS[:1])
    (tmp_path / "instruction.txt").write_text("Be quick.\n")
    entry = QUESTIONS | {"file": str(path), "instruction": str(tmp_path / "instruction.txt")}
    for name, settings in {"with": entry, "without": QUESTIONS | {"file": str(path)}}.items():
        prepare_dataset(complete(settings, {"seed": 1}), "identity", tmp_path / name)
    (with_it,), (without,) = (read_items(tmp_path / name) for name in ("with", "without"))
    assert with_it.id == without.id
    assert with_it.messages[-1]["content"] == "What is 2 + 3?\n\nBe quick."


def test_mbpps_prompt_shows_the_text_and_below_it_the_tests(tmp_path: Path) -> None:
    """A row in the schema of MBPP, all texts invented."""
    tests = ["assert twice(1) == 2", "assert twice(0) == 0"]
    row = {"task_id": 11, "text": "Double a number.", "code": "", "test_setup_code": ""}
    path = write(tmp_path / "rows", [row | {"test_list": tests, "challenge_test_list": []}])
    (item,) = read(path, {"fields": catalogue()["mbpp"]["fields"]})
    assert item["item"] == "11"
    assert item["messages"][-1]["content"] == "Double a number.\n\n" + "\n".join(tests)
    assert json.loads(item["verifier_arguments"]) == {"start": "", "tests": tests}


def test_a_language_filter_keeps_what_its_user_writes_in_that_language(tmp_path: Path) -> None:
    english = {"question": "How do I keep the rice from sticking to the pot?", "answer": ""}
    german = {"question": "Wie verhindere ich, dass der Reis am Topf klebt?", "answer": ""}
    wordless = {"question": "???", "answer": ""}
    path = write(tmp_path / "rows", [english, german, wordless])
    (item,) = read(path, QUESTIONS, language="de")
    assert item["messages"][0]["content"] == german["question"]


def test_a_developer_speaks_as_system_and_the_second_user_turn_is_the_reference(
    tmp_path: Path,
) -> None:
    rows = [coval_row("p1", "Is it fair?"), coval_row("p2", "Is it fair?", "Yes.", "Why?")]
    single, multi = read(write(tmp_path / "comparisons.jsonl", rows), CHATS)
    assert single["messages"][0] == {"role": "system", "content": "Be brief."}
    assert (single["reference_context"], single["reference_user_turn"]) == (None, None)
    assert multi["messages"][-1]["content"] == "Why?"
    assert multi["reference_context"] == multi["messages"][:3]
    assert multi["reference_user_turn"] == "Why?"


def test_the_gold_context_ends_before_the_answer_that_the_reference_reacts_to(
    tmp_path: Path,
) -> None:
    rows = [coval_row("p1", "Is it fair?"), coval_row("p2", "Is it fair?", "Yes.", "Why?")]
    path = write(tmp_path / "comparisons.jsonl", rows)
    (item,) = read(path, CHATS, condition="gold_context")
    assert [m["content"] for m in item["messages"]] == ["Be brief.", "Is it fair?"]
    assert item["reference_context"][-1]["content"] == "Yes."


def test_an_answer_is_one_to_exactly_the_messages_of_an_item_and_has_text(tmp_path: Path) -> None:
    rows = [coval_row("p1", "Is it fair?"), coval_row("p2", "Is it fair?", "Yes.", "Why?")]
    path = write(tmp_path / "comparisons.jsonl", rows)

    def answers(**condition: str) -> list[str | None]:
        items = read(path, CHATS, **condition)
        return [answer_to(item["messages"], item["reference_context"]) for item in items]

    assert answers(condition="gold_context") == ["Yes."]
    assert answers() == [None, None]  # the second ends in "Why?", which has no answer
    asked, empty = {"role": "user", "content": "Why?"}, {"role": "assistant", "content": " \n"}
    assert answer_to([asked], [asked, empty]) is None


def message(role: str, text: str, *replies: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"message_id": f"id-{text}", "role": role, "text": text, "replies": replies} | more


def test_a_tree_gives_every_human_reply_to_an_assistant(tmp_path: Path) -> None:
    replies = [message("prompter", "Why?"), message("prompter", "So?", synthetic=True)]
    leaf = {"message_id": "id-No.", "role": "assistant", "text": "No."}
    tree = message("prompter", "Is it fair?", message("assistant", "Yes.", *replies), leaf)
    (item,) = read(write(tmp_path / "trees", [{"prompt": tree}]), {"fields": {"tree": "prompt"}})
    assert (item["item"], item["reference_user_turn"]) == ("id-Why?", "Why?")
    assert item["messages"] == [{"role": "user", "content": "Is it fair?"}]
    assert item["reference_context"][1:] == [{"role": "assistant", "content": "Yes."}]


@pytest.mark.slow
def test_twenty_thousand_rows_fit_into_little_memory(tmp_path: Path) -> None:
    words = " ".join(random.Random(1).choices(["soup", "rain", "bread", "tin"], k=100))
    rows = [{"question": f"{words} {n}", "answer": str(n)} for n in range(20_000)]
    path = write(tmp_path / "rows", rows)
    tracemalloc.start()
    items = read(path, QUESTIONS)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(items) == 20_000
    assert peak < 200e6  # the file has 11 MB; what is held an item costs about 3 kB


def test_the_shipped_datasets_are_a_valid_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    check(CONFIG)


@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        ({"file": "f", "fields": {"prompt": "q"}, "verifyer": "none"}, "did you mean 'verifier'"),
        (
            hub_entry() | {"verifier": "none", "revision": "main"},
            r"found 'main', expected the 40 hex",
        ),
        ({"hub": "a/b", **QUESTIONS, "file": "f", "verifier": "none"}, "'revision' is missing"),
        (
            {"file": "f", "fields": {"id": "i"}, "verifier": "none"},
            "expected exactly one of: `prompt`, `messages`, `tree`",
        ),
    ],
)
def test_a_misspelt_entry_is_refused_in_one_sentence(
    entry: dict[str, Any], sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    with pytest.raises(ConfigError, match=sentence):
        check(CONFIG | {"datasets": CONFIG["datasets"] | {"mine": entry}})


PACKED = gzip.compress(b"".join(b'{"question": "What is %d?"}\n' % n for n in range(9999)), mtime=0)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (PACKED[: len(PACKED) // 2], "the gzipped file is cut short or damaged"),
        (PACKED[:5], "after line 0: the gzipped file is cut short or damaged"),
        (PACKED[:99] + b"xxxx" + PACKED[103:], "the gzipped file is cut short or damaged"),
        (PACKED + b"garbage", "the gzipped file is cut short or damaged"),
        (b"PK\x03\x04" + bytes(9), "is a zip archive or an Excel file, expected JSON lines"),
        (b"\x28\xb5\x2f\xfd" + bytes(9), "is packed by zstd, expected JSON lines"),
        (b"\n \n", "has no rows"),
        (b"hello", "line 1: not JSON .*, expected one object in each line"),
        (b"<!DOCTYPE html>", "is a page of the web, expected JSON lines"),
        (b"version https://git-lfs.github.com/spec/v1\n", "a pointer of Git LFS, of which"),
        (b"SQLite format 3\0", "is an SQLite database, expected JSON lines"),
        (b"PAR1" + bytes(99), "the Parquet file is damaged"),
    ],
)
def test_a_file_that_is_damaged_or_of_another_kind_is_refused_in_a_sentence(
    tmp_path: Path, content: bytes, said: str
) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(content)
    with pytest.raises(UserError, match=said) as refused:
        read_dataset(path, {"fields": {"prompt": "question"}})
    assert "\n" not in str(refused.value)

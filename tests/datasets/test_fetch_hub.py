"""A split of a dataset on the hub is read row by row, through `datasets`, as far as needed."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.loopback_hub import COMMIT, Hub, loopback_hub, read_from

N_SHARDS, N_ROWS = 14, 60
pytestmark = pytest.mark.slow
CHAT = {
    "hub": "org/chat",
    "revision": COMMIT,
    "fields": {"messages": "conversation", "language": "language"},
    "seed": 1,
}
FAR = pa.array([253_402_300_800_000] * N_ROWS, pa.timestamp("ms"))  # the year 10000
TOKEN = "hf_of_somebody"


def conversation(text: str) -> list[dict[str, Any]]:
    said = [("user", f"What is {text}?"), ("assistant", "It is."), ("user", "Why?")]
    return [{"role": role, "content": words, "toxic": False} for role, words in said]


def write_shards(folder: Path, order: list[int]) -> None:
    """Write a corpus as WildChat's: shards of one split, with a column that Python cannot hold."""
    folder.mkdir(parents=True)
    for number, shard in enumerate(order):
        said = [conversation(f"{shard}-{row}") for row in range(N_ROWS)]
        spoken = ["German" if row % 3 == 0 else "English" for row in range(N_ROWS)]
        table = pa.table({"conversation": said, "language": spoken, "timestamp": FAR})
        pq.write_table(table, folder / f"train-{number:05d}-of-{N_SHARDS:05d}.parquet")


def write_lines(path: Path, rows: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    folder = tmp_path_factory.mktemp("hub")
    write_shards(folder / "org/chat/data", list(range(N_SHARDS)))
    write_shards(folder / "org/turned/data", list(range(N_SHARDS))[::-1])
    write_shards(folder / "org/gated/data", [0])
    (folder / "org/gated/.gated").write_text(TOKEN)
    for config, split in (("de", "train"), ("en", "train"), ("en", "test")):
        rows = [{"q": f"{config} {split} {n}"} for n in range(3)]
        write_lines(folder / "org/several" / config / f"{split}.jsonl", rows)
    card = [
        f"- config_name: {name}\n  data_files:\n  - split: train\n    path: {name}/train.jsonl"
        for name in ("de", "en")
    ]
    card[1] += "\n  - split: test\n    path: en/test.jsonl"
    text = "\n".join(["---", "configs:", *card, "---", ""])
    (folder / "org/several/README.md").write_text(text)
    wrong = [{"m": conversation(str(n)) if n % 2 else []} for n in range(6)]
    write_lines(folder / "org/holes/train.jsonl", wrong)
    write_lines(folder / "org/others/train.jsonl", [{"conversation": [{"x": 1}]}] * 200)
    (folder / "org/script").mkdir()
    (folder / "org/script/script.py").write_text("import datasets\n")
    with loopback_hub(folder) as running:
        yield running


def texts(told: dict[str, Any]) -> set[str]:
    return {item["messages"][0]["content"] for item in told["items"]}


def test_a_limit_fetches_the_shards_that_it_needs_and_no_column_that_nobody_asks_for(
    hub: Hub, tmp_path: Path
) -> None:
    """40 of the 60 rows of a shard are English."""
    hub.fetched.clear()
    (told,) = read_from(hub, tmp_path, CHAT | {"language": "en", "limit": 40})
    assert len(told["items"]) == 40
    assert told["notes"] == ["nothing reads these keys of messages: toxic"]
    assert hub.fetched == {f"data/train-00000-of-{N_SHARDS:05d}.parquet"}
    (told,) = read_from(hub, tmp_path, CHAT | {"language": "en", "limit": 41})
    assert len(told["items"]) == 41
    assert len(hub.fetched) == 2


EVERY = CHAT | {"language": "all"}
SEVERAL = {"hub": "org/several", "revision": COMMIT, "fields": {"prompt": "q"}}
PARTS: dict[str, dict[str, Any]] = {  # by how the questions begin, what the entry names
    "de train": {"config": "de"},
    "en train": {"config": "en", "split": "train"},
    "en test": {"config": "en", "split": "test"},
    "en t": {"files": "en/*.jsonl"},
    "de train,en test": {"files": ["de/train.jsonl", "en/test.jsonl"]},
}
HOLES = {"hub": "org/holes", "revision": COMMIT, "fields": {"messages": "m"}}
WRONG: dict[str, dict[str, Any]] = {  # by what is said, the entry
    "Available splits: ['train']": {"split": "test"},
    "'nope' not found": {"config": "nope"},
    "dataset 'org/none' at": {"hub": "org/none"},
    "dataset 'org/script' at": {"hub": "org/script"},
    "No (supported) data files found": {"files": "nothing*"},
    "names 'conversatoin', which is not a column, did you mean 'conversation'?": {
        "fields": {"messages": "conversatoin"}
    },
    "row 1: message 1 is not {role, content}": {
        "hub": "org/others",
        "fields": {"messages": "conversation"},
    },
}


@pytest.fixture(scope="module")
def told(hub: Hub, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What is read of many entries, by one process: `datasets` takes seconds to import."""
    entries = {
        "here": EVERY,
        "turned": EVERY | {"hub": "org/turned"},
        "holes": HOLES,
        **{begin: SEVERAL | more for begin, more in PARTS.items()},
        **{said: CHAT | more for said, more in WRONG.items()},
    }
    found = read_from(hub, tmp_path_factory.mktemp("cache"), *entries.values())
    return dict(zip(entries, found, strict=True))


def test_ids_do_not_depend_on_the_order_of_shards(told: dict[str, Any]) -> None:
    assert told["here"] == told["turned"]
    items = told["here"]["items"]
    assert len(items) == N_SHARDS * N_ROWS and {item["language"] for item in items} == {"en", "de"}


@pytest.mark.parametrize("begin", PARTS)
def test_configuration_split_and_files_say_which_rows_are_meant(
    told: dict[str, Any], begin: str
) -> None:
    assert len(told[begin]["items"]) == (6 if "files" in PARTS[begin] else 3)
    assert all(text.startswith(tuple(begin.split(","))) for text in texts(told[begin]))


def test_gated_dataset_is_read_by_the_users_token_and_says_what_is_missing(
    hub: Hub, tmp_path: Path
) -> None:
    entry = CHAT | {"hub": "org/gated", "limit": 3}
    (told,) = read_from(hub, tmp_path / "without", entry, HF_TOKEN="")
    assert "is gated: accept its terms" in told["error"] and "HF_TOKEN" in told["error"]
    (told,) = read_from(hub, tmp_path / "with", entry, HF_TOKEN=TOKEN)
    assert len(told["items"]) == 3


def test_row_of_a_split_that_gives_no_item_is_left_out_and_counted(told: dict[str, Any]) -> None:
    assert len(told["holes"]["items"]) == 3
    assert told["holes"]["notes"][0] == (
        "3 rows of 6 left out, the first: the hub's dataset org/holes, row 1: the conversation "
        "ends in no message, expected a user message with text; correct or remove that row"
    )


@pytest.mark.parametrize("said", WRONG)
def test_what_cannot_be_read_is_one_sentence(told: dict[str, Any], said: str) -> None:
    assert said in told[said]["error"] and "\n" not in told[said]["error"]

"""A first study's configuration says what was read from the model, the rows and the machine."""

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml

from tests.support.model_lists import listing
from tests.support.tiny_model import write_tiny_model
from userturn.config.load import load_study
from userturn.errors import UserError
from userturn.models.machine import Machine
from userturn.sources.registry import check_study
from userturn.workflow.first_study import (
    StudyArguments,
    first_datasets,
    first_model,
    is_begun,
    new_first_study,
    shipped,
    short_name,
    study_text,
)

CPU = Machine((), 16 * 2**30)
PLAIN = StudyArguments(
    "./tiny", None, None, 50, {"prompt": None, "reference": None}, None, None, "completions"
)
ROWS = [{"question": f"What is {n} and 1?", "answer": str(n + 1)} for n in range(4)]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_model(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture
def wanted(tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[StudyArguments]:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q.csv").write_text(pl.DataFrame(ROWS).write_csv())
    yield replace(PLAIN, model=str(tiny), data="q.csv")


def made(wanted: StudyArguments, machine: Machine = CPU, folder: str = "study") -> dict[str, Any]:
    """Make a first study, and return what its own file says."""
    config = shipped()
    datasets = first_datasets(wanted, config)
    model = first_model(wanted, config, machine)
    text = study_text(wanted, model, datasets, Path(folder))
    if not is_begun(Path(folder), text):
        here = Path.cwd()
        with new_first_study(Path(folder), text, datasets.file):
            pass
        os.chdir(here)
    return dict(yaml.safe_load(Path(folder, "config.yaml").read_text()))


def with_context(tiny: Path, tokens: int, folder: Path) -> Path:
    """Copy a model's config.json and links to its other files, with another longest text."""
    folder.mkdir()
    for file in tiny.iterdir():
        (folder / file.name).symlink_to(file)
    config = json.loads((tiny / "config.json").read_text())
    (folder / "config.json").unlink()
    (folder / "config.json").write_text(json.dumps(config | {"max_position_embeddings": tokens}))
    return folder


@pytest.mark.parametrize("tokens", [1024, 2048, 4096, 8192, 32768])
def test_prompt_answer_and_turn_fit_into_what_the_model_reads(
    tokens: int, wanted: StudyArguments, tiny: Path, tmp_path: Path
) -> None:
    model = with_context(tiny, tokens, tmp_path / "other")
    said = made(replace(wanted, model=str(model)))
    (entry,) = said["models"].values()
    assert entry["max_model_len"] == min(tokens, 4096)
    together = said["answer"]["max_tokens"] + said["user_turn"]["max_tokens"]
    assert together <= entry["max_model_len"] * 5 / 8


def test_the_study_is_one_that_the_pipeline_takes(
    wanted: StudyArguments, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = made(wanted)
    assert said["datasets"]["q"] == {
        "file": "data/questions/q.csv",
        "fields": {"prompt": "question", "reference": "answer"},
        "verifier": "numeric",
        "instruction": "data/instructions/final_answer.txt",
        "limit": 50,
    }
    monkeypatch.chdir("study")
    config = load_study()
    check_study(config)
    assert config["run"]["models"] == ["tiny"]
    assert Path(config["datasets"]["q"]["file"]).is_file()


def test_the_same_arguments_go_on_and_others_are_refused(wanted: StudyArguments) -> None:
    made(wanted)
    made(wanted)  # goes on
    with pytest.raises(UserError, match="is of another study, or was changed"):
        made(replace(wanted, items=3))


def test_a_judge_is_the_primary_one_beside_the_one_that_needs_no_model(
    wanted: StudyArguments,
) -> None:
    said = made(replace(wanted, judge="gpt-5.4-mini"))
    assert said["run"]["judges"] == ["heuristic", "gpt-5.4-mini"]
    assert said["primary_judge"] == "gpt-5.4-mini"


@pytest.mark.parametrize("api", ["completions", "chat"])
def test_a_server_is_asked_which_model_it_has(
    api: str, wanted: StudyArguments, tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with listing({"data": [{"id": "mine", "root": str(tiny), "max_model_len": 2048}]}) as url:
        made(replace(wanted, model=url, api=api))
    monkeypatch.chdir("study")
    config = load_study()
    check_study(config)
    entry = config["models"]["mine"]
    by_messages = {"source": "mine", "api": "chat"}
    by_tokens = {"source": str(tiny), "served_as": "mine", "max_model_len": 2048}
    assert entry == {"endpoint": url} | (by_messages if api == "chat" else by_tokens)
    assert config["answer"]["max_tokens"] == 1024  # half of what the server takes


def test_without_data_the_projects_own_items_are_asked(wanted: StudyArguments) -> None:
    said = made(replace(wanted, data=None, items=5))
    assert sum(entry["limit"] for entry in said["datasets"].values()) == 5
    assert said["run"]["datasets"] == list(said["datasets"])


def test_a_shipped_dataset_is_taken_by_name(wanted: StudyArguments) -> None:
    datasets = first_datasets(replace(wanted, data="gsm8k", items=7), shipped())
    assert datasets.entries == {"gsm8k": {"limit": 7}}


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("org/My_Model-7B", "my_model-7b"),
        ("/models/Mine.Q4_1.gguf", "mine.q4_1"),
        ("./models/tiny/", "tiny"),
        ("data/Questions (2).jsonl.gz", "questions-2"),
        ("org/gsm8k", "my-gsm8k"),
    ],
)
def test_names_are_those_that_an_entry_may_have(source: str, name: str) -> None:
    assert short_name(source, {"gsm8k": {}}) == name


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet", "arrow", "folder"])
def test_every_form_of_rows_is_read_and_copied(
    form: str, wanted: StudyArguments, tmp_path: Path
) -> None:
    from datasets import Dataset

    rows, path = pl.DataFrame(ROWS), tmp_path / f"mine.{form}"
    write = {
        "csv": lambda: rows.write_csv(path),
        "jsonl": lambda: rows.write_ndjson(path),
        "parquet": lambda: rows.write_parquet(path),
        "arrow": lambda: rows.write_ipc(path, compat_level=pl.CompatLevel.oldest()),
        "folder": lambda: Dataset.from_list(ROWS).save_to_disk(path),
    }
    write[form]()
    said = made(replace(wanted, data=str(path)))
    (entry,) = said["datasets"].values()
    assert entry["fields"] == {"prompt": "question", "reference": "answer"}
    assert Path("study", entry["file"]).exists()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"model": "qwen3.5-2"}, "is neither a hub id .*did you mean 'qwen3.5-2b'"),
        ({"model": "./nowhere"}, "model source './nowhere' does not exist"),
        (
            {"data": "nowhere.csv"},
            "--data: 'nowhere.csv' does not exist; expected questions as CSV",
        ),
        ({"data": "gsm8"}, "did you mean 'gsm8k'"),
        ({"data": "qq.csv"}, "'qq.csv' does not exist; .* did you mean 'q.csv'"),
        ({"data": "q.cvs"}, "is neither a file, .* did you mean 'q.csv'"),
        ({"model": "."}, "has no config.json; expected a folder that `save_pretrained` wrote"),
        ({"model": "http://127.0.0.1:9/v1"}, "the server at .* did not list its models"),
    ],
)
def test_what_is_not_there_is_said_before_a_folder_is_made(
    change: dict[str, str], said: str, wanted: StudyArguments
) -> None:
    with pytest.raises(UserError, match=said):
        made(replace(wanted, **change))  # type: ignore[arg-type]
    assert not Path("study").exists()

"""A model or dataset with another name is asked nothing again, and its rows have the new name."""

import json
import shutil
import signal
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml

from tests.support.snakemake_runs import ROOT
from tests.support.tiny_model import write_tiny_model
from userturn.datasets.prepare import prepare_dataset
from userturn.generation.collect import table_of
from userturn.generation.describe_model import describe_model
from userturn.generation.sweep import run_sweep
from userturn.models import engine
from userturn.models.requests import Completion, Request
from userturn.processes import STOP_SIGNALS
from userturn.sources.registry import asked
from userturn.storage.files import read_identity
from userturn.study.cells import Cell, files_of
from userturn.study.contents import FileContents
from userturn.study.grid import Grid, Places
from userturn.workflow.pending import Pending

Names = Mapping[str, Mapping[str, str]]
FIRST: Names = {"models": {"a": "a", "b": "b"}, "datasets": {"x": "x", "y": "y"}}
LIMITS = {"x": 2, "y": 4}
RENAMED: Mapping[str, Names] = {  # the name that each had before
    "new names": {"models": {"c": "a", "b": "b"}, "datasets": {"z": "x", "y": "y"}},
    "swapped names": {"models": {"a": "b", "b": "a"}, "datasets": {"x": "y", "y": "x"}},
}


def load(folder: Path, settings: Mapping[str, Any]) -> engine.Engine:
    """Return an engine whose replies show who was asked, with which seed."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)

    def reply(requests: Iterable[Request]) -> Iterator[tuple[Request, Completion]]:
        for request in requests:
            said = f"{folder.name} {request.item} {request.sampling.seed}"
            ids = tokenizer(said, add_special_tokens=False)["input_ids"]
            yield request, Completion((*ids, request.sampling.stop_token_ids[0]), "stop")

    return reply  # type: ignore[return-value]


def grid_of(
    folder: Path, names: Names, more: int = 0, temperatures: Iterable[float] = (0, 1)
) -> Grid:
    """Return the grid of a study whose models and datasets have these names now."""
    config = yaml.safe_load((ROOT / "config.yaml").read_text())
    config["models"] = {
        name: {"source": str(folder / "models" / first), "max_model_len": 1024}
        for name, first in names["models"].items()
    }
    config["datasets"] = {
        name: {
            "file": str(ROOT / "data/demo/word_problems.jsonl"),
            "fields": {"id": "id", "prompt": "question"},
            "verifier": "none",
            "limit": LIMITS[first] + more,
        }
        for name, first in names["datasets"].items()
    }
    for role in ("answer", "user_turn"):
        config[role]["max_tokens"] = 12
    config["controls"]["human"] = []
    config["run"] = {"temperatures": list(temperatures), "perturbations": ["none"]}
    config |= {"likelihood": False, "engine": "transformers"}
    return Grid(config, folder / "results")


def finish(folder: Path, names: Names, **more: Any) -> Grid:
    """Do what a run does, each job with a grid of its own, and return the last grid."""

    def grid() -> Grid:
        return grid_of(folder, names, **more)

    contents = grid().contents
    assert isinstance(contents, FileContents)
    contents.keep_aliases()
    for name in names["datasets"]:
        wanted, path = grid().dataset_identity(name), grid().dataset_path(name)
        if read_identity(path) != wanted:
            prepare_dataset(grid().dataset_settings(name), wanted, path)
    for name in names["models"]:
        path = grid().results / "models" / f"{name}.json"
        if read_identity(path) != grid().model_fingerprint(name):
            describe_model(grid(), name, path)
    for name in names["models"]:
        if pending := Pending(grid()).waiting(name):
            run_sweep(grid(), name, "1of1", pending, 1, folder / "marker.json")
    return grid()


def n_asked(folder: Path) -> int:
    journals = sorted((folder / "results" / "journal").rglob("*.jsonl"))
    keys = [json.loads(line)["key"] for path in journals for line in path.open()]
    return len(keys)


def rows(grid: Grid, cell: Cell) -> list[tuple[Any, ...]]:
    table = pl.concat(table_of(grid, asked(grid)[files_of([cell], "user_turns.parquet")[0]]))
    assert set(table.select("model", "dataset").rows()) == {(cell.model, cell.dataset)}
    return table.select("item", "text", "key").rows()


@pytest.fixture(scope="module")
def own_engine() -> Iterator[None]:
    """Answer with `load`, and give the test run its own signals back: a sweep listens to them."""
    loaders = dict(engine.LOADERS)
    before = {number: signal.getsignal(number) for number in STOP_SIGNALS}
    engine.LOADERS["transformers"] = load
    yield
    engine.LOADERS.update(loaders)
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture(scope="module")
def finished(own_engine: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("finished")
    for seed, name in enumerate(("a", "b")):
        write_tiny_model(folder / "models" / name, seed)
    finish(folder, FIRST)
    return folder


@pytest.fixture
def study(finished: Path, tmp_path: Path) -> Path:
    """A copy of the finished study's results; the models stay where they are."""
    shutil.copytree(finished / "results", tmp_path / "results")
    (tmp_path / "models").symlink_to(finished / "models")
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("names", RENAMED.values(), ids=RENAMED)
def test_nothing_is_asked_again_and_every_row_has_its_new_name(study: Path, names: Names) -> None:
    first = grid_of(study, FIRST)
    before = {cell: rows(first, cell) for cell in first.cells}
    # Of 2 + 4 items each of 2 models is asked for an answer and a turn at each of 2 temperatures.
    n_before = n_asked(study)
    assert n_before == 2 * 6 * 3
    now = grid_of(study, names)
    assert {name: Pending(now).waiting(name) for name in now.models} == {
        name: [] for name in now.models
    }
    after = finish(study, names)
    assert n_asked(study) == n_before
    for cell in after.cells:
        was = cell._replace(
            model=names["models"][cell.model], dataset=names["datasets"][cell.dataset]
        )
        assert rows(after, cell) == before[was]
        assert all(said.startswith(was.model) for _, said, _ in before[was])


@pytest.mark.slow
def test_a_study_with_new_names_grows_as_under_the_old_ones(study: Path) -> None:
    both, n_before = RENAMED["new names"], n_asked(study)
    finish(study, both)
    finish(study, both, more=1, temperatures=(0,))
    # Each model is asked for the answer and the turn of one more item of y. That of z is an item of
    # y, too: a greedy reply to the same prompt serves both.
    assert n_asked(study) == n_before + 2 * 2
    back = finish(study, FIRST, more=1, temperatures=(0,))
    assert n_asked(study) == n_before + 2 * 2
    assert back.places == Places()


@pytest.mark.slow
def test_a_model_whose_files_changed_in_form_alone_is_asked_nothing_also_under_a_new_name(
    study: Path,
) -> None:
    models = study / "models"
    shutil.copytree(models.resolve(), study / "own")
    models.unlink()
    (study / "own").rename(models)
    n_before = n_asked(study)
    finish(study, FIRST)  # notes the form of what was asked
    template = models / "a" / "chat_template.jinja"
    template.write_text("{# a remark #}" + template.read_text())
    (models / "a" / "README.md").write_text("Mine.")
    finish(study, RENAMED["new names"])
    assert n_asked(study) == n_before
    template.write_text(template.read_text() + "{{ '' }}")
    assert Pending(grid_of(study, RENAMED["new names"])).waiting("c")
    assert not Pending(grid_of(study, RENAMED["new names"])).waiting("b")


def test_a_folder_of_turns_is_found_by_the_names_that_it_had() -> None:
    places = Places({"c": "a"}, {"z": "x"})
    assert places.turns_folder("cells/c/z/t0/none") == "cells/a/x/t0/none"
    assert places.turns_folder("labelled") == "labelled"


def test_a_study_that_has_asked_nothing_reads_no_dataset_for_its_places(tmp_path: Path) -> None:
    grid = grid_of(tmp_path, FIRST)
    for entry in grid.config["datasets"].values():
        entry["file"] = "missing.jsonl"
    assert grid.places == Places()

"""A judge that serves itself: one load for all its pending cells, and nothing left running."""

import json
import shutil
import socket
import sys
import tempfile
from pathlib import Path

import pytest

from tests.support.judged_cell import cell, judge, verdicts_of
from tests.support.tiny_model import write_tiny_model
from userturn.errors import UserError
from userturn.judges import pending_cells
from userturn.judges.judge import Judge
from userturn.storage.journal import read_journal

pytestmark = pytest.mark.slow


def self_serving(results: Path, **changes: object) -> Judge:
    served = {"serve": True, "model": str(results / "model"), "vllm": {"max_model_len": 4096}}
    local = judge(results, "http://nowhere.invalid", **(served | changes))
    del local.settings["base_url"]  # type: ignore[attr-defined]
    return local


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Results with two cells, a tiny model, and a server that is made up."""
    write_tiny_model(tmp_path / "model", width=64)
    monkeypatch.setattr(pending_cells, "SERVER", [sys.executable, "-m", "tests.support.fake_vllm"])
    for number, name in enumerate(("cells/m/d/t0/none", "controls/m/d")):
        about = cell(tmp_path, *[f"Turn {i} of {number}?" for i in range(5)], name=name)
    (tmp_path / "datasets").mkdir()
    shutil.copy(about.path_to_items, tmp_path / "datasets/d.parquet")
    return tmp_path


def serve(results: Path, **changes: object) -> dict[str, int]:
    turns = [
        f"{results}/{name}/user_turns.parquet" for name in ("cells/m/d/t0/none", "controls/m/d")
    ]
    pending_cells.serve_judge(
        judge=self_serving(results, **changes),
        pending=["b", "a"],
        paths_to_user_turns=turns,
        paths_to_items=[str(results / "datasets" / "d.parquet")] * len(turns),
        path_to_marker=str(results / "marker.json"),
    )
    marker: dict[str, int] = json.loads((results / "marker.json").read_text())
    return {name: marker[name] for name in ("pending", "n_cells", "n_asked")}


def test_options_are_those_of_vllm() -> None:
    given = {
        "max_model_len": 64,
        "enforce_eager": True,
        "enable_chunked_prefill": False,
        "dtype": "x",
    }
    assert pending_cells.options(given) == [
        "--max-model-len",
        "64",
        "--enforce-eager",
        "--no-enable-chunked-prefill",
        "--dtype",
        "x",
    ]


@pytest.mark.parametrize(
    ("vllm", "expected"), [({}, "vllm"), ({"generation_config": "auto"}, "auto")]
)
def test_served_judge_takes_no_sampling_from_its_models_folder_unless_it_is_told_to(
    vllm: dict[str, str], expected: str
) -> None:
    settings = {"model": "org/judge", "gpus": 2, "vllm": vllm}
    words = pending_cells.server_command(settings, Path("folder"), 8000)
    assert words[words.index("--generation-config") + 1] == expected
    assert words.count("--generation-config") == 1
    assert words[words.index("--tensor-parallel-size") + 1] == "2"


def test_one_load_works_off_all_cells_which_are_then_gathered(
    results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ports: list[int] = []
    monkeypatch.setattr(pending_cells, "_free_port", lambda: ports.append(free()) or ports[-1])
    assert serve(results) == {"pending": ["a", "b"], "n_cells": 2, "n_asked": 2}
    assert len(read_journal(results / "journal/judges/j/d").records) == 10
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", ports[0])) != 0, "the server still runs"
    table = verdicts_of(
        self_serving(results), cell(results, *[f"Turn {i} of 0?" for i in range(5)])
    )
    assert table["label"].to_list() == ["generic"] * 5
    assert serve(results)["n_asked"] == 0 and len(ports) == 1


def test_server_leaves_nothing_in_the_folder_for_temporary_files(
    results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    assert serve(results)["n_asked"] == 2
    assert list(temporary.iterdir()) == []


def free() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def test_server_that_ends_before_it_is_ready_is_one_sentence(
    results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pending_cells, "SERVER", [*pending_cells.SERVER, "--refuse-to-start"])
    with pytest.raises(UserError, match="ended with code 3 before it was ready"):
        serve(results)


def test_server_that_ends_is_one_sentence_and_the_next_run_asks_only_for_the_rest(
    results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Request 0 asks whether the server is ready, so three questions have replies before the fourth.
    with monkeypatch.context() as ending:
        ending.setattr(pending_cells, "SERVER", [*pending_cells.SERVER, "--end-at", "4"])
        with pytest.raises(UserError, match="j: vLLM's server ended with code 9 while it was"):
            serve(results, concurrency=1)
    assert not (results / "marker.json").exists()
    before = decided(results)
    assert len(before) == 3
    assert serve(results, concurrency=1)["n_asked"] == 2
    assert len(decided(results)) == 10 and before.items() <= decided(results).items()


def decided(results: Path) -> dict[str, object]:
    """Return the replies in the journal; questions to a dead server are asked again."""
    records = read_journal(results / "journal/judges/j/d").records
    return {key: record for key, record in records.items() if record["outcome"] == "ok"}


def test_judge_that_was_not_served_says_what_to_do(results: Path) -> None:
    with pytest.raises(UserError, match="served by its own job"):
        verdicts_of(self_serving(results), cell(results, "Why?"))

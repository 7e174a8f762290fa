"""A study's rows are a folder that `datasets` reads, or pushed to the hub; none that must stay."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from datasets import load_dataset

from tests.support.loopback_hub import Hub, loopback_hub
from tests.workflow.test_export import mark
from userturn.cli.main import main
from userturn.errors import UserError
from userturn.export.dataset_folder import PARTS, push_to_hub, write_dataset_folder

pytestmark = pytest.mark.slow


def test_load_dataset_reads_every_part_by_its_name(
    finished_study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    folder, cache = tmp_path / "rows", str(tmp_path / "cache")
    assert main(["export", str(finished_study / "results"), "--datasets", str(folder)]) == 0
    read = {part: load_dataset(str(folder), part, cache_dir=cache)["train"] for part in PARTS}
    rates = pl.read_parquet(finished_study / "results" / "tables" / "rates.parquet")
    # two temperatures, two perturbations, five items; one judge
    assert {part: rows.num_rows for part, rows in read.items()} == {
        "user_turns": 20,
        "verdicts": 20,
        "rates": rates.height,
    }
    assert read["rates"]["estimate"][:] == rates["estimate"].to_list()
    assert "**Not a finding, the true rates are unknown" in (folder / "README.md").read_text()
    first = read["user_turns"][0]
    assert [said["role"] for said in first["messages"]] == ["user"]
    assert load_dataset(str(folder), cache_dir=cache)["train"].num_rows == 20  # the default


def test_private_rows_are_in_no_file_and_rates_are(study: Path, tmp_path: Path) -> None:
    mark(study, private=True)
    said = write_dataset_folder(study / "results", tmp_path / "rows", None).said
    assert "user turns and verdicts of 0 of 1 dataset" in said
    files = {p.relative_to(tmp_path / "rows").as_posix() for p in (tmp_path / "rows").rglob("*.*")}
    assert files == {"rates/rates.parquet", "README.md"}
    assert "The study's open datasets: none." in (tmp_path / "rows" / "README.md").read_text()


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    with loopback_hub(tmp_path / "hub") as running:
        yield running


def pushed(study: Path, hub: Hub, token: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own, whose client knows no other hub."""
    settings = {"HF_ENDPOINT": hub.address, "HF_TOKEN": token, "HF_HUB_OFFLINE": "0"}
    settings |= {"HF_HOME": str(hub.folder.parent / "home"), "HF_HUB_DISABLE_TELEMETRY": "1"}
    program = [str(Path(sys.executable).with_name("userturn")), "export", str(study / "results")]
    return subprocess.run(
        [*program, "--hub", "lab/turns"],
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
    )


def files(hub: Hub) -> set[str]:
    folder = hub.folder / "lab" / "turns"
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_rows_verdicts_and_rates_are_a_private_dataset(finished_study: Path, hub: Hub) -> None:
    done = pushed(finished_study, hub, hub.writer)
    assert done.returncode == 0, done.stderr
    assert f"{hub.address}/datasets/lab/turns/commit/" in done.stdout
    assert (hub.created[0]["type"], hub.created[0]["visibility"]) == ("dataset", "private")
    parts = {f"{part}/word-problems.parquet" for part in ("user_turns", "verdicts")}
    assert files(hub) == parts | {"rates/rates.parquet", "README.md"}
    read = pl.read_parquet(hub.folder / "lab/turns/user_turns/word-problems.parquet")
    assert read.height == 20


def test_rows_of_a_dataset_that_is_private_now_are_not_pushed_and_go(study: Path, hub: Hub) -> None:
    assert pushed(study, hub, hub.writer).returncode == 0
    mark(study, private=True)
    done = pushed(study, hub, hub.writer)
    assert done.returncode == 0, done.stderr
    assert files(hub) == {"rates/rates.parquet", "README.md"}


def test_a_refusal_is_one_sentence_without_the_token(finished_study: Path, hub: Hub) -> None:
    done = pushed(finished_study, hub, "hf_another")
    assert done.returncode == 1
    assert done.stderr.startswith("error: the dataset 'lab/turns' could not be pushed to the hub")
    assert done.stderr.count("\n") == 1 and "hf_another" not in done.stderr


@pytest.mark.parametrize("name", ["turns", "lab/turns/more", "https://hub/lab/turns"])
def test_another_name_is_refused_before_anything_is_written(tmp_path: Path, name: str) -> None:
    with pytest.raises(UserError, match="expected organisation/name of a dataset on the hub"):
        push_to_hub(tmp_path, name, None)

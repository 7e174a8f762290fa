"""A study's rows are a folder that Hugging Face's `datasets` reads, without rows that must stay."""

from pathlib import Path

import polars as pl
import pytest
from datasets import load_dataset

from tests.workflow.test_export import mark
from userturn.cli.main import main
from userturn.export.dataset_folder import PARTS, write_dataset_folder

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
    said = write_dataset_folder(study / "results", tmp_path / "rows", None)
    assert "user turns and verdicts of 0 of 1 dataset" in said
    files = {p.relative_to(tmp_path / "rows").as_posix() for p in (tmp_path / "rows").rglob("*.*")}
    assert files == {"rates/rates.parquet", "README.md"}
    assert "The study's open datasets: none." in (tmp_path / "rows" / "README.md").read_text()

"""`userturn run` of a model and a dataset of the hub, which here runs on this machine."""

import json
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from tests.support.loopback_hub import loopback_hub
from tests.support.slow import starting
from tests.support.tiny_model import write_tiny_model

pytestmark = [pytest.mark.slow, pytest.mark.long]
COMMAND = [sys.executable, "-c", "import sys; from userturn.cli.main import main; sys.exit(main())"]
ROWS = [{"question": f"What is {n} and 1?", "answer": str(n + 1)} for n in range(4)]


def write_hub(folder: Path) -> None:
    """Write a model and a dataset, and one of each that is gated."""
    for name in ("name", "gated"):
        write_tiny_model(folder / "org" / name)
    for name in ("data", "gated-data"):
        rows = folder / "org" / name / "test.jsonl"
        rows.parent.mkdir()
        rows.write_text("".join(f"{json.dumps(row)}\n" for row in ROWS))
    for name in ("gated", "gated-data"):
        (folder / "org" / name / ".gated").write_text("hf_reader")


def run(folder: Path, address: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a folder, with a cache of its own."""
    starting("userturn run")
    own = {"HF_ENDPOINT": address, "HF_HOME": str(folder / "hf"), "HF_TOKEN": ""}
    return subprocess.run(
        [*COMMAND, "run", *arguments],
        cwd=folder,
        env=os.environ | own | {"HF_HUB_OFFLINE": "0", "HF_DATASETS_OFFLINE": "0"},
        text=True,
        capture_output=True,
    )


REFUSED = {
    "org/gated --data org/data": "model 'org/gated' at revision 'main' is gated: accept its terms",
    "org/name --data org/gated-data": "dataset 'org/gated-data' is gated: accept its terms",
    "Qwen/Qwen3.5-0.8 --data org/data": (
        "model 'Qwen/Qwen3.5-0.8' at revision 'main': the hub has none of this name that you may "
        "see, did you mean 'Qwen/Qwen3.5-0.8B'? correct the name"
    ),
    "org/name --data org/nothing": "dataset 'org/nothing': the hub has none of this name",
}


def test_a_model_and_a_dataset_of_the_hub_get_a_report_from_one_command(tmp_path: Path) -> None:
    write_hub(tmp_path / "hub")
    with loopback_hub(tmp_path / "hub") as hub:
        wanted = ("org/name", "--data", "org/data", "--json")
        done = run(tmp_path, hub.address, *wanted)
        assert done.returncode == 0, done.stderr
        for arguments, said in REFUSED.items():
            refused = run(tmp_path, hub.address, *arguments.split())
            assert refused.returncode == 1
            (line,) = (one for one in refused.stderr.splitlines() if one.startswith("error"))
            assert line.startswith(f"error: {said}")
    assert "4 of org/data: prompt 'question', reference 'answer'; graded by numeric" in done.stderr
    found = json.loads(done.stdout)
    assert (found["study"], found["planned"]["currency"]) == ("name", "USD")
    assert {row["model"] for row in found["rates"]} == {"name"}
    items = pl.read_parquet(tmp_path / "name" / "results" / "datasets" / "data.parquet")
    assert items.height == len(ROWS)
    assert (tmp_path / "name" / "results" / "report" / "index.html").is_file()
    assert not list(tmp_path.glob(".*.new"))


def test_a_hub_that_cannot_be_reached_is_told_from_a_name_that_is_wrong(tmp_path: Path) -> None:
    done = run(tmp_path, "http://127.0.0.1:9", "Qwen/Qwen3.5-0.8")
    assert done.returncode == 1
    assert "and the hub cannot be reached, so it is not known whether it has one" in done.stderr
    assert "did you mean 'Qwen/Qwen3.5-0.8B'?" in done.stderr

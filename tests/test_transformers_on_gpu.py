"""The check of `engine: transformers` on a GPU, at the size that it has without one."""

import subprocess
import sys
from typing import Any

import pytest
import torch

from benchmarks import transformers_on_gpu
from tests.support.snakemake_runs import ROOT
from userturn.models import batch_rows
from userturn.models.batch_rows import RowCache

LIMIT = 600.0  # seconds: never reached


@pytest.fixture(autouse=True)
def without_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)


def test_correct_engine_has_no_fault(capsys: pytest.CaptureFixture[str]) -> None:
    assert transformers_on_gpu.main(LIMIT, ["qwen3", "gemma-3"]) == 0
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| ")]
    assert [row.split(" | ")[:2] for row in rows[2:]] == [
        ["| qwen3", "float32"],
        ["| qwen3", "bfloat16"],
        ["| gemma-3", "float32"],
        ["| gemma-3", "bfloat16"],
    ]


def test_positions_that_are_one_too_high_are_a_fault(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    step_inputs = RowCache.step_inputs

    def shifted(cache: RowCache, device: Any) -> tuple[Any, Any]:
        mask, positions = step_inputs(cache, device)
        return mask, positions + 1

    monkeypatch.setattr(RowCache, "step_inputs", shifted)
    assert transformers_on_gpu.main(LIMIT, ["llama"]) == 1
    assert "WRONG: llama in float32: greedy tokens are " in capsys.readouterr().out


def test_random_numbers_of_another_seed_are_a_fault(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    draw = batch_rows.draw_tokens
    monkeypatch.setattr(
        batch_rows, "draw_tokens", lambda rows, s, numbers: draw(rows, s, [1 - n for n in numbers])
    )
    assert transformers_on_gpu.main(LIMIT, ["llama"]) == 1
    assert "WRONG: llama in float32: sampled tokens are " in capsys.readouterr().out


def test_architecture_that_no_time_is_left_for_is_a_fault(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert transformers_on_gpu.main(0, ["llama"]) == 1
    assert "WRONG: llama: not tried, no time was left" in capsys.readouterr().out


def test_script_needs_no_package_but_torch_transformers_numpy_and_yaml() -> None:
    """As on a machine that somebody lends for a quarter of an hour."""
    others = ("polars", "pyarrow", "aiohttp", "jsonschema", "scipy", "vllm", "snakemake", "psutil")
    code = (
        "import sys; sys.path.insert(0, '.'); import benchmarks.transformers_on_gpu; "
        f"print([name for name in {others} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"

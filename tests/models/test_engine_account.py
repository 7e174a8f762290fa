"""What ran a model is told of both engines, as far as this machine has what is told."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tests.support.snakemake_runs import ROOT
from tests.support.tiny_model import write_tiny_model
from userturn.models import engine_account
from userturn.models.engine import load_engine

SETTINGS = {"dtype": "float32", "max_model_len": 64}


def test_transformers_tells_its_attention_and_the_device(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(engine_account, "_noted", [])
    load_engine("transformers", write_tiny_model(tmp_path / "tiny"), SETTINGS)
    assert engine_account.noted_engines() == [
        {"name": "transformers", "attention": "sdpa_of_shared_heads", "device": "cpu"}
    ]


def test_gpu_is_told_with_cuda_and_driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    driver = tmp_path / "version"
    driver.write_text("NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5\n")
    monkeypatch.setattr(engine_account, "DRIVER", driver)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "a card")
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    assert engine_account.platform_account() == {
        "device": "a card",
        "cuda": "13.0",
        "driver": "550.54.15",
    }


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("vllm") is None, reason="vLLM is not installed")
def test_vllm_tells_its_model_runner_and_attention(tmp_path: Path) -> None:
    folder = write_tiny_model(tmp_path / "tiny", width=64)
    code = (
        "import json; from pathlib import Path; from userturn.models.engine import load_engine; "
        "from userturn.models.engine_account import noted_engines; "
        f"load_engine('vllm', Path({str(folder)!r}), {SETTINGS}); "
        "print(json.dumps(noted_engines()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout.splitlines()[-1]) == [
        {
            "name": "vllm",
            "runner": "V1",
            "attention": "CPU_ATTN",
            "experts": "auto",
            "device": "cpu",
        }
    ]

"""Ten faults of an engine, and the reason of each in one sentence."""

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, Field, model_validator

from tests.support.snakemake_runs import ROOT
from tests.support.tiny_model import write_tiny_model
from userturn.errors import UserError
from userturn.models import engine
from userturn.models.engine import LONGEST, load_engine

SETTINGS = {"dtype": "float32", "max_model_len": 64}
FILES = "; check that the model's files are complete and of one model"
OTHER = "; set `engine:` to the other engine"
MEMORY = "; give the model more GPUs"


class VllmConfig(BaseModel):
    """Refuses in the way in which vLLM's configuration does."""

    max_num_seqs: int = Field(default=1, ge=1)
    mode: str = ""

    @model_validator(mode="after")
    def _check(self) -> "VllmConfig":
        if self.mode == "align":
            raise AssertionError("Chunked prefill is required for mamba cache mode 'align'")
        if self.mode == "long":
            raise ValueError("User-specified max_model_len (4096) is greater than the derived 1024")
        return self


def altered(folder: Path, change: dict[str, object]) -> Path:
    """Write a tiny model whose config.json says something else."""
    config = write_tiny_model(folder) / "config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | change))
    return folder


def refusal(folder: Path, name: str = "transformers", **settings: Any) -> str:
    with pytest.raises(UserError, match=f"^engine '{name}' cannot load '") as refused:
        load_engine(name, folder, SETTINGS | settings)
    said = str(refused.value)
    assert "\n" not in said
    assert len(said) < 2 * LONGEST + 300
    return said.partition(": ")[2]


@pytest.mark.parametrize(
    ("change", "reason", "advice"),
    [
        ({"hidden_size": 8}, "size", FILES),
        ({"model_type": "alien"}, "model type `alien`", OTHER),
        (
            {"quantization_config": {"quant_method": "gptq", "bits": 4}},
            "GPTQ",
            "; name a checkpoint in",
        ),
        ({"rope_parameters": {"rope_type": "nosuch"}}, "nosuch", ""),
    ],
)
def test_fault_of_a_folder_is_told_with_the_reason_of_transformers(
    change: dict[str, object], reason: str, advice: str, tmp_path: Path
) -> None:
    said = refusal(altered(tmp_path / "model", change))
    assert reason in said
    assert advice in said


def planted(fault: str) -> None:
    """Raise an error as vLLM does."""
    if fault == "field":
        VllmConfig(max_num_seqs=0)
    if fault == "worker":
        line = (
            "(Worker_TP1 pid=7) ERROR 11-26 09:00:00 [multiproc_executor.py:9] ValueError: 9 heads"
        )
        os.write(2, f"{line} are not divisible by 2\n".encode())
        raise RuntimeError(
            "WorkerProc initialization failed due to an exception in a background process. "
            "See stack trace for root cause."
        )
    if fault == "cause":
        raise RuntimeError("loading failed") from OSError("shard 3 of 4 has no file")
    if fault == "memory":
        raise RuntimeError(
            "CUDA out of memory. Tried to allocate 2.00 GiB.\nSee the documentation."
        )
    if fault == "assertion":
        raise AssertionError
    VllmConfig(mode=fault)


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("align", "ValidationError: Chunked prefill is required for mamba cache mode 'align'"),
        ("long", "ValidationError: User-specified max_model_len (4096) is greater than the derived "
         "1024; set max_model_len of the model's entry to what the model takes"),
        ("field", "ValidationError: max_num_seqs: Input should be greater than or equal to 1; "
         "correct `vllm:` in the config"),
        ("worker", "ValueError: 9 heads are not divisible by 2; choose `gpus` of the model's entry "
         "so that they divide its heads"),
        ("cause", "RuntimeError: loading failed, caused by OSError: shard 3 of 4 has no file"
         + FILES),
        ("memory", "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB. See the "
         "documentation.; give the model more GPUs (`gpus`), or ask less of them: a smaller "
         "max_model_len, or under `vllm:` a smaller max_num_seqs"),
        ("assertion", "AssertionError: `raise AssertionError` in test_engine_errors.py"),
    ],
)  # fmt: skip
def test_fault_of_vllm_is_told_with_its_own_reason_and_advice_only_where_it_fits(
    fault: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def load(folder: Path, settings: object) -> Any:
        planted(fault)

    monkeypatch.setitem(engine.LOADERS, "vllm", load)
    with (tmp_path / "log").open("w") as log:
        before = os.dup(2)
        os.dup2(log.fileno(), 2)  # as in a job, which logs to a file
        try:
            assert refusal(write_tiny_model(tmp_path / "model"), "vllm") == said
        finally:
            os.dup2(before, 2)
            os.close(before)


def test_error_inside_a_step_is_a_sentence_and_one_of_the_requests_is_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def generate(requests: Any) -> Iterator[None]:
        yield from requests
        raise AssertionError("heads of 16 are not supported")

    def broken_plan() -> Iterator[None]:
        yield None
        raise LookupError("a plan")

    monkeypatch.setitem(engine.LOADERS, "vllm", lambda *_: generate)
    loaded = load_engine("vllm", write_tiny_model(tmp_path / "model"), SETTINGS)
    with pytest.raises(
        UserError, match="failed while it wrote; what it had finished is kept"
    ) as it:
        list(loaded([]))
    assert str(it.value).endswith(": AssertionError: heads of 16 are not supported")
    with pytest.raises(LookupError, match="a plan"):
        list(loaded(broken_plan()))  # type: ignore[arg-type]


REAL = {
    "long": ({}, {"max_model_len": 8192}, "max_model_len (8192) is greater than the derived"),
    "alien": (
        {"architectures": ["AlienForCausalLM"]},
        {},
        "['AlienForCausalLM'] are not supported",
    ),
    "setting": ({}, {"no_such": 1}, "unexpected keyword argument 'no_such'; correct `vllm:`"),
    "share": (
        {},
        {"gpu_memory_utilization": 7},
        "gpu_memory_utilization: Input should be less than",
    ),
}


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("vllm") is None, reason="vLLM is not installed")
def test_real_vllm_gives_its_reason_in_the_sentence(tmp_path: Path) -> None:
    code = ["from pathlib import Path", "from userturn.models.engine import load_engine"]
    for name, (change, further, _) in REAL.items():
        folder = altered(tmp_path / name, change)
        loads = f"load_engine('vllm', Path({str(folder)!r}), {SETTINGS | further})"
        code += ["try:", f"    {loads}", "except Exception as error:"]
        code += [f"    print('SAID', {name!r}, type(error).__name__, error)"]
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(code)], cwd=ROOT, capture_output=True, text=True
    )
    said = [line for line in done.stdout.splitlines() if line.startswith("SAID ")]
    for line, (name, (_, _, reason)) in zip(said, REAL.items(), strict=True):
        assert line.startswith(f"SAID {name} UserError engine 'vllm' cannot load ")
        assert reason in line

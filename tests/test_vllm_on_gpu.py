"""The GPU check: one table, whatever fails; its runs on this machine's CPU."""

import importlib.util
import json
from pathlib import Path

import pytest
import torch

from benchmarks.vllm_on_gpu import (
    Outcome,
    Size,
    Way,
    faults,
    machine,
    outcomes,
    table,
    ways,
    write_with_even_heads,
)
from tests.support.snakemake_runs import ROOT
from tests.support.tiny_model import write_tiny_model
from userturn.config.load import load_study
from userturn.errors import UserError

SEEN = {
    "GPUs": "1",
    "model runner": "V1",
    "attention": "CPU_ATTN",
    "CUDA graphs": "full",
    "chunked prefill": "true",
    "prefix caching": "true",
}


def test_table_counts_equal_texts_and_says_what_failed() -> None:
    bare = Outcome(SEEN, 61.4, 12345.6, 126.04, [(1,), (2,), (3,), (4,)], [(1,), (2,)])
    # Of the greedy texts, the first and third, one differs; alone, one of two.
    ours = Outcome(SEEN, 60, 12000, None, [(1,), (9,), (8,), (4,)], [(1,), (2,)])
    found = [("by itself", bare), ("as in a study", ours), ("on two GPUs", "RuntimeError: no peer")]
    lines = table([(Way(name, Path(), {}), seen) for name, seen in found]).splitlines()
    assert len({line.count("|") for line in lines[:4]}) == 1
    assert lines[2].endswith("| 61 s | 12,346 | 126.0 | 2 of 2 | 2 of 2 | - |")
    assert lines[3].endswith("| 60 s | 12,000 | - | 1 of 2 | 1 of 2 | - |")
    assert lines[4:] == ["vLLM on two GPUs FAILED: RuntimeError: no peer"]


def test_scores_that_the_cache_changes_and_texts_that_company_changes_are_wrong() -> None:
    whole, half = [(-1.0, -2.0), (-3.0,)], [(-1.0, -2.02), None]  # the second has no scores at all
    seen = Outcome(SEEN, 1, 1, None, [(1,), (2,)], [(1,), (3,)], half, whole)
    exact, study = Way("exact", Path(), {"exact": True}), Way("study", Path(), {"exact": False})
    scores = "WRONG: 1 of 2 scores are those without the cache"
    assert list(faults(study, seen)) == [scores]
    assert list(faults(exact, seen)) == [
        scores,
        "WRONG: 1 of 2 texts are those of the request alone",
    ]
    assert list(faults(study, seen._replace(scores=whole))) == []


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
def test_machine_without_a_gpu_is_told_so_in_one_sentence() -> None:
    with pytest.raises(UserError, match=r"sees no GPU; run `make check-gpu` on a machine"):
        machine()


def test_settings_are_those_of_the_study(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(ROOT)
    config = load_study([])
    _, study, chunks, exact = ways(tmp_path, tmp_path, config, 1)
    assert config["vllm"].items() <= study.settings.items()
    assert study.settings["dtype"] == "bfloat16"
    assert (study.settings["exact"], exact.settings["exact"]) == (False, True)
    assert chunks.settings["max_num_batched_tokens"] < 500  # tokens of a prompt


@pytest.mark.slow
def test_way_that_cannot_be_loaded_leaves_a_reason(tmp_path: Path) -> None:
    ((_, said),) = outcomes([Way("lost", tmp_path / "none", {})], Size())
    assert isinstance(said, str) and "none" in said


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.skipif(importlib.util.find_spec("vllm") is None, reason="vLLM is not installed")
def test_both_loops_write_the_same_in_batches_and_alone(tmp_path: Path) -> None:
    """On this CPU every request runs by itself, so that the counts are whole."""
    folder = write_tiny_model(tmp_path / "tiny", width=64)
    settings = {"dtype": "float32", "max_model_len": 1024, "exact": True}
    chosen = [Way("bare", folder, settings, True), Way("exact", folder, settings)]
    found = list(outcomes(chosen, Size(4, 8, 2)))
    (_, bare), (_, ours) = found
    assert isinstance(bare, Outcome) and isinstance(ours, Outcome), table(found)
    assert [len(one or ()) for one in ours.scores] == [8, 8]
    assert list(faults(chosen[1], ours)) == []
    assert ours.texts[:2] == ours.alone and ours.texts[::2] == bare.texts[::2]
    seen = {**SEEN, "CUDA graphs": "none", "chunked prefill": "false"}
    assert ours.settings == {**seen, "prefix caching": "false"}
    assert bare.settings == {**seen, "attention": "auto"}  # its layers are in another process


def test_nine_heads_of_three_groups_become_twelve_and_no_logit_changes(tmp_path: Path) -> None:
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=50,
        hidden_size=36,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=9,
        num_key_value_heads=3,
        initializer_range=0.4,
    )
    folder = tmp_path / "nine"
    LlamaForCausalLM(config).save_pretrained(folder)
    grown = write_with_even_heads(folder, tmp_path / "twelve")
    text = torch.tensor([[5, 6, 7, 8]])
    with torch.inference_mode():
        nine, twelve = (LlamaForCausalLM.from_pretrained(one)(text) for one in (folder, grown))
    assert torch.allclose(nine.logits, twelve.logits, atol=1e-5)
    found = json.loads((grown / "config.json").read_text())
    assert (found["num_attention_heads"], found["num_key_value_heads"]) == (12, 4)
    assert found["head_dim"] == 4  # 36 over nine heads, as before

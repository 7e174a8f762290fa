"""A model is placed on what a machine has, in the first way that nothing is known against."""

import json
from pathlib import Path

import pytest

from userturn.errors import UserError
from userturn.models.machine import Machine, placed, seconds_on_gpus, seconds_to_write

GB = 2**30
CPU = Machine((), 16 * GB)
LLAMA = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 2048,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "num_hidden_layers": 16,
    "vocab_size": 32000,
    "max_position_embeddings": 8192,
}


def gpus(n: int, gb: int) -> Machine:
    return Machine(tuple(("Card", gb * GB) for _ in range(n)), 64 * GB)


def model(folder: Path, gb: float, **config: object) -> Path:
    """Write a folder that has a config.json and an index of weights of a size in bfloat16."""
    (folder / "config.json").write_text(json.dumps(LLAMA | config))
    index = {"metadata": {"total_size": int(gb * GB)}, "weight_map": {}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    return folder


@pytest.mark.parametrize(
    ("machine", "gb", "expected"),
    [
        (CPU, 1, ("vllm", 0, "float32", 4096)),
        (gpus(1, 80), 16, ("vllm", 1, "bfloat16", 8192)),
        (gpus(8, 80), 140, ("vllm", 2, "bfloat16", 8192)),  # 72 GB of each card are for it
        (gpus(8, 80), 290, ("vllm", 8, "bfloat16", 8192)),
        (gpus(2, 24), 40, ("vllm", 2, "bfloat16", 8192)),
    ],
)
def test_the_fewest_gpus_with_room_for_the_weights_are_taken(
    machine: Machine, gb: float, expected: tuple[str, int, str, int], tmp_path: Path
) -> None:
    setup = placed("model 'mine'", model(tmp_path, gb), machine, has_weights=False)
    assert (setup.engine, setup.gpus, setup.dtype, setup.max_model_len) == expected


@pytest.mark.parametrize(
    ("own", "taken"), [(2048, 2048), (8192, 4096), (131072, 4096)]
)  # a processor is asked for less than a long model takes
def test_texts_are_never_longer_than_the_model_takes(own: int, taken: int, tmp_path: Path) -> None:
    folder = model(tmp_path, 1, max_position_embeddings=own)
    assert placed("model 'mine'", folder, CPU, False).max_model_len == taken
    on_a_gpu = placed("model 'mine'", folder, gpus(1, 80), False)
    assert on_a_gpu.max_model_len == min(own, 16384)


def test_a_model_in_float16_stays_in_it_on_a_gpu(tmp_path: Path) -> None:
    folder = model(tmp_path, 1, torch_dtype="float16")
    assert placed("model 'mine'", folder, gpus(1, 80), False).dtype == "float16"


@pytest.mark.parametrize(
    "config", [{"head_dim": 24}, {"vision_config": {"model_type": "pixtral"}}]
)  # of the second, where torchvision is not installed, as in the lock for CPUs
def test_what_vllm_refuses_on_a_processor_is_loaded_by_transformers(
    config: dict[str, object], tmp_path: Path
) -> None:
    folder = model(tmp_path, 1, **config)
    assert placed("model 'mine'", folder, CPU, False).engine == "transformers"


@pytest.mark.parametrize(
    ("machine", "said"),
    [
        (CPU, "its weights take 200 GB as float32, and this machine has 13 GB for it"),
        (gpus(1, 80), "its weights take 200 GB"),
    ],
)
def test_a_model_that_fits_nowhere_is_refused_in_a_sentence(
    machine: Machine, said: str, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match=said):
        placed("model 'mine'", model(tmp_path, 200), machine, has_weights=False)


def test_more_tokens_take_longer_and_no_tokens_the_start_alone(tmp_path: Path) -> None:
    setup = placed("model 'mine'", model(tmp_path, 1), gpus(1, 80), has_weights=False)
    none, few, many = (seconds_to_write(setup, gpus(1, 80), n, n) for n in (0, 1e5, 1e6))
    assert none == 60 < few < many


def test_seconds_on_gpus_are_those_of_the_sums_by_hand() -> None:
    # 2 x 1e9 x 256e6 operations at 4e14 a second, a million steps of 2e9 bytes at 2e12 a second.
    assert seconds_on_gpus(2e9, 1e9, 0, 256e6, 1) == pytest.approx(60 + 1280 + 1000)
    assert seconds_on_gpus(2e9, 1e9, 0, 256e6, 4) == pytest.approx(60 + 570)

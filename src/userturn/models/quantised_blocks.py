"""Blocks of quantised weights that the GPUs of vLLM 0.32 would cut through.

What a layer sums over is cut among the GPUs, and each must have whole blocks of it. Columns of
merged layers may be cut, and the scales of FP8 experts are refined where a finer block fits.
"""

from collections.abc import Collection, Iterator, Mapping
from math import gcd
from typing import Any

from userturn.models.architecture import Architecture
from userturn.models.engine_setup import Setup

FINEST = 32  # of the blocks to which vLLM refines those of FP8 experts
ATTENTION = ("o_proj", "out_proj", "wo", "dense", "attn", "self_attn", "attention")
FEED_FORWARD = ("down_proj", "w2", "mlp", "feed_forward", "shared_expert", "shared_experts")
EXPERTS = ("experts", "down_proj", "w2", "mlp", "block_sparse_moe")


def refusals_of_blocks(setup: Setup) -> Iterator[str]:
    """Yield the widths whose part on a GPU is no whole number of blocks of quantised weights."""
    model, n, block = setup.architecture, setup.parts, _block(setup.architecture)
    for name, width, modules in _widths(setup):
        is_kept = _is_kept(model, modules)
        if block and width % n == 0 and not is_kept and _cuts(model, width, n, modules):
            yield (
                f"its weights are quantised in blocks of {block}, and of the {width} columns of "
                f"{name} each of {n} GPUs gets {width // n}, no whole number of blocks; set `gpus` "
                "of its entry to fewer"
                + (", or `vllm: {enable_expert_parallel: true}`" if modules == EXPERTS else "")
            )


def _widths(setup: Setup) -> Iterator[tuple[str, int, tuple[str, ...]]]:
    """Yield name and size of each width that GPUs share, and the modules that sum over it."""
    model = setup.architecture
    for key, width in model.widths.items():
        is_of_experts = width == model.width_of_experts
        if not (is_of_experts and setup.options.get("enable_expert_parallel")):
            modules = EXPERTS if is_of_experts else FEED_FORWARD
            yield f"its feed-forward layers ({key})", width, modules
    if not model.states and not model.number("kv_lora_rank"):
        yield "its heads of attention", model.heads * model.head_size, ATTENTION


def _cuts(model: Architecture, width: int, n: int, modules: tuple[str, ...]) -> bool:
    """Return whether a width's part on one of some GPUs would cut through a block."""
    block, part = _block(model), width // n
    if modules == EXPERTS and model.quant_method == "fp8":
        finest = gcd(block, part, model.number("hidden_size"))
        return part % block > 0 and finest < FINEST
    return n > 1 and part % block > 0


def _block(model: Architecture) -> int:
    """Return the size of a block; 0 for none."""
    said = model.quantization
    size: object = None
    if model.quant_method == "fp8":
        sizes = said.get("weight_block_size")
        size = sizes[-1] if isinstance(sizes, list) and sizes else None
    elif model.quant_method in ("gptq", "awq"):
        size = said.get("group_size")
    return size if type(size) is int and size > 0 else 0


def _is_kept(model: Architecture, modules: Collection[str]) -> bool:
    """Return whether some modules are quantised in no layer, as the checkpoint lists them."""
    named = _not_converted(model.quantization)
    paths = [name.split(".") for name in named if name.rpartition(".")[2] in modules]
    layers = [next((part for part in path if part.isdecimal()), None) for path in paths]
    n_dense = model.number("first_k_dense_replace") if modules == FEED_FORWARD else 0
    return None in layers or 0 < (n_dense or model.layers) <= len(set(layers))


def _not_converted(said: Mapping[str, Any]) -> list[str]:
    """Return the modules that a checkpoint says are not quantised."""
    named = said.get("ignored_layers") or said.get("modules_to_not_convert") or []
    return [name for name in named if isinstance(name, str)] if isinstance(named, list) else []

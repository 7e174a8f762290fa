"""Reasons why an engine would refuse a model on its GPUs: undivided parts, too little memory.

Each rule on vLLM was read from the source of vLLM 0.32. No GPU has confirmed one.
"""

import json
import re
from collections.abc import Collection, Iterator
from math import gcd, prod
from pathlib import Path

from userturn.models.engine_setup import Architecture, Setup
from userturn.models.whole_model import INDEX, LENGTH, LONGEST
from userturn.storage.files import read_json

FLOATS = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2}  # bytes of a number, by its stored type
OTHERS = {"I64": 8, "U64": 8, "I32": 4, "U32": 4, "I16": 2, "U16": 2}  # and 1 of any type else
OF_TYPE = {"float32": 4, "float16": 2, "bfloat16": 2}
QUANTISED = {"bitsandbytes": 0.5}  # bytes of a number that is quantised as it is loaded, else 1


def weight_bytes(setup: Setup) -> float:
    """Return the bytes of weights as an engine holds them, else as an index has them, else 0.

    Quantised weights stay as they are in their files.
    """
    files = [path for path in sorted(setup.folder.glob("*.safetensors")) if path.is_file()]
    dtype = None if setup.architecture.quantization else setup.dtype
    if n_bytes := sum(_bytes(path, dtype, setup.quantization) for path in files):
        return n_bytes
    path = setup.folder / INDEX
    about = read_json(path).get("metadata") if path.is_file() else None
    size = about.get("total_size") if isinstance(about, dict) else None
    return float(size) if isinstance(size, int | float) else 0.0


def _bytes(file: Path, dtype: str | None, quantization: str | None) -> float:
    with file.open("rb") as content:
        n = int.from_bytes(content.read(LENGTH), "little")
        header = content.read(n) if n <= LONGEST else b"{}"
    tensors = [one for name, one in json.loads(header).items() if name[:2] != "__"]
    sizes = [prod(one["shape"]) * _each(one["dtype"], dtype, quantization) for one in tensors]
    return float(sum(sizes))


def _each(stored: str, dtype: str | None, quantization: str | None) -> float:
    if stored not in FLOATS:
        return OTHERS.get(stored, 1)
    if dtype is None:
        return FLOATS[stored]
    return QUANTISED.get(quantization, 1) if quantization else OF_TYPE.get(dtype, FLOATS[stored])


# GB of the largest card of that name, so that nothing is refused that might fit. The longest name
# that a cluster's name contains counts. A size in that name (`a100_40gb`) counts before it.
MEMORY = {
    **dict.fromkeys(("p100", "t4", "a4000", "a2"), 16),
    **dict.fromkeys(
        ("a10", "a10g", "a30", "l4", "a5000", "rtx3090", "rtx4090", "3090", "4090"), 24
    ),
    **dict.fromkeys(("v100", "rtx5090", "5090"), 32),
    **dict.fromkeys(("a40", "a6000", "l20", "l40", "l40s", "rtx6000", "rtx8000"), 48),
    "mi210": 64,
    **dict.fromkeys(("a100", "a800", "h800"), 80),
    **dict.fromkeys(("h100", "rtxpro6000"), 96),
    **dict.fromkeys(("mi250", "mi250x"), 128),
    **dict.fromkeys(("h20", "h200"), 141),
    "gh200": 144,
    **dict.fromkeys(("b200", "gb200", "mi300x", "mi300a"), 192),
    "mi325x": 256,
    **dict.fromkeys(("b300", "gb300", "mi355x"), 288),
}
LARGEST = max(MEMORY.values())  # of a card that no entry names
WITHOUT_BFLOAT16 = ("p100", "v100", "t4", "rtx8000", "2080", "1080")
SIZE = re.compile(r"(\d+)_?gb?(?![a-z0-9])")


def memory_of(gpu_model: str | None) -> int:
    """Return the GB in a card's name, else of the largest card that it fits, else of any card."""
    sizes = SIZE.findall((gpu_model or "").lower())
    if sizes:
        return int(sizes[-1])
    name = _plain(gpu_model)
    cards = [card for card in MEMORY if card in name]
    return MEMORY[max(cards, key=len)] if cards else LARGEST


def _plain(name: str | None) -> str:
    return re.sub("[^a-z0-9]", "", (name or "").lower())


GIB = 2**30
SHARE = 0.9  # of a GPU's memory, where vLLM's settings name none
SEQUENCES = 256
HEADS = {  # of layers that keep a state, by the keys of their numbers
    "linear_num_key_heads": "key heads of linear attention",
    "linear_num_value_heads": "value heads of linear attention",
    "mamba_num_heads": "state heads",
    "mamba_n_heads": "state heads",
}


def refusals_on_gpus(setup: Setup) -> Iterator[str]:
    """Yield why vLLM would refuse a setup on GPUs, or why it cannot fit with another engine."""
    if setup.engine == "vllm":
        yield from _placement(setup)
    if setup.is_vllm_on_gpus:
        yield from _exactness(setup)
        yield from _division(setup)
        yield from refusals_of_blocks(setup)
    if setup.gpus:
        yield from _card(setup)
        yield from _memory(setup)


def _exactness(setup: Setup) -> Iterator[str]:
    state = setup.architecture.states
    if setup.is_exact and state:
        yield (
            "`determinism: exact` needs VLLM_BATCH_INVARIANT on a GPU, which vLLM has not for "
            f"layers that keep a state (its config.json has '{state}'); set `determinism: "
            "best_effort`, or `engine: transformers`"
        )


def _placement(setup: Setup) -> Iterator[str]:
    if setup.parts * setup.nodes > max(1, setup.gpus):
        yield (
            f"tensor_parallel_size is {setup.parts}, and its job has {setup.gpus} GPUs; set `gpus` "
            "of its entry, and leave tensor_parallel_size out"
        )
    if setup.nodes > setup.architecture.layers > 0:
        yield (
            f"its {setup.architecture.layers} layers cannot be spread over {setup.nodes} nodes; "
            "set `nodes` of its entry to fewer"
        )


def _division(setup: Setup) -> Iterator[str]:
    model, n = setup.architecture, setup.parts
    counts = {"heads of attention": model.heads}
    counts |= {name: model.number(key) for key, name in HEADS.items()}
    by_experts = setup.options.get("enable_expert_parallel")
    widths = {} if model.quant_method == "mxfp4" else model.widths  # which pads them
    for key, width in widths.items():
        if not (by_experts and width == model.width_of_experts):
            counts[f"columns of its feed-forward layers ({key})"] = width
    for name, count in counts.items():
        if count % n:
            yield f"{n} GPUs do not divide its {count} {name}; {_gpus_that_divide(count)}"
    if model.groups % n and n % max(1, model.groups):
        yield (
            f"{n} GPUs neither divide its {model.groups} heads of keys and values nor are a "
            f"multiple of them; {_gpus_that_divide(model.groups)}"
        )


def _gpus_that_divide(count: int) -> str:
    fitting = [str(n) for n in (1, 2, 3, 4, 5, 6, 7, 8) if count % n == 0]
    return f"set `gpus` of its entry to {' or '.join(fitting)} on each node"


def _card(setup: Setup) -> Iterator[str]:
    uses_it = setup.dtype == "bfloat16" and setup.engine == "vllm"
    if uses_it and any(card in _plain(setup.gpu_model) for card in WITHOUT_BFLOAT16):
        yield (
            f"a {setup.gpu_model} has no bfloat16, which vLLM then refuses; set `dtype: float16` "
            "in its entry, or another gpu_model"
        )


def _memory(setup: Setup) -> Iterator[str]:
    options = setup.options
    n_cards = setup.gpus if setup.engine == "vllm" else 1
    share = options.get("gpu_memory_utilization", SHARE) if setup.engine == "vllm" else 1.0
    there = n_cards * (share * memory_of(setup.gpu_model) + options.get("cpu_offload_gb", 0)) * GIB
    needed = weight_bytes(setup)
    card = (
        f"{setup.gpu_model} ({memory_of(setup.gpu_model)} GB)"
        if setup.gpu_model
        else f"GPU of {memory_of(None)} GB, the largest there is,"
    )
    if needed > there:
        on = f"{n_cards} of the {card}" if n_cards > 1 else f"one {card}"
        alone = "" if setup.engine == "vllm" else " (`engine: transformers` uses one GPU)"
        yield (
            f"its weights take {needed / GIB:.0f} GB, and {on} has {there / GIB:.0f} GB for it"
            f"{alone}; set more `gpus`, a larger gpu_model, or name a quantised checkpoint"
        )
    elif setup.is_vllm_on_gpus and not options.get("enforce_eager"):
        yield from _states(setup, (there - needed) / n_cards, card)


def _states(setup: Setup, free: float, card: str) -> Iterator[str]:
    size = _bytes_of_states(setup)
    n_sequences = setup.options.get("max_num_seqs", SEQUENCES)
    if size and n_sequences > (most := int(free // size)):
        yield (
            f"max_num_seqs is {n_sequences}, and beside its weights one {card} holds the states of "
            f"{most} requests; set `vllm: {{max_num_seqs: {max(1, most // 2)}}}` in its entry, or "
            "more `gpus`"
        )


def _bytes_of_states(setup: Setup) -> int:
    """Return the bytes of one block of vLLM's cache in a hybrid model, or 0 if unknown.

    Layers with states and layers of attention form groups of as many layers as the rarer kind has.
    A block of any group is at least as large as the states of its layers.
    """
    model = setup.architecture
    kinds = model.kinds
    n_states = sum(kind == model.states for kind in kinds)
    number = model.number
    heads, keys = number("linear_num_value_heads"), number("linear_key_head_dim")
    numbers = heads * keys * number("linear_value_head_dim")
    numbers = numbers or number("mamba_num_heads", "mamba_n_heads") * number(
        "mamba_head_dim", "mamba_d_head"
    ) * number("ssm_state_size", "mamba_d_state")
    dtypes = (model.text.get("mamba_ssm_dtype"), model.text.get("mamba_ssm_cache_dtype"))
    width = 4 if "float32" in dtypes else 2
    n_tokens = sum("attention" in kind and kind != model.states for kind in kinds)
    return min(n_states, n_tokens or n_states) * numbers * width // setup.parts


FINEST = 32  # of the blocks to which vLLM refines those of FP8 experts
ATTENTION = ("o_proj", "out_proj", "wo", "dense", "attn", "self_attn", "attention")
FEED_FORWARD = ("down_proj", "w2", "mlp", "feed_forward", "shared_expert", "shared_experts")
EXPERTS = ("experts", "down_proj", "w2", "mlp", "block_sparse_moe")


def refusals_of_blocks(setup: Setup) -> Iterator[str]:
    """Yield a sentence for each width whose part on a GPU is no whole number of quantised blocks.

    The width that a layer sums over is split among the GPUs, and each must have whole blocks of it.
    Columns of merged layers may be cut. Scales of FP8 experts are refined if a finer block fits.
    """
    model, n, block = setup.architecture, setup.parts, _block(setup.architecture)
    for name, width, modules in _widths(setup):
        is_unquantised = _is_unquantised(model, modules)
        if block and width % n == 0 and not is_unquantised and _cuts(model, width, n, modules):
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
    block, part = _block(model), width // n
    if modules == EXPERTS and model.quant_method == "fp8":
        finest = gcd(block, part, model.number("hidden_size"))
        return part % block > 0 and finest < FINEST
    return n > 1 and part % block > 0


def _block(model: Architecture) -> int:
    quantization = model.quantization
    size: object = None
    if model.quant_method == "fp8":
        sizes = quantization.get("weight_block_size")
        size = sizes[-1] if isinstance(sizes, list) and sizes else None
    elif model.quant_method in ("gptq", "awq"):
        size = quantization.get("group_size")
    return size if type(size) is int and size > 0 else 0


def _is_unquantised(model: Architecture, modules: Collection[str]) -> bool:
    """Return whether the checkpoint lists some modules as quantised in no layer."""
    quantization = model.quantization
    listed = quantization.get("ignored_layers") or quantization.get("modules_to_not_convert") or []
    named = [name for name in listed if isinstance(name, str)] if isinstance(listed, list) else []
    paths = [name.split(".") for name in named if name.rpartition(".")[2] in modules]
    layers = [next((part for part in path if part.isdecimal()), None) for path in paths]
    n_dense = model.number("first_k_dense_replace") if modules == FEED_FORWARD else 0
    return None in layers or 0 < (n_dense or model.layers) <= len(set(layers))

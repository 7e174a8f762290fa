"""Reasons why an engine would refuse a model, known from files and entry before a job waits.

The commands `plan` and `doctor`, the description of a model, and a run as it begins all use this
module, also for judges that are served here. A reason is only given if the engine is sure to
refuse. What cannot be known without a GPU is left to the engine.
"""

import ast
import importlib.util
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from userturn.errors import UserError
from userturn.models.engine_setup import Setup
from userturn.models.setup_gpus import refusals_on_gpus
from userturn.models.whole_model import check_weight_files

# What the installed engines know is read from their source and not imported: that takes up to half
# a minute, and a login node has no GPU that vLLM's import would find. Where an engine is not
# installed, or has its lists elsewhere, nothing is known of it, and nothing is refused for that.
REGISTRY = "model_executor/models/registry.py"
QUANTIZATION = "model_executor/layers/quantization/__init__.py"
ARGUMENTS = ("engine/arg_utils.py", "entrypoints/launchers/cli_args.py", "entrypoints/llm.py")
CLASSES = "models/auto/modeling_auto.py"
CONFIGS = ("models/auto/auto_mappings.py", "models/auto/configuration_auto.py")

Names = frozenset[str]


@cache
def _source(package: str, name: str) -> ast.Module:
    """Return the syntax tree of one file of a package, empty if the file does not exist."""
    spec = importlib.util.find_spec(package)
    folders = (spec.submodule_search_locations or []) if spec else []
    path = Path(next(iter(folders), "."), name)
    is_there = bool(folders) and path.is_file()
    return ast.parse(path.read_text(encoding="utf-8") if is_there else "")


def _assigned(tree: ast.Module, *names: str) -> Iterator[ast.expr]:
    """Yield the values that a file assigns to variables, or adds to them with `update`."""
    for line in tree.body:
        if isinstance(line, ast.Assign | ast.AnnAssign) and line.value is not None:
            targets = line.targets if isinstance(line, ast.Assign) else [line.target]
            if any(isinstance(to, ast.Name) and to.id in names for to in targets):
                yield line.value
        elif isinstance(line, ast.Expr) and (call := line.value) and isinstance(call, ast.Call):
            is_update = ast.unparse(call.func) in [f"{name}.update" for name in names]
            yield from call.args if is_update else ()


def _pairs(mapping: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """Yield keys and values of a dictionary: a display, keywords, or a list of pairs."""
    for node in ast.walk(mapping):
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant):
                    yield str(key.value), value
        elif isinstance(node, ast.Tuple) and len(node.elts) == 2:
            first, second = node.elts
            if isinstance(first, ast.Constant):
                yield str(first.value), second
        elif isinstance(node, ast.keyword) and node.arg:
            yield node.arg, node.value


def _keys(tree: ast.Module, *names: str) -> Names:
    return frozenset(key for one in _assigned(tree, *names) for key, _ in _pairs(one))


def _texts(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


@cache
def classes_of_vllm() -> Names:
    """Return the classes of models with which vLLM writes texts, empty if that is unknown."""
    tree = _source("vllm", REGISTRY)
    kinds = ("_TEXT_GENERATION_MODELS", "_MULTIMODAL_MODELS", "_TRANSFORMERS_SUPPORTED_MODELS")
    dicts = [one for one in _assigned(tree, *kinds) if isinstance(one, ast.Dict)]
    keys = [key.value for one in dicts for key in one.keys if isinstance(key, ast.Constant)]
    return frozenset(map(str, keys))


@cache
def classes_of_transformers() -> Names:
    """Return the classes of models with which transformers writes texts, empty if unknown."""
    kinds = ("CAUSAL_LM", "IMAGE_TEXT_TO_TEXT")
    names = [f"MODEL_FOR_{kind}_MAPPING_NAMES" for kind in kinds]
    mappings = _assigned(_source("transformers", CLASSES), *names)
    values = [value for one in mappings for _, value in _pairs(one)]
    return frozenset(name for value in values for name in _texts(value))


@cache
def families() -> Names:
    """Return the families of models whose config.json an engine can read, empty if unknown."""
    trees = [_source("transformers", name) for name in CONFIGS]
    names = frozenset().union(*(_keys(tree, "CONFIG_MAPPING_NAMES") for tree in trees))
    own = _keys(_source("vllm", "transformers_utils/config.py"), "_CONFIG_REGISTRY")
    return names | own if names else names


@cache
def quantizations_of_vllm() -> Names:
    """Return the kinds of quantised weights that vLLM has code for, empty if unknown."""
    tree = _source("vllm", QUANTIZATION)
    return frozenset(text for one in _assigned(tree, "QuantizationMethods") for text in _texts(one))


@cache
def quantizations_of_transformers() -> Names:
    """Return the kinds of quantised weights that transformers has code for, empty if unknown."""
    names = _keys(_source("transformers", "quantizers/auto.py"), "AUTO_QUANTIZER_MAPPING")
    return names | {"bitsandbytes"} if names else names


@cache
def settings_of_vllm() -> Names:
    """Return the names of vLLM's settings, its server's included, empty if unknown."""
    trees = [_source("vllm", name) for name in ARGUMENTS]
    classes = [node for tree in trees for node in tree.body if isinstance(node, ast.ClassDef)]
    lines = [line for one in classes for line in one.body]
    fields = {
        line.target.id
        for line in lines
        if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name)
    }
    constructors = [f for f in lines if isinstance(f, ast.FunctionDef) and f.name == "__init__"]
    names = {a.arg for f in constructors for a in [*f.args.args, *f.args.kwonlyargs]}
    return frozenset(fields | names)


def missing_package(quantization: Mapping[str, Any]) -> str | None:
    """Return transformers' message on a package that it lacks for quantised weights, or None."""
    from transformers.quantizers.auto import AutoHfQuantizer

    try:
        AutoHfQuantizer.from_config(dict(quantization), pre_quantized=True).validate_environment()
    except ImportError as error:
        return str(error).partition("\n")[0].rstrip(".")
    except Exception:  # a GPU that is not here, or a config that it reads when it loads
        return None
    return None


NO_FLOAT16 = ("gemma2", "gemma3", "gemma3_text", "glm4")  # by vLLM 0.32
HEADS_ON_CPU = (32, 64, 80, 96, 112, 128, 160, 192, 224, 256, 512)  # of its attention there
NOT_ON_CPU = ("mxfp4",)


class SetupError(UserError):
    """A model that its engine would refuse at every attempt."""

    stays = True


def check_setup(setup: Setup) -> None:
    """Refuse a model that its engine would refuse.

    Raises:
        SetupError: the first reason.
        UserError: its config.json or its weights are not whole.
    """
    if setup.engine is not None and setup.has_weights:
        check_weight_files(setup.folder)
    reason = next(refusals(setup), None)
    if reason is not None:
        raise SetupError(f"{setup.what}: {reason}")


def refusals(setup: Setup) -> Iterator[str]:
    """Yield why an engine would refuse a model, which for a server can only be its length."""
    if setup.engine is not None:
        yield from _classes(setup)
        yield from _quantisation(setup)
        yield from _number_type(setup)
        yield from _wrong_on_a_cpu(setup)
        yield from _pictures(setup)
        yield from _settings(setup)
    yield from _length(setup)
    if setup.engine is not None:
        yield from refusals_on_gpus(setup)


def _length(setup: Setup) -> Iterator[str]:
    own, length = setup.architecture.longest, setup.max_model_len
    if own and length and length > own and setup.is_length_asked:
        yield (
            f"max_model_len is {length}, and its config.json gives the model {own} tokens; set "
            f"max_model_len to {own} or less, or leave it out"
        )
    most = setup.longest_text
    for what, n in setup.writes.items():
        if most and n + setup.prompt_tokens > most:
            yield (
                f"{what} may take {n} tokens, and prompt and text together {most}, so that there "
                f"is no room for a prompt of {setup.prompt_tokens} or more; set a smaller "
                "max_tokens" + (", or a larger max_model_len" if most != own else "")
            )


def _classes(setup: Setup) -> Iterator[str]:
    model = setup.architecture
    name, family, code = model.name, model.family, model.whole.get("auto_map")
    if code and setup.trusts:
        missing = [file for file in _files_of_code(code) if not (setup.folder / file).is_file()]
        if missing:
            yield f"its folder lacks '{missing[0]}', the code of its class; fetch the model again"
    elif not (name and family):
        key = "model_type" if name else "architectures"
        yield f"its config.json has no {key}, by which engines choose a class; fetch it again"
    elif model.whole.get("is_encoder_decoder"):
        yield f"its class {name} has an encoder, and only models that continue a text can be asked"
    elif families() and family not in families():
        yield f"its family '{family}' is known to no engine here; {_other_code(code)}"
    elif (classes := _classes_of(setup.engine)) and name not in classes:
        other = setup.engine == "transformers" and name in classes_of_vllm()
        advice = "set `engine: vllm`" if other else _other_code(code)
        yield f"its class {name} is none that {setup.engine} writes texts with here; {advice}"


def _classes_of(engine: str | None) -> frozenset[str]:
    """Return the classes with which an engine writes texts, for vLLM also transformers' classes."""
    own = classes_of_vllm() if engine == "vllm" else classes_of_transformers()
    return own | classes_of_transformers() if own else own


def _other_code(code: object) -> str:
    if code:
        return "set `trust_remote_code: true` in its entry to run the code of its repository"
    return "name a model that writes text, or install a newer engine"


def _files_of_code(auto_map: object) -> list[str]:
    """Return the code files in the model's own folder that an `auto_map` names."""
    named = auto_map.values() if isinstance(auto_map, dict) else []
    own = {one.rpartition(".")[0] for one in named if isinstance(one, str) and "--" not in one}
    return sorted(f"{module}.py" for module in own)


def _quantisation(setup: Setup) -> Iterator[str]:
    model = setup.architecture
    own, quantization = model.quant_method, setup.quantization
    if model.quantization and not own:
        yield (
            "its quantization_config names no quant_method, by which engines choose; fetch the "
            "model again"
        )
        return
    if own and quantization and quantization not in (own, f"{own}_marlin"):
        yield (
            f"`vllm: {{quantization: {quantization}}}` of weights that are quantised as {own}; "
            "leave it out, or name an unquantised checkpoint"
        )
        return
    kind = quantization or own
    if not kind:
        return
    methods = quantizations_of_vllm() if setup.engine == "vllm" else quantizations_of_transformers()
    if methods and kind not in methods:
        yield (
            f"its weights are quantised as '{kind}', which {setup.engine} has no code for here; "
            "name a checkpoint in another format, or set `engine:` to the other engine"
        )
    elif setup.engine == "vllm" and not setup.gpus and kind in NOT_ON_CPU:
        yield f"vLLM has no code for {kind} weights on a CPU; set `engine: transformers`, or `gpus`"
    elif setup.engine == "transformers" and (package := missing_package(model.quantization)):
        yield (
            f"transformers cannot read its {kind} weights: {package}; install it, or `engine: vllm`"
        )


def _number_type(setup: Setup) -> Iterator[str]:
    model = setup.architecture
    if setup.engine != "vllm":
        return
    if setup.dtype == "float16" and model.family in NO_FLOAT16:
        yield (
            f"vLLM refuses float16 for {model.family}, whose numbers it cannot hold; set `dtype: "
            "bfloat16` in its entry"
        )
    has_heads = model.heads and not model.number("kv_lora_rank")
    if not setup.gpus and has_heads and model.head_size not in HEADS_ON_CPU:
        yield (
            f"its heads have {model.head_size} numbers, and vLLM's attention on a CPU takes "
            f"{', '.join(map(str, HEADS_ON_CPU))}; set `engine: transformers`, or `gpus`"
        )


def _wrong_on_a_cpu(setup: Setup) -> Iterator[str]:
    """Yield a sentence for each kind of layer with which vLLM on a CPU writes wrong texts.

    benchmarks/architectures.md shows the texts of models with the keys of published configs.
    """
    model = setup.architecture
    if setup.engine != "vllm" or setup.gpus:
        return
    wrong = {"convolution": "conv" in model.kinds, "latent attention": model.number("kv_lora_rank")}
    yield from (
        f"it has layers of {kind}, of which vLLM's build for CPUs writes wrong texts; set `engine: "
        "transformers`, or `gpus`"
        for kind, is_there in wrong.items()
        if is_there
    )


BY_TORCHVISION = ("pixtral",)  # parts for pictures whose module in transformers imports it


def _pictures(setup: Setup) -> Iterator[str]:
    part = setup.architecture.whole.get("vision_config")
    kind = part.get("model_type") if isinstance(part, Mapping) else None
    is_there = importlib.util.find_spec("torchvision") is not None
    if setup.engine == "vllm" and kind in BY_TORCHVISION and not is_there:
        yield (
            f"its part for pictures ({kind}) needs the package torchvision, which is not installed "
            "here; install it, or set `engine: transformers`"
        )


def _settings(setup: Setup) -> Iterator[str]:
    if setup.engine != "vllm":
        return
    options, settings = setup.options, settings_of_vllm()
    unknown = sorted(set(options) - settings) if settings else []
    if unknown:
        yield f"vLLM has no setting '{unknown[0]}'; correct `vllm:` in the config"
    tokens, rows = options.get("max_num_batched_tokens"), options.get("max_num_seqs")
    if type(tokens) is int and setup.gpus:
        if type(rows) is int and tokens < rows:
            yield (
                f"max_num_batched_tokens is {tokens}, fewer than max_num_seqs ({rows}), which vLLM "
                "refuses; set it to as many or more"
            )
        most = setup.longest_text
        if options.get("enable_chunked_prefill") is False and most and tokens < most:
            yield (
                f"max_num_batched_tokens is {tokens}, fewer than max_model_len ({most}), which "
                "vLLM refuses with enable_chunked_prefill off; set it to as many, or leave that on"
            )
    if options.get("enable_expert_parallel") and setup.gpus and not setup.architecture.experts:
        yield "enable_expert_parallel is on, and the model has no experts; leave it out"

"""What the installed engines know: classes, kinds of quantisation, and names of settings.

Their lists are read from their source and not imported: that takes up to half a minute, and a
login node has no GPU that vLLM's import would find. Where an engine is not installed, or has its
lists elsewhere, nothing is known of it, and nothing is refused for that.
"""

import ast
import importlib.util
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

REGISTRY = "model_executor/models/registry.py"
QUANTIZATION = "model_executor/layers/quantization/__init__.py"
ARGUMENTS = ("engine/arg_utils.py", "entrypoints/launchers/cli_args.py", "entrypoints/llm.py")
CLASSES = "models/auto/modeling_auto.py"
CONFIGS = ("models/auto/auto_mappings.py", "models/auto/configuration_auto.py")

Names = frozenset[str]


@cache
def _source(package: str, name: str) -> ast.Module:
    """Return the syntax of one file of a package; an empty one if it is not there."""
    found = importlib.util.find_spec(package)
    folders = (found.submodule_search_locations or []) if found else []
    path = Path(next(iter(folders), "."), name)
    is_there = bool(folders) and path.is_file()
    return ast.parse(path.read_text(encoding="utf-8") if is_there else "")


def _assigned(tree: ast.Module, *names: str) -> Iterator[ast.expr]:
    """Yield what a file assigns to variables of some names, or adds to them with `update`."""
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
    """Return the classes that vLLM writes texts with; none if that is not known."""
    tree = _source("vllm", REGISTRY)
    kinds = ("_TEXT_GENERATION_MODELS", "_MULTIMODAL_MODELS", "_TRANSFORMERS_SUPPORTED_MODELS")
    dicts = [one for one in _assigned(tree, *kinds) if isinstance(one, ast.Dict)]
    keys = [key.value for one in dicts for key in one.keys if isinstance(key, ast.Constant)]
    return frozenset(map(str, keys))


@cache
def _of_transformers() -> dict[str, set[str]]:
    """Return the classes that transformers writes texts with, by the family of the model."""
    found: dict[str, set[str]] = {}
    kinds = ("CAUSAL_LM", "IMAGE_TEXT_TO_TEXT")
    names = [f"MODEL_FOR_{kind}_MAPPING_NAMES" for kind in kinds]
    for one in _assigned(_source("transformers", CLASSES), *names):
        for key, value in _pairs(one):
            found.setdefault(key, set()).update(_texts(value))
    return found


def families_of_transformers() -> Names:
    """Return the families that transformers writes texts with; none if that is not known."""
    return frozenset(_of_transformers())


def classes_of_transformers() -> Names:
    """Return the classes that transformers writes texts with; none if that is not known."""
    return frozenset().union(*_of_transformers().values())


@cache
def families() -> Names:
    """Return the families whose config.json an engine can read, whatever they are for."""
    trees = [_source("transformers", name) for name in CONFIGS]
    known = frozenset().union(*(_keys(tree, "CONFIG_MAPPING_NAMES") for tree in trees))
    own = _keys(_source("vllm", "transformers_utils/config.py"), "_CONFIG_REGISTRY")
    return known | own if known else known


@cache
def quantizations_of_vllm() -> Names:
    """Return the kinds of quantised weights that vLLM has code for; none if that is not known."""
    tree = _source("vllm", QUANTIZATION)
    return frozenset(text for one in _assigned(tree, "QuantizationMethods") for text in _texts(one))


@cache
def quantizations_of_transformers() -> Names:
    """Return the kinds of quantised weights that transformers has code for; none if not known."""
    known = _keys(_source("transformers", "quantizers/auto.py"), "AUTO_QUANTIZER_MAPPING")
    return known | {"bitsandbytes"} if known else known


@cache
def settings_of_vllm() -> Names:
    """Return the names of vLLM's settings, its server's included; none if that is not known."""
    trees = [_source("vllm", name) for name in ARGUMENTS]
    classes = [node for tree in trees for node in tree.body if isinstance(node, ast.ClassDef)]
    lines = [line for one in classes for line in one.body]
    fields = {
        line.target.id
        for line in lines
        if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name)
    }
    made_with = [f for f in lines if isinstance(f, ast.FunctionDef) and f.name == "__init__"]
    taken = {a.arg for f in made_with for a in [*f.args.args, *f.args.kwonlyargs]}
    return frozenset(fields | taken)


def missing_package(quantization: Mapping[str, Any]) -> str | None:
    """Return what transformers lacks to read quantised weights, in its own words, or None."""
    from transformers.quantizers.auto import AutoHfQuantizer

    try:
        AutoHfQuantizer.from_config(dict(quantization), pre_quantized=True).validate_environment()
    except ImportError as error:
        return str(error).partition("\n")[0].rstrip(".")
    except Exception:  # a GPU that is not here, or a config that it reads when it loads
        return None
    return None

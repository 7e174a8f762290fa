"""Check that a model's weights are whole, and load a model only with all of them.

transformers and peft fill in weights that a file lacks, with random numbers or with an adapter that
changes nothing, and only print that they did. vLLM does not even print it.
"""

import json
import warnings
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from userturn.errors import UserError
from userturn.storage.files import read_json

INDEX = "model.safetensors.index.json"
LENGTH = 8  # bytes at the beginning of a safetensors file: the length of its header
LONGEST = 100_000_000  # bytes of a header, by the format
AGAIN = "fetch the model again, or correct its source in the config"


class BrokenWeightsError(UserError):
    """Weights that are not whole, which no further attempt changes."""

    stays = True


def check_weight_files(folder: Path) -> None:
    """Refuse a model folder whose config or weights are incomplete.

    Raises:
        UserError: config.json is no object.
        BrokenWeightsError: a file of the index is missing, a file is damaged, or there is none.
    """
    read_json(folder / "config.json")
    index = folder / INDEX
    named = _named_files(index) if index.is_file() else set()
    missing = sorted(name for name in named if not (folder / name).is_file())
    if missing:
        raise BrokenWeightsError(
            f"model folder '{folder}' lacks {len(missing)} of the {len(named)} files with weights "
            f"that {INDEX} names, such as '{missing[0]}'; {AGAIN}"
        )
    files = sorted(folder.glob("*.safetensors"))
    for file in files:
        if not file.is_file():  # as in a cache from which content was removed
            raise BrokenWeightsError(f"'{file}' is a link to a file that is gone; {AGAIN}")
    for file in files:
        check_safetensors(file)
    if not files and not [*folder.glob("*.bin"), *folder.glob("*.pt")]:
        raise BrokenWeightsError(f"model folder '{folder}' has no weights (*.safetensors); {AGAIN}")


def _named_files(index: Path) -> set[str]:
    weights = read_json(index).get("weight_map")
    if not isinstance(weights, dict) or not all(isinstance(n, str) for n in weights.values()):
        raise BrokenWeightsError(f"'{index}' has no `weight_map` from weights to files; {AGAIN}")
    return set(weights.values())


def check_safetensors(file: Path) -> None:
    """Raise BrokenWeightsError if a safetensors file has another size than its header says."""
    n_bytes = file.stat().st_size
    with file.open("rb") as content:
        n = int.from_bytes(content.read(LENGTH), "little")
        header = content.read(n) if n <= min(n_bytes, LONGEST) else b""
    try:
        tensors = json.loads(header)
        ends = [tensor["data_offsets"][1] for name, tensor in tensors.items() if name[:2] != "__"]
        expected = LENGTH + n + max(ends, default=0)
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise BrokenWeightsError(
            f"'{file}' is not a safetensors file ({n_bytes} bytes, its header cannot be read); "
            f"{AGAIN}"
        ) from error
    if n_bytes != expected:
        raise BrokenWeightsError(
            f"'{file}' has {n_bytes} bytes, expected {expected} by its header; {AGAIN}"
        )


# Errors that transformers raises for folders which it does not understand, though vLLM may.
NOT_UNDERSTOOD = (OSError, ValueError, RuntimeError, LookupError, ImportError, AttributeError)


def whole_model(folder: str | Path, **settings: Any) -> Any:
    """Return a causal language model, with the settings of `from_pretrained`.

    A class for text and images, such as Mistral 3's, is loaded whole and given text alone.

    Raises:
        BrokenWeightsError: the folder lacks weights of the architecture that its config.json names.
    """
    about_files: dict[str, Any] = {
        k: settings[k] for k in ("trust_remote_code", "gguf_file") if k in settings
    }
    model, about = class_for(folder, about_files).from_pretrained(
        folder, **settings, output_loading_info=True
    )
    _refuse(folder, about["missing_keys"])
    return model


def class_for(folder: str | Path, about_files: Mapping[str, Any]) -> Any:
    """Return the transformers class that loads a folder, for text and images if it must be.

    `about_files` are the settings of `from_pretrained` with which its configuration is read.
    """
    import transformers
    from transformers.models.auto import modeling_auto

    config = type(transformers.AutoConfig.from_pretrained(folder, **about_files))
    is_text = config in modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING
    if not is_text and config in modeling_auto.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING:
        return transformers.AutoModelForImageTextToText
    return transformers.AutoModelForCausalLM


def check_weights(folder: Path) -> None:
    """Refuse a folder that lacks weights, as far as transformers can tell from their names.

    Not checked are models that transformers does not know or would run code of, quantised weights,
    and weights under names that the architecture does not have, since vLLM may know better.

    Raises:
        BrokenWeightsError: the folder lacks weights of the architecture that its config.json names,
            or has them in another shape.
    """
    config = read_json(folder / "config.json")
    configs = (config, config.get("text_config") or {})
    named = any("quantization_config" in one or "compression_config" in one for one in configs)
    if named or (folder / "hf_quant_config.json").is_file() or "auto_map" in config:
        return
    import transformers

    architecture = next(iter(config.get("architectures") or []), "")
    model: Any = getattr(transformers, str(architecture), None)
    if not hasattr(model, "from_pretrained"):
        return
    try:
        with _silence():
            _, about = model.from_pretrained(
                folder, device_map="meta", output_loading_info=True, ignore_mismatched_sizes=True
            )
    except NOT_UNDERSTOOD:
        return
    if about["mismatched_keys"]:
        name, shape, expected = min(about["mismatched_keys"])
        raise BrokenWeightsError(
            f"model folder '{folder}' has '{name}' in the shape {list(shape)}, and by its "
            f"config.json it would be {list(expected)}; {AGAIN}"
        )
    if not about["unexpected_keys"]:
        _refuse(folder, about["missing_keys"])


@contextmanager
def _silence() -> Iterator[None]:
    from transformers.utils import logging

    verbosity, shows_progress = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity(logging.CRITICAL)
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if shows_progress:
            logging.enable_progress_bar()


def _refuse(folder: str | Path, missing: Collection[str]) -> None:
    if missing:
        raise BrokenWeightsError(
            f"model folder '{folder}' lacks {len(missing)} of the weights that its architecture "
            f"has, such as '{min(missing)}', which would be random numbers; {AGAIN}"
        )


def adapted(model: Any, adapter: Path) -> Any:
    """Return a model with a whole LoRA adapter on it (needs peft), or raise BrokenWeightsError."""
    from peft import PeftModel

    with warnings.catch_warnings():
        warnings.filterwarnings("error", "Found missing adapter keys")
        try:
            return PeftModel.from_pretrained(model, adapter)
        except UserWarning as error:
            raise BrokenWeightsError(
                f"adapter '{adapter}' lacks weights that its config puts on the base model, so it "
                "would leave parts of that as they are; fetch it again, or correct the base in "
                "its adapter_config.json"
            ) from error

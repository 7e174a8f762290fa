"""Convert GGUF files and LoRA adapters to ordinary model folders, once each."""

import shutil
import struct
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from userturn.errors import UserError, cache_folder, how_to_install, is_full_disk
from userturn.models.whole_model import adapted, check_safetensors, check_weight_files, whole_model
from userturn.storage.files import read_json
from userturn.storage.hashing import file_sha256

ADAPTER = "adapter_config.json"
SAMPLED = 64  # tokens on which a conversion is compared with its input
SAME = 1e-4  # nats; a merge in fp32 of 135M parameters differs by 2.4e-5 at most
UNREADABLE = (
    OSError,
    ValueError,
    LookupError,
    RuntimeError,
    TypeError,
    AttributeError,
    struct.error,
)


def fill_once(folder: Path, make: Callable[[Path], None], notice: str) -> Path:
    """Return the path of a cache folder, after `make` has filled it once, wholly or not at all.

    Raises:
        UserError: the source files cannot be read.
    """
    if folder.is_dir():
        return folder
    print(notice, flush=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
        half = Path(temporary) / "model"
        try:
            make(half)
        except UNREADABLE as error:
            if is_full_disk(error):
                raise
            reason = next(iter(str(error).splitlines()), "")
            raise UserError(
                f"{notice}: failed ({type(error).__name__}: {reason}); a file is damaged or not of "
                "that kind: fetch it again, or name the original model in the config"
            ) from error
        if not folder.is_dir():
            shutil.move(half, folder)
    return folder


def gguf_folder(path: Path) -> Path:
    """Return the path of a GGUF file's model folder, which may not exist yet."""
    return cache_folder() / "gguf" / file_sha256(path)


def converted_gguf(path: Path) -> Path:
    """Return the path of a GGUF file's model folder, converted to fp32 if it does not exist yet."""
    from userturn.prompts.load_template import note_pre_tokenizer  # no other job needs templates

    converted = fill_once(
        gguf_folder(path),
        lambda folder: _convert_gguf(path, folder),
        f"converting {path.name} to a model folder, once (about a minute)",
    )
    note_pre_tokenizer(path, converted)  # also beside what an earlier version converted
    return converted


def _convert_gguf(path: Path, folder: Path) -> None:
    import torch
    from transformers import AutoTokenizer

    from userturn.prompts.load_template import note_pre_tokenizer

    note_pre_tokenizer(path, folder)
    tokenizer = AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)
    quantised = whole_model(path.parent, gguf_file=path.name, dtype=torch.float32)
    settings = quantised.config.to_dict()
    for key in ("quantization_config", "_name_or_path"):
        settings.pop(key, None)
    config = type(quantised.config).from_dict(settings)
    config.architectures = [type(quantised).__name__]
    config.dtype = torch.float32
    expected = expectations(quantised)
    # transformers refuses to save a model loaded from GGUF, so its weights go into a new model.
    plain = type(quantised)(config)
    plain.load_state_dict(quantised.state_dict(), strict=True)
    plain.generation_config = quantised.generation_config
    plain.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    del quantised, plain
    check_converted(folder, expected)


def expectations(model: Any) -> Any:
    """Return a model's log-probabilities of all tokens after a sample of its vocabulary."""
    import torch

    n_tokens = model.get_input_embeddings().num_embeddings
    ids = torch.arange(0, n_tokens, max(1, n_tokens // SAMPLED))[:SAMPLED]
    with torch.inference_mode():
        return model.eval()(input_ids=ids[None]).logits[0].float().log_softmax(-1)


def check_converted(folder: Path, expected: Any) -> None:
    """Raise UserError if a converted folder's log-probabilities differ from its original's."""
    difference = float((expectations(whole_model(folder, dtype="float32")) - expected).abs().mean())
    if not difference <= SAME:
        raise UserError(
            f"the converted model in '{folder}' differs from its original: its log-probabilities "
            f"differ by {difference:.2g} on average, expected at most {SAME}; use a newer "
            "transformers, or a folder that its makers converted"
        )


def adapter_base(folder: Path) -> tuple[str, str | None] | None:
    """Return source and revision of a LoRA adapter's base, or None if the folder is no adapter.

    Raises:
        UserError: an adapter that names no base model.
    """
    path = folder / ADAPTER
    if not path.is_file():
        return None
    settings = read_json(path)
    base = settings.get("base_model_name_or_path")
    if not base or not isinstance(base, str):
        raise UserError(
            f"'{path}' names no base model, expected base_model_name_or_path: a hub id or a "
            "folder; write it into that file"
        )
    if Path(base).expanduser().resolve() == folder.resolve():
        raise UserError(
            f"'{path}' names its own folder as the base model; write the base's folder or hub id "
            "into that file"
        )
    return base, settings.get("revision")


def merged_adapter(adapter: Path, base: Path, identity: str) -> Path:
    """Return the path of the model folder of a LoRA adapter merged into its base (needs peft)."""
    return fill_once(
        cache_folder() / "merged" / identity,
        lambda folder: merge_adapter(adapter, base, folder),
        f"merging the adapter {adapter.name} into {base.name}, once",
    )


def merge_adapter(adapter: Path, base: Path, folder: Path) -> None:
    """Write base and adapter as one model folder, in fp32, or raise UserError.

    Most changes of a short training are smaller than the steps between numbers of bfloat16, which
    would round them away. The tokenizer is the adapter's if it has one.
    """
    from transformers import AutoTokenizer

    try:
        import peft  # noqa: F401
    except ModuleNotFoundError as error:
        raise UserError(
            f"the adapter '{adapter}' needs the package peft, which is not installed; "
            f"{how_to_install('peft')}, or merge it yourself and name the merged folder"
        ) from error
    check_weight_files(base)
    for file in sorted(adapter.glob("*.safetensors")):
        check_safetensors(file)
    model = adapted(whole_model(base, dtype="float32"), adapter)
    expected = expectations(model)
    model.merge_and_unload().save_pretrained(folder)
    has_tokenizer = (adapter / "tokenizer_config.json").is_file()
    AutoTokenizer.from_pretrained(adapter if has_tokenizer else base).save_pretrained(folder)
    del model
    check_converted(folder, expected)

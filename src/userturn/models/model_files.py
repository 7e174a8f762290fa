"""The form of a local model's files: hashes of what shapes tokens, which no reformatting changes.

A file counts if an engine or a tokenizer may read it. JSON counts by its values, a chat template
by `normal_template`, and every other file by its bytes. Of a large file an identity reads only the
two ends. So its whole hash is recorded in the model's description, and compared before the model
runs and by an audit. A model that was trained further cannot take over the earlier one's journals.
"""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from userturn.errors import UserError, cache_folder
from userturn.models.fetch import local_path
from userturn.prompts.template_text import normal_template
from userturn.storage.files import write_text
from userturn.storage.hashing import (
    WHOLE_FILE_LIMIT,
    file_sha256,
    fingerprint,
    sampled_sha256,
    short_hash,
)

READ = re.compile(  # weights, templates, vocabularies, and the JSON files of configs and tokenizers
    r".*\.(safetensors|bin|pt|pth|gguf|jinja|model|spm|tiktoken|vocab|codes|bpe)"
    r"|.*(config|token|vocab|template|index|param|process|tekken|normaliz|emoji|quant).*\.json"
    r"|.*(vocab|merges|bpe|dict|token).*\.txt",
    re.IGNORECASE,
)
CODE = ".py"  # a model's own code, which may read any file beside it
Files = Mapping[str, Mapping[str, str]]  # as `files_of_folder` returns them
TEMPLATE = "chat_template"  # a key of JSON files, with a template or a list of named ones


def is_read(name: str, names: Collection[str]) -> bool:
    """Return whether an engine or a tokenizer may read a file of a folder with these names."""
    return READ.fullmatch(name) is not None or any(other.endswith(CODE) for other in names)


def normalised_folder_hash(folder: Path) -> str:
    """Return one hash of the names and normalised contents of the files that may be read."""
    files = {path.name: path for path in folder.iterdir() if path.is_file()}
    return fingerprint(
        {n: normalised_file_hash(path) for n, path in files.items() if is_read(n, files)}
    )


def files_of_folder(source: str) -> dict[str, dict[str, str]]:
    """Return the sha256 and the form of each file of a local model folder, by name.

    A file that is not read has no form. There are none for a hub model or a GGUF file. Hidden files
    are left out: Snakemake stamps the folder of a model that it trained.
    """
    folder = local_path(source)
    if folder is None or not folder.is_dir():
        return {}
    files = {path.name: path for path in sorted(folder.glob("[!.]*")) if path.is_file()}
    return {
        name: {"sha256": sampled_sha256(path)}
        | ({"form": normalised_file_hash(path)} if is_read(name, files) else {})
        for name, path in files.items()
    }


def harmless_changes(then: Files, now: Files) -> Iterator[str]:
    """Yield a sentence for each changed file that does not matter, with the reason."""
    for name in sorted(then.keys() | now.keys()):
        before, after = then.get(name, {}), now.get(name, {})
        if before.get("sha256") == after.get("sha256") or before.get("form") != after.get("form"):
            continue
        is_read = "form" in after
        reason = "was changed in its form, not in its values"
        reason = reason if is_read else "is read by no engine and no tokenizer"
        yield f"{name} {reason}: what was asked of the model stays valid"


def differing(then: Files, now: Files) -> Iterator[tuple[str, str]]:
    """Yield `name form` (a short hash), earlier and present, of each changed file that matters."""
    for name in sorted(then.keys() | now.keys()):
        before, after = then.get(name, {}).get("form"), now.get(name, {}).get("form")
        if before != after:
            yield f"{name} {short_hash(before)}", f"{name} {short_hash(after)}"


def normalised_file_hash(path: Path) -> str:
    """Return the hash of a file's normalised content, equal for two files that are read alike.

    For a file over 64 MiB (weights), its size and both ends count.
    """
    if path.suffix in (".json", ".jinja") and path.stat().st_size <= WHOLE_FILE_LIMIT:
        try:
            text = path.read_bytes().decode()
            if path.suffix == ".jinja":
                return normalised_template_hash(text)
            return fingerprint(["json", json.loads(text, object_pairs_hook=_object)])
        except (ValueError, RecursionError):
            pass  # not what its name says: it counts by its bytes
    return sampled_sha256(path)


def normalised_template_hash(text: str) -> str:
    """Return the hash of a normalised chat template."""
    return fingerprint(["template", normal_template(text)])


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object with templates in normal form, or raise ValueError for a double key."""
    content = dict(pairs)
    if len(content) < len(pairs):
        raise ValueError("a key stands twice")
    if TEMPLATE in content:
        content[TEMPLATE] = _templates(content[TEMPLATE])
    return content


def _templates(value: Any) -> Any:
    if isinstance(value, str):
        return normal_template(value)
    if not isinstance(value, list):
        return value
    return [
        {**named, "template": _templates(named["template"])}
        if isinstance(named, Mapping) and "template" in named
        else named
        for named in value
    ]


def weights_sha256(source: str) -> dict[str, str]:
    """Return the sha256 of each local file over 64 MiB by name, empty for a hub model.

    A file is read once: its hash is kept in the cache until its size, time or inode changes.
    """
    path = local_path(source)
    if path is None:
        return {}
    files = [path] if path.is_file() else sorted(p for p in path.iterdir() if p.is_file())
    large = [file for file in files if file.stat().st_size > WHOLE_FILE_LIMIT]
    return {file.name: _hashed_once(file) for file in large}


def _hashed_once(file: Path) -> str:
    status = file.stat()
    state = [str(file.resolve()), status.st_size, status.st_mtime_ns, status.st_ino]
    note = cache_folder() / "sha256" / fingerprint(state)
    if note.is_file():
        return note.read_text()
    digest = file_sha256(file)
    with suppress(OSError):  # an audit, of a study that may be a stranger's, only reads the cache
        note.parent.mkdir(parents=True, exist_ok=True)
        write_text(digest, note)
    return digest


def changed_weights(source: str, described: Mapping[str, str]) -> tuple[str, str] | None:
    """Return name and short hash of one file that differs, as described and now, or None."""
    digests = weights_sha256(source)
    for name, digest in sorted(described.items()):
        if digests.get(name) != digest:
            return f"{name} {short_hash(digest)}", f"{name} {short_hash(digests.get(name))}"
    return None


def check_weights_unchanged(model: str, source: str, described: Mapping[str, str]) -> None:
    """Raise UserError if a local model's large files differ from those in its description."""
    changed = changed_weights(source, described)
    if changed is not None:
        raise UserError(
            f"model '{model}' at '{source}' was changed after it was described: expected "
            f"{changed[0]}, found {changed[1]}; put the model back, or give the changed one "
            "a name of its own in the config"
        )

"""The whole hashes of a local model's large files, of which its identity reads both ends only.

They are recorded in the model's description and compared before the model runs and by an audit, so
that a model that was trained further cannot take over the journals of the earlier one.
"""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from userturn.disk_space import cache_folder
from userturn.errors import UserError
from userturn.models.fetch import local_path
from userturn.storage.files import write_text
from userturn.storage.hashing import WHOLE_FILE_LIMIT, file_sha256, fingerprint, short_hash


def weights_sha256(source: str) -> dict[str, str]:
    """Return the sha256 of each local file over 64 MiB, by name; nothing for a hub model.

    A file is read once: its hash is kept in the cache until its size, time or inode changes.
    """
    path = local_path(source)
    if path is None:
        return {}
    files = [path] if path.is_file() else sorted(p for p in path.iterdir() if p.is_file())
    return {file.name: _hashed_once(file) for file in files if _is_large(file)}


def _is_large(file: Path) -> bool:
    return file.stat().st_size > WHOLE_FILE_LIMIT


def _hashed_once(file: Path) -> str:
    status = file.stat()
    known_by = [str(file.resolve()), status.st_size, status.st_mtime_ns, status.st_ino]
    kept = cache_folder() / "sha256" / fingerprint(known_by)
    if kept.is_file():
        return kept.read_text()
    digest = file_sha256(file)
    with suppress(OSError):  # an audit, of a study that may be a stranger's, only reads the cache
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_text(digest, kept)
    return digest


def changed_weights(source: str, described: Mapping[str, str]) -> tuple[str, str] | None:
    """Return the described and the present hash of a file that differs, shortened, or None."""
    found = weights_sha256(source)
    for name, digest in sorted(described.items()):
        if found.get(name) != digest:
            return f"{name} {short_hash(digest)}", f"{name} {short_hash(found.get(name))}"
    return None


def check_weights(model: str, source: str, described: Mapping[str, str]) -> None:
    """Refuse a local model whose large files are not those that it was described with.

    Raises:
        UserError: one differs, somewhere between its first and its last MiB.
    """
    changed = changed_weights(source, described)
    if changed is not None:
        raise UserError(
            f"model '{model}' at '{source}' was changed after it was described: expected "
            f"{changed[0]}, found {changed[1]}; put the model back, or give the changed one "
            "a name of its own in the config"
        )

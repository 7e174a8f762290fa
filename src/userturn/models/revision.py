"""The commit of a hub source: the one that was fetched, and the one that a study recorded."""

from pathlib import Path

from userturn.models.fetch import local_path, source_folder
from userturn.storage.given_files import given_object


def resolved_revision(source: str, revision: str, with_weights: bool = True) -> str | None:
    """Return the commit of a hub source, from its snapshot's name; None for a local source."""
    if local_path(source) is not None:
        return None
    folder = source_folder(source, revision, with_weights)
    return folder.name if folder.parent.name == "snapshots" else revision


def pinned_revision(path_to_pin: Path, source: str, revision: str) -> str:
    """Return the commit that a study recorded for a source and a branch, else the branch.

    The file is not an output of a rule, so it survives when the description is remade, and a study
    does not follow a branch that has moved. To move to a newer commit, delete the file.
    """
    if not path_to_pin.is_file():
        return revision
    pin = given_object(path_to_pin)
    same = (pin.get("source"), pin.get("asked_for")) == (source, revision)
    return str(pin.get("revision") or revision) if same else revision

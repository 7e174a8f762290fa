"""The commit of a hub source: the one that was fetched, and the one that a study recorded."""

from collections.abc import Iterable
from pathlib import Path

from userturn.models.fetch import local_path, source_folder
from userturn.storage.files import given_object


def resolved_revision(source: str, revision: str, with_weights: bool = True) -> str | None:
    """Return the commit of a hub source, from its snapshot's name; None for a local source."""
    if local_path(source) is not None:
        return None
    folder = source_folder(source, revision, with_weights)
    return folder.name if folder.parent.name == "snapshots" else revision


def pinned_revision(paths_to_pins: Iterable[Path], source: str, revision: str) -> str:
    """Return the commit that a study recorded for a source and a branch, else the branch.

    The files are no outputs of a rule, so they survive when the description is remade, and a study
    does not follow a branch that has moved. To move to a newer commit, delete the file.

    Args:
        paths_to_pins: the pin of the model, and that of its earlier name.
        source: of the model.
        revision: the branch, tag or commit that its entry names.
    """
    for path in filter(Path.is_file, paths_to_pins):
        pin = given_object(path)
        if (pin.get("source"), pin.get("asked_for")) == (source, revision):
            return str(pin.get("revision") or revision)
    return revision

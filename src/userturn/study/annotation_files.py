"""Which files hold people's labels: all below the folder of a round, whatever their names."""

from collections.abc import Collection
from fnmatch import fnmatch
from pathlib import Path

from userturn.errors import UserError
from userturn.storage.files import paths_below

ANNOTATIONS = Path("data/annotations")
ABOUT = ANNOTATIONS / "README.md"  # the project's own
LEFT_BY_PROGRAMS = (  # of systems, spreadsheets and editors: no file of an annotator
    *(".DS_Store", "._*", "__MACOSX", "Thumbs.db", "desktop.ini"),
    *(".~lock.*", "~$*", ".*.sw?", ".git*", ".ipynb_checkpoints"),
)


def _is_of_people(path: Path) -> bool:
    parts = path.relative_to(ANNOTATIONS).parts
    return not any(fnmatch(part, pattern) for part in parts for pattern in LEFT_BY_PROGRAMS)


def annotation_files(round_name: str) -> list[str]:
    """Return the sorted paths of the files with labels of a round.

    Raises:
        UserError: a path cannot be read as a file, or its name is not UTF-8.
    """
    folder = ANNOTATIONS / round_name
    below = filter(_is_of_people, paths_below(folder) if folder.is_dir() else [])
    paths = [path for path in below if path.is_symlink() or not path.is_dir()]
    for path in paths:
        name = str(path).encode("utf-8", "replace").decode()
        if not path.is_file():
            raise UserError(
                f"'{name}' is a link to a folder or to nothing, or a pipe, expected a file with "
                "labels; put the files themselves there, or remove it"
            )
        if name != str(path):
            raise UserError(f"the name of '{name}' is not UTF-8; rename that file")
    return sorted(map(str, paths))


def files_of_no_round(rounds: Collection[str]) -> list[str]:
    """Return the sorted paths of files and folders with labels of none of the given rounds."""
    here = ANNOTATIONS.iterdir() if ANNOTATIONS.is_dir() else ()
    paths = [path for path in here if path != ABOUT and _is_of_people(path)]
    others = [path for path in paths if path.name not in rounds or not path.is_dir()]
    return sorted(str(path) for path in others if not path.is_dir() or any(path.iterdir()))

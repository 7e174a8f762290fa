"""The files that are opened to check a study, or to make it again: its own, and what it names."""

from collections.abc import Iterator
from pathlib import Path

from huggingface_hub.constants import HF_HUB_CACHE

from userturn.config.trust import is_of_this_folder, named_files
from userturn.errors import UserError
from userturn.export.read_archive import LEFT_OUT, results_in
from userturn.storage.files import paths_below
from userturn.study.record import read_study_record

BESIDE = ("data", "models", LEFT_OUT)  # parts of a study beside its results


def opened_of(path: Path) -> list[Path]:
    """Return the files and folders that a study consists of, and the hub's cache of datasets.

    Of a folder with the results that is the home folder, or around it, only parts of a study count.
    """
    found = [path, Path(HF_HUB_CACHE)]
    if not path.is_dir():
        return found
    results = results_in(path) or path
    folder = results.resolve().parent
    is_around_home = Path.home().resolve().is_relative_to(folder)
    found += [folder / name for name in BESIDE] if is_around_home else [folder]
    return [*found, results, *(_of_own(results) if is_of_this_folder(results) else [])]


def _of_own(results: Path) -> Iterator[Path]:
    """Yield what lies elsewhere of the user's own study: what links lead to and settings name."""
    folder = results.resolve().parent
    for part in (results, folder / "data"):
        if part.is_dir():
            yield from (path.resolve() for path in paths_below(part) if path.is_symlink())
    try:
        record = read_study_record(results)
        named = named_files(record.config)
        files = [folder / file for files in record.contents.annotations.values() for file in files]
    except (UserError, LookupError, TypeError, AttributeError, ValueError):
        return  # the command says what is wrong
    yield from (folder / Path(name).expanduser() for name in named)
    yield from files

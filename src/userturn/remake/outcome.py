"""Which of the files made again are equal to a study's own, and which were not made, in words."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from userturn.plural import number_of
from userturn.provenance.study_files import Files
from userturn.storage.hashing import file_sha256

MADE_AGAIN = ("results/tables/", "results/figures/", "results/report/")
SHOWN = 20  # lines of one kind
NAMED = 30  # names in a line


@dataclass(frozen=True)
class Outcome:
    """The files of a study that were made again, and those that were not.

    Attributes:
        equal: paths of files that are equal byte for byte.
        unequal: paths of the others, each with what may explain it.
        left_out: paths of the files that were not made, each with the reason.
    """

    equal: list[str]
    unequal: dict[str, str]
    left_out: dict[str, str]


def compare(files: Files, folder: Path, reasons: Mapping[str, str]) -> Outcome:
    """Compare the files made again with those of the study, or with their recorded hashes.

    Args:
        files: the study's files.
        folder: where files were made again.
        reasons: why a file was not made, by path.
    """
    expected = {path: files.hashes.get(path) for path in files.noted if path.startswith(MADE_AGAIN)}
    made = {path: file_sha256(folder / path) for path in sorted(_made(folder))}
    equal = [path for path, digest in made.items() if digest == expected.get(path)]
    unequal = {path: _why(files, path, expected.get(path)) for path in made if path not in equal}
    not_made = {path: reasons.get(path, "not made by this version") for path in sorted(expected)}
    return Outcome(equal, unequal, {p: why for p, why in not_made.items() if p not in made})


def _made(folder: Path) -> Iterator[str]:
    found = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return (path for path in found if path.startswith(MADE_AGAIN))


def _why(files: Files, path: str, expected: str | None) -> str:
    if expected is None:
        return "the study has no such file"
    commit = files.other_code(path)
    return f"made by another version of userturn, commit {commit}" if commit else "no known reason"


def format_outcome(outcome: Outcome, results: Path) -> str:
    """Return an outcome as text."""
    n_made = len(outcome.equal) + len(outcome.unequal)
    lines = [
        f"{number_of(n_made, 'file')} of tables, figures and report made again in '{results}': "
        f"{len(outcome.equal)} equal byte for byte, {len(outcome.unequal)} unequal, "
        f"{len(outcome.left_out)} left out"
    ]
    lines += _shown(f"unequal: {path}: {why}" for path, why in outcome.unequal.items())
    lines += _shown(f"left out: {what}" for what in _by_reason(outcome.left_out))
    return "\n".join(lines)


def _shown(lines: Iterable[str]) -> list[str]:
    """Return the first lines, and how many more there are."""
    every = list(lines)
    more = [f"... and {len(every) - SHOWN} more"] if len(every) > SHOWN else []
    return every[:SHOWN] + more


def _by_reason(reasons: Mapping[str, str]) -> Iterator[str]:
    """Yield each reason with the files, named without their endings, that it left out."""
    for reason in dict.fromkeys(reasons.values()):
        paths = [path for path, why in reasons.items() if why == reason]
        names = list(dict.fromkeys(path.partition(".")[0] for path in paths))
        more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
        yield f"{number_of(len(paths), 'file')} ({', '.join(names[:NAMED])}{more}): {reason}"

"""A batch on its way: the file of its questions, and notes on each step.

The notes stand beside a judge's journal, so that a job finds its batch again after a kill. A batch
is open until all its replies are in the journal or a command gives it up. Nothing else ends it, as
the API may say one thing of a batch now and another later.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from userturn.endpoints.budget import Account
from userturn.endpoints.usage import Spent, at_most
from userturn.errors import UserError, near_miss
from userturn.storage.files import alone, is_held
from userturn.storage.journal import Writer, files_of_journal, record_of
from userturn.storage.journal import read_lines as lines_of

LARGEST_BATCH = 50_000  # questions, as many as the API takes
LARGEST_FILE = 190_000_000  # bytes; the API takes 200 MB


class Line(NamedTuple):
    """A line of a file of questions: the question's key, the bytes, and the most it may cost."""

    key: str
    content: bytes
    most: Spent


def files_of(lines: Iterable[Line]) -> Iterator[list[Line]]:
    """Yield the lines of each file, which is as large as the API takes."""
    file, n_bytes = list[Line](), 0
    for line in lines:
        n_bytes += len(line.content) + 1
        if file and (n_bytes > LARGEST_FILE or len(file) >= LARGEST_BATCH):
            yield file
            file, n_bytes = [], len(line.content) + 1
        file.append(line)
    if file:
        yield file


@dataclass(frozen=True)
class Batch:
    """A file of questions that was uploaded, and the batch that the API made of it.

    Attributes:
        file: id of the file.
        batch: id of the batch, or None if none is noted.
        are_repairs: whether its questions are asked for the second time.
        most: count of all its questions until their replies are read.
        keys: keys of its questions, or none in a note of an early version.
        is_counted: whether `most` is in an account.
        unread: why the last job could not read its replies, or None.
        because: why a user gave it up, or None.
        sizes: bytes of its questions, or none in a note of an earlier version.
    """

    file: str
    batch: str | None = None
    are_repairs: bool = False
    most: Spent = field(default_factory=Spent)
    keys: tuple[str, ...] = ()
    is_counted: bool = True
    unread: str | None = None
    because: str | None = None
    sizes: tuple[int, ...] = ()

    def share(self, number: int) -> Spent:
        """Return the part of `most` that the question with a number counts."""
        n = self.most.n_requests or 1
        read, written = self.most.input_tokens, self.most.output_tokens // n
        even = read * (number + 1) // n - read * number // n
        return at_most(self.sizes[number] if self.sizes else even, written)


def uploaded(file: str, lines: Sequence[Line], are_repairs: bool) -> Batch:
    """Return the `Batch` of a file of questions that was uploaded."""
    most = sum((line.most for line in lines), start=Spent())
    keys = tuple(line.key for line in lines)
    sizes = tuple(len(line.content) for line in lines)
    return Batch(file, None, are_repairs, most, keys, sizes=sizes)


def note(journal: Path, step: str, one: Batch, **more: Any) -> None:
    """Note a step of a batch beside a journal."""
    with Writer(journal / "batches") as writer:
        about = {"file": one.file, "batch": one.batch}
        writer.append({"key": f"{one.file} {step}", "outcome": step, **about, **more})


def note_uploaded(journal: Path, one: Batch) -> None:
    """Note an uploaded file whose questions are in an account."""
    about = {"keys": one.keys, "sizes": one.sizes, "are_repairs": one.are_repairs}
    note(journal, "uploaded", one, counted=True, most=vars(one.most), **about)


def batches_of(journal: Path) -> list[Batch]:
    """Return the batches with replies that a journal lacks, in the order of their files."""
    steps: dict[str, dict[str, dict[str, Any]]] = {}
    for path in files_of_journal(journal / "batches"):
        for found in (record_of(line) for lines in lines_of(path) for line in lines.whole):
            steps.setdefault(found["file"], {})[found["outcome"]] = found
    return [
        Batch(
            file,
            noted.get("created", {}).get("batch"),
            noted["uploaded"].get("are_repairs", False),
            Spent(**noted["uploaded"].get("most", {})),
            tuple(noted["uploaded"].get("keys", ())),
            "counted" in noted or noted["uploaded"].get("counted", False),
            noted.get("unread", {}).get("reason"),
            noted.get("given up", {}).get("because"),
            tuple(noted["uploaded"].get("sizes", ())),
        )
        for file, noted in sorted(steps.items())
        if "uploaded" in noted and "collected" not in noted
    ]


def open_batches(journal: Path) -> list[Batch]:
    """Return the batches that are neither collected nor given up."""
    return [one for one in batches_of(journal) if one.because is None]


def keys_collected(journal: Path, batch: str) -> set[str]:
    """Return the keys of the questions whose replies from a batch are in a journal."""
    lines = (line for path in files_of_journal(journal) for part in lines_of(path)
             for line in part.whole if batch.encode() in line)  # fmt: skip
    return {str(found["key"]) for found in map(record_of, lines) if found.get("of_batch") == batch}


def give_up(journals: Path, name: str, because: str, account: Callable[[str, str], Account]) -> int:
    """Note that a batch is given up, and return how many of its replies are missing.

    Their questions are asked again, and stay counted at their largest size. A later job still looks
    for the replies. `journals` has a folder per judge and dataset, and `account` returns an account
    by their names.

    Raises:
        UserError: no such batch is open, or a job is waiting for it.
    """
    there = {
        name: (path.parent, one)
        for path in sorted(journals.glob("*/*/batches"))
        for one in open_batches(path.parent)
        for name in (one.batch, one.file)
        if name is not None
    }
    if name not in there:
        raise UserError(
            f"no batch '{name}' is open{near_miss(name, there)}; `userturn costs` lists them"
        )
    journal, one = there[name]
    if is_held(journal / "lock"):
        raise UserError(
            f"a job is waiting for batch '{name}'; end it first, and give the batch up then"
        )
    with alone(journal / "lock"):
        if not one.is_counted:
            with account(*journal.parts[-2:]) as paying:
                paying.add(one.most)
            note(journal, "counted", one)
        note(journal, "given up", one, because=because)
    return len({*one.keys} - keys_collected(journal, one.batch or one.file))

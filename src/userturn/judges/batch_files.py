"""A batch on its way: the file of its questions, and notes on each step.

The notes stand beside a judge's journal, so that a job finds its batch again after a kill. A batch
is open until all its replies are in the journal, the API refuses it, or a command gives it up.
Nothing else ends it, as the API may say one thing of a batch now and another later.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from userturn.endpoints.usage import Spent, largest_request
from userturn.errors import UserError, near_miss
from userturn.storage.files import alone, is_locked
from userturn.storage.journal import Writer, files_of_journal, read_lines, record_of

LARGEST_BATCH = 50_000  # questions, as many as the API takes
LARGEST_FILE = 190_000_000  # bytes; the API takes 200 MB


class Line(NamedTuple):
    """A line of a file of questions: the key of its question, and the bytes."""

    key: str
    content: bytes


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
        keys: keys of its questions. An early version noted none; they are in the file.
        sizes: bytes of each question, in their order.
        max_output: tokens that each reply may have.
        are_repairs: whether its questions are asked for the second time.
        batch: id of the batch, or None if none is noted.
        unread: why the last job could not read its replies, or None.
        because: why a user gave it up, or None.
        is_counted: whether an account has it. Early versions counted replies as they came.
    """

    file: str
    keys: tuple[str, ...]
    sizes: tuple[int, ...]
    max_output: int
    are_repairs: bool = False
    batch: str | None = None
    unread: str | None = None
    because: str | None = None
    is_counted: bool = True

    @property
    def name(self) -> str:
        """The id of the batch, or of its file without one."""
        return self.batch or self.file

    def share(self, number: int) -> Spent:
        """Return the count of one question, by its number, until its reply is read."""
        return largest_request(self.sizes[number], self.max_output)

    @property
    def most(self) -> Spent:
        """The count of all its questions until their replies are read."""
        n = len(self.sizes)
        return Spent(n, n, 0, sum(self.sizes), 0, n * self.max_output)


def note(journal: Path, step: str, one: Batch, **more: Any) -> None:
    """Note a step of a batch beside a journal."""
    with Writer(journal / "batches") as writer:
        about = {"file": one.file, "batch": one.batch}
        writer.append({"key": f"{one.file} {step}", "outcome": step, **about, **more})


def note_uploaded(journal: Path, one: Batch) -> None:
    """Note an uploaded file whose questions are in an account."""
    about = {"keys": one.keys, "sizes": one.sizes, "are_repairs": one.are_repairs}
    note(journal, "uploaded", one, most=vars(one.most), **about)


def batches_of(journal: Path) -> list[Batch]:
    """Return the batches, open or given up, of which a journal lacks replies, by file."""
    files: dict[str, dict[str, Any]] = {}
    for path in files_of_journal(journal / "batches"):
        for record in (record_of(line) for lines in read_lines(path) for line in lines.whole):
            fields = {name: value for name, value in record.items() if value is not None}
            files.setdefault(record["file"], {}).update(fields | {record["outcome"]: True})
    is_open = [one for one in files.values() if "uploaded" in one and "collected" not in one]
    return [_batch_in(noted) for noted in sorted(is_open, key=lambda noted: str(noted["file"]))]


def _batch_in(noted: dict[str, Any]) -> Batch:
    """Return the batch that all notes on a file tell of.

    Early versions noted no sizes, no keys or nothing but the file. Then only repairs can be told
    from first questions that have been asked before.
    """
    most = Spent(**noted.get("most", {}))
    n, n_bytes = most.n_requests, most.input_tokens
    even = [n_bytes * (number + 1) // n - n_bytes * number // n for number in range(n)]
    return Batch(
        noted["file"],
        tuple(noted.get("keys", ())),
        tuple(noted.get("sizes") or even),
        most.output_tokens // max(n, 1),
        noted.get("are_repairs", True),
        noted.get("batch"),
        noted.get("reason"),
        noted.get("because"),
        "counted" in noted or bool(noted.get("sizes")),
    )


def open_batches(journal: Path) -> list[Batch]:
    """Return the batches that are neither collected nor given up."""
    return [one for one in batches_of(journal) if one.because is None]


def keys_collected(journal: Path, batch: str) -> set[str]:
    """Return the keys of the questions on which a journal has a record from a batch."""
    lines = (line for path in files_of_journal(journal) for part in read_lines(path)
             for line in part.whole if batch.encode() in line)  # fmt: skip
    return {
        str(record["key"]) for record in map(record_of, lines) if record.get("of_batch") == batch
    }


def give_up(journals: Path, name: str, because: str) -> int:
    """Note that a batch is given up, and return how many of its replies are missing.

    Their questions are asked again, and stay counted at their largest size. A later job still looks
    for the replies. `journals` has a folder per judge and dataset.

    Raises:
        UserError: no such batch is open, or a job is waiting for it.
    """
    there = {
        name: (path.parent, one)
        for path in sorted(journals.glob("*/*/batches"))
        for one in open_batches(path.parent)
        for name in (one.file, one.name)
    }
    if name not in there:
        near = near_miss(name, there) if there else ""
        raise UserError(f"no batch '{name}' is open (`userturn costs` lists those that are){near}")
    journal, one = there[name]
    if is_locked(journal / "lock"):
        raise UserError(
            f"a job is waiting for batch '{name}'; end that job first, then give the batch up"
        )
    with alone(journal / "lock"):
        note(journal, "given up", one, because=because)
    return len(one.sizes) - len({*one.keys} & keys_collected(journal, one.name))

"""A Batch API that goes wrong at random, though each batch and line always in the same way."""

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass

from tests.support.batch_server import BatchServer
from tests.support.faults.batches import response
from tests.support.faults.row import COUNTED, Fault
from tests.support.judge_server import GENUINE
from tests.support.judged_cell import MAX_TOKENS

STEPS = {
    "upload": (429, 500),
    "create": (400, 409, 429, 500),
    "list": (429, 500, 503),
    "look": (401, 408, 429, 500),
    "read": (404, 429, 500),
}
STATUSES = ("completed", "completed", "completed", "expired", "cancelled", "failed", "gone")
SPOILT = (b"oops", b"[]", b'{"custom_id": 5}', b'{"custom_id": "abc", "response": {}}')


@dataclass
class RandomBatches(BatchServer):
    """The API, by a seed.

    Attributes:
        seed: of every choice.
        rows: of the matrix, whose bodies some replies have.
        key: quoted by every good reply.
        is_well: from now on nothing goes wrong any more.
    """

    seed: int = 0
    rows: Sequence[Fault] = ()
    key: str = ""
    is_well: bool = False

    def __post_init__(self) -> None:
        """Spoil some lines."""
        self.spoil = self._spoilt
        self.first = self.repaired = json.dumps(GENUINE | {"rationale": f"The key is {self.key}."})

    def break_steps(self, rng: random.Random) -> None:
        """Let some of the next steps fail, one or two times."""
        for step, statuses in STEPS.items():
            if rng.random() < 0.3:
                text = f"no, {self.key}"
                self.says[step] = [
                    response(rng.choice(statuses), text) for _ in range(rng.randrange(1, 3))
                ]

    def _of(self, *what: object) -> random.Random:
        return random.Random(f"{self.seed} {what}")

    def status_of(self, batch: str) -> str:
        """Return how a batch ends."""
        return "completed" if self.is_well else self._of(batch).choice(STATUSES)

    def batch(self, name: str) -> dict[str, object]:
        """Return a batch as the API shows it."""
        status = self.batches[name].setdefault("status", self.status_of(name))
        self.status, self.errors = status, ["the file is wrong"] if status == "failed" else []
        if status == "gone":
            self.status = "completed"
        if status == "gone" and not self.is_well:
            self.gone.add(name)
        return super().batch(name)

    def row_of(self, line: bytes) -> Fault | None:
        """Return the row whose body the reply to a line has; None for a good reply."""
        rng = self._of(line)
        return rng.choice(self.rows) if rng.random() < 0.4 else None

    def reply(self, line: bytes) -> bytes:
        """Return the line of an output for the line of a file."""
        row = self.row_of(line)
        self.body = ... if row is None else row.says
        return super().reply(line)

    def _spoilt(self, file: str, number: int, line: bytes) -> bytes:
        """Spoil a line, unless it alone tells that more was written than the question allows."""
        row = self.row_of(self.files[file][number])
        if self.is_well:
            return line
        if row is not None and row.bill is not None and row.bill.n_written > MAX_TOKENS:
            return line
        rng = self._of(file, number)
        return line if rng.random() < 0.95 else rng.choice(SPOILT)

    def bills(self) -> list[float]:
        """Return what the API charges for each request of each batch that it worked on."""
        return [
            COUNTED.money if row is None or row.bill is None else row.bill.money
            for batch in self.batches.values()
            if batch.get("status") != "failed"
            for row in map(self.row_of, self.files[batch["file"]])
        ]

"""What judges cost: every request is counted on disk before it is sent.

Each process keeps one small account for each cell and judge that it asks about. An account is a
file of two slots that are written in turn, so that a kill leaves one of them whole. It counts
tokens, not money, because prices are in the config and may be corrected. A hard cap holds across
processes: each takes an allowance from what all accounts together leave free, under one lock.
"""

import os
import socket
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from userturn.endpoints.usage import Price, Spent, metered, money
from userturn.errors import UserError
from userturn.storage.files import alone, is_held, lock
from userturn.storage.journal import decode_line, encode_line

SLOT = 1024  # bytes


@dataclass(frozen=True)
class AccountOnDisk:
    """An account that a process left or has open."""

    path: Path
    judge: str
    cell: str
    spent: Spent
    in_flight: Spent
    allowance: float
    price: Price | None = None

    @property
    def total(self) -> Spent:
        """The total spent; a request without a known end counts at its largest possible size."""
        return self.spent + self.in_flight

    def cost(self, prices: Mapping[str, Price]) -> float | None:
        """Return the money spent, at the judge's last known price if the config has none.

        None if no price is known.
        """
        price = prices.get(self.judge, self.price)
        return None if price is None else money(self.total, price)

    def claim(self, prices: Mapping[str, Price]) -> float:
        """Return the money that others cannot use: the allowance while held, else the cost."""
        spent = self.cost(prices) or 0.0
        return max(spent, self.allowance) if self.allowance and is_held(self.path) else spent


def read_account(path: Path) -> AccountOnDisk | None:
    """Read an account from the newer of its intact slots; None if it has none."""
    data = path.read_bytes()
    slots = [data[i : i + SLOT].lstrip(b" \0") for i in (0, SLOT)]
    records = [record for slot in slots if (record := decode_line(slot)) is not None]
    if not records:
        return None
    last = max(records, key=lambda record: record["number"])
    return AccountOnDisk(
        path,
        last["judge"],
        last["cell"],
        Spent(**last["spent"]),
        Spent(**last["in_flight"]),
        last["allowance"],
        last.get("price"),
    )


def is_sound(content: bytes) -> bool:
    """Return whether an account is as its process wrote it, in both slots, one after the other."""
    slots = (content[:SLOT], content[SLOT:])
    lines = [slot.lstrip(b" ") for slot in slots]
    records = [decode_line(line) for line in lines]
    if records[0] is None:  # of the first number alone, in the second slot
        return (
            slots[0] == bytes(SLOT) and lines[1].rjust(SLOT) == slots[1] and records[1] is not None
        )
    numbers = [record["number"] for record in records if record is not None]
    in_turn = len(numbers) == 2 and abs(numbers[0] - numbers[1]) == 1 and numbers[0] % 2 == 0
    return in_turn and all(line.rjust(SLOT) == s for line, s in zip(lines, slots, strict=True))


def read_accounts(folder: Path) -> Iterator[AccountOnDisk]:
    """Yield every account of a study, in the order of their paths."""
    for path in sorted(folder.glob("*/[!.]*.account")):
        account = read_account(path)
        if account is not None:
            yield account


SHARE = 8  # a process takes one part in so many of what is free at a time


class CapReachedError(Exception):
    """One more request could pass the hard cap."""


def cap_reached(what: str, cap: float | None, n_left: int | None = None) -> UserError:
    """Return the error for requests that the hard cap stopped; None if their number is unknown."""
    left = "" if n_left is None else f", with {n_left} questions left"
    return UserError(
        f"{what}: stopped before max_cost {cap or 0:g} could be exceeded{left}; "
        "finished decisions are in the journal: raise max_cost and run the same command again"
    )


@dataclass
class Account:
    """The account of one process for one judge and cell.

    Attributes:
        folder: folder of all accounts of the study.
        judge: name of the judge.
        cell: folder of the cell, below `results`.
        price: price of the judge's tokens, for the cap.
        cap: money that all accounts together may never exceed, or None.
        prices: prices of all judges, to add up what the others spent.
        of_open_batches: returns what the batches may cost that are out and that no job waits for.
    """

    folder: Path
    judge: str
    cell: str
    price: Price | None = None
    cap: float | None = None
    prices: Mapping[str, Price] = field(default_factory=dict)
    of_open_batches: Callable[[], float] = lambda: 0.0
    spent: Spent = field(default_factory=Spent)
    in_flight: Spent = field(default_factory=Spent)
    reserved: Spent = field(default_factory=Spent)
    allowance: float = 0.0
    _number: int = 0
    _descriptor: int | None = None
    _began: float = 0.0

    def __enter__(self) -> Self:
        """Return the account, with nothing in it; its file is made with the first request."""
        self.spent, self.in_flight, self.reserved = Spent(), Spent(), Spent()
        self._began = time.monotonic()
        self._path = self.folder / self.judge / f"{socket.gethostname()}-{uuid.uuid4().hex}.account"
        return self

    def __exit__(self, *_: object) -> None:
        """Give back the unspent allowance, and close the file."""
        if self._descriptor is not None:
            self.allowance = 0.0
            self._write()
            os.fsync(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = None

    def _write(self) -> None:
        if self._descriptor is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._descriptor = os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_RDWR)
            lock(self._descriptor, self._path)  # locked while this process lives
        self._number += 1
        self.spent.seconds = round(time.monotonic() - self._began, 3)
        record = {
            "number": self._number,
            "judge": self.judge,
            "cell": self.cell,
            "spent": vars(self.spent),
            "in_flight": vars(self.in_flight),
            "allowance": self.allowance,
            "price": self.price,  # used if the judge is later removed from the config
        }
        slot = encode_line(record).rjust(SLOT, b" ")
        os.pwrite(self._descriptor, slot, self._number % 2 * SLOT)

    def send(self, most: Spent) -> bool:
        """Count a request of at most this size before it is sent; False if the cap forbids it.

        Raises:
            CapReachedError: the cap forbids it, and nothing is in flight that could leave room.
        """
        if not self.allows(most):
            if self.in_flight.n_requests == 0:
                raise CapReachedError
            return False
        self.in_flight += most
        self._write()
        return True

    def allows(self, most: Spent) -> bool:
        """Return whether the cap allows requests of at most this size."""
        if self.cap is None or self.price is None:
            return True
        need = money(self.spent + self.in_flight + self.reserved + most, self.price)
        return need <= self.allowance or self._raise_allowance(need)

    def _raise_allowance(self, need: float) -> bool:
        assert self.cap is not None
        with alone(self.folder / "lock"):
            others = sum(
                account.claim(self.prices)
                for account in read_accounts(self.folder)
                if account.path != self._path
            )
            others += self.of_open_batches()
            if others + need > self.cap:
                return False
            self.allowance = need + (self.cap - others - need) / SHARE
            self._write()
            return True

    def settle(
        self, most: Spent, usage: Mapping[str, Any] | None, n_bytes_received: int = 0
    ) -> None:
        """Count the end of a request that was counted at its largest size when it was sent.

        `usage` is the endpoint's count of tokens: empty if the reply had none, None if the endpoint
        refused the request, so that nothing was billed. The size of the reply bounds its tokens if
        the endpoint exceeded the limit it was given.
        """
        self.in_flight -= most
        self.bill(most, usage, n_bytes_received)

    def bill(self, most: Spent, usage: Mapping[str, Any] | None, n_bytes_received: int = 0) -> None:
        """Count the cost of a request, as `settle` does, whether or not it was counted before."""
        counted = Spent(n_requests=1) if usage is None else metered(usage, most)
        if counted is None:
            n_written = max(most.output_tokens, n_bytes_received)
            counted = replace(most, output_tokens=n_written)
        self.spent += counted
        self._write()

    def reserve(self, most: Spent) -> None:
        """Set money aside for requests in a batch: claimed, but not yet counted as sent.

        A negative amount releases it.
        """
        self.reserved += most
        if most.n_requests > 0:
            self.allows(Spent())

    def unsend(self, most: Spent) -> None:
        """Undo the count of a request that was never sent."""
        self.in_flight -= most
        self._write()

    def decided(self) -> None:
        """Count one question that ended with a decision; saved with the next request."""
        self.spent.n_verdicts += 1

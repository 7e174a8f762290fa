"""The cost of judges and served models: every request is counted on disk before it is sent.

Each process keeps one small account per cell and judge, or model, that it asks. An account is a
file of two slots that are written in turn, so that a kill leaves one of them whole. It counts
tokens, not money, because prices are in the config and may be corrected. A hard cap holds across
processes: each takes an allowance, under one lock, from the money that all accounts leave free.
"""

import os
import socket
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from userturn.endpoints.corrections import CORRECTIONS, Correction, read_corrections
from userturn.endpoints.usage import NOTHING_SEEN, Price, Seen, Spent, metered, money, unmetered
from userturn.errors import UserError
from userturn.storage.files import NoLocksError, alone, is_locked, lock
from userturn.storage.journal import decode_line, encode_line

SLOT = 1024  # bytes
DAMAGED, CORRECTED = "damaged", "corrections"  # in place of a cell


@dataclass(frozen=True)
class AccountOnDisk:
    """An account as its file has it, whether or not its process still has it open.

    Attributes:
        judge: name of a judge, or `model=` and the name of a served model.
        spent: tokens of requests whose end is known.
        in_flight: the most tokens that the other requests may have taken.
        allowance: money that others may not spend while its process lives.
        asked_as: hash of the settings of its requests.
        seen: sizes of its replies with a token count.
        is_damaged: whether it cannot be read, so that its counts are unknown.
        paid: in a correction, the total cost of other accounts as a user states it.
        covered: in a correction, those other accounts.
    """

    path: Path
    judge: str
    cell: str
    spent: Spent = field(default_factory=Spent)
    in_flight: Spent = field(default_factory=Spent)
    allowance: float = 0.0
    price: Price | None = None
    asked_as: str = ""
    seen: Seen = NOTHING_SEEN
    is_damaged: bool = False
    paid: float | None = None
    covered: tuple["AccountOnDisk", ...] = ()

    @property
    def total(self) -> Spent:
        """The total spent, where a request without a known end counts at its largest size."""
        return self.spent + self.in_flight

    def cost(self, prices: Mapping[str, Price]) -> float | None:
        """Return the money spent, at the judge's last known price if the config has none.

        For a correction it is what that adds to the accounts it covers. None if no price is known,
        or the account is damaged.
        """
        if self.paid is not None:
            return self.paid - sum(one.cost(prices) or 0.0 for one in self.covered)
        price = prices.get(self.judge, self.price)
        return None if price is None or self.is_damaged else money(self.total, price)

    def claim(self, prices: Mapping[str, Price]) -> float:
        """Return the money that others cannot use: the allowance of a live process, else the cost.

        Raises:
            UserError: the account is damaged.
        """
        if self.is_damaged:
            raise UserError(
                f"'{self.path}' is damaged, so what judge '{self.judge}' cost is not known and "
                "max_cost cannot be kept; restore the file from a copy, or say what the judge cost "
                f'in all: `userturn costs --paid {self.judge}=MONEY --because "..."`'
            )
        spent = self.cost(prices) or 0.0
        return max(spent, self.allowance) if self.allowance and is_locked(self.path) else spent


def read_account(path: Path) -> AccountOnDisk:
    """Return an account from the newer of its intact slots, or a damaged one without any."""
    data = path.read_bytes()
    slots = [data[i : i + SLOT].lstrip(b" \0") for i in (0, SLOT)]
    records = [record for slot in slots if (record := decode_line(slot)) is not None]
    if not records:
        return AccountOnDisk(path, path.parent.name, DAMAGED, is_damaged=True)
    last = max(records, key=lambda record: record["number"])
    return AccountOnDisk(
        path,
        last["judge"],
        last["cell"],
        Spent(**last["spent"]),
        Spent(**last["in_flight"]),
        last["allowance"],
        last.get("price"),
        last.get("asked_as", ""),
        Seen(*last.get("seen", ())),
    )


def is_sound(content: bytes) -> bool:
    """Return whether both slots of an account are intact, with numbers that follow one another."""
    slots = (content[:SLOT], content[SLOT:])
    lines = [slot.lstrip(b" ") for slot in slots]
    records = [decode_line(line) for line in lines]
    if records[0] is None:  # only one record so far, in the second slot
        return (
            slots[0] == bytes(SLOT) and lines[1].rjust(SLOT) == slots[1] and records[1] is not None
        )
    numbers = [record["number"] for record in records if record is not None]
    in_turn = len(numbers) == 2 and abs(numbers[0] - numbers[1]) == 1 and numbers[0] % 2 == 0
    return in_turn and all(line.rjust(SLOT) == s for line, s in zip(lines, slots, strict=True))


def read_accounts(folder: Path) -> list[AccountOnDisk]:
    """Return the accounts of a study, in the order of their paths, and then the corrections.

    Damaged accounts that a correction covers are left out. Requests in flight when a process died
    count at the size that replies to equal requests suggest.
    """
    accounts = [read_account(path) for path in sorted(folder.glob("*/[!.]*.account"))]
    seen: dict[tuple[str, str], Seen] = {}
    for one in accounts:
        before = seen.get((one.judge, one.asked_as), NOTHING_SEEN)
        seen[one.judge, one.asked_as] = before.and_all(one.seen)
    bounded = [
        one
        if not one.in_flight.n_requests or _may_live(one.path)
        else replace(one, in_flight=seen[one.judge, one.asked_as].bound(one.in_flight))
        for one in accounts
    ]
    last = {one.judge: one for one in read_corrections(folder)}
    counted = [one for one in bounded if not (one.is_damaged and _is_covered(one, last))]
    return [*counted, *(_correction(folder, bounded, one) for one in last.values())]


def _may_live(path: Path) -> bool:
    """Return whether the process of an account may still live, False in a read-only folder."""
    try:
        return is_locked(path)
    except NoLocksError:
        return True
    except OSError:
        return False


def _is_covered(account: AccountOnDisk, by: Mapping[str, Correction]) -> bool:
    return account.judge in by and account.path.name in by[account.judge].covers


def _correction(folder: Path, accounts: Sequence[AccountOnDisk], one: Correction) -> AccountOnDisk:
    """Return a correction as an account that adds the difference to the costs it covers."""
    covered = tuple(account for account in accounts if _is_covered(account, {one.judge: one}))
    path = folder / one.judge / CORRECTIONS
    return AccountOnDisk(path, one.judge, CORRECTED, paid=one.paid, covered=covered)


def cost_of(accounts: Sequence[AccountOnDisk], prices: Mapping[str, Price]) -> float | None:
    """Return the total cost of one judge's accounts and corrections.

    None if no price is known, or an account is damaged.
    """
    corrections = [one.cost(prices) for one in accounts if one.paid is not None]
    counted = [one for one in accounts if one.paid is None]
    price = next((listed for one in counted if (listed := prices.get(one.judge, one.price))), None)
    if any(one.is_damaged for one in counted) or (counted and price is None):
        return None
    spent = sum((one.total for one in counted), start=Spent())
    return sum(filter(None, corrections), money(spent, price) if price else 0.0)


SHARE = 8  # a process takes one part in SHARE of the free money at a time


class CapReachedError(Exception):
    """One more request could pass the hard cap."""


def cap_reached(what: str, cap: float | None, n_left: int | None = None) -> UserError:
    """Return the error for requests that the hard cap stopped, with the number left if known."""
    left = "" if n_left is None else f", with {n_left} questions left"
    return UserError(
        f"{what}: stopped before max_cost {cap or 0:g} could be exceeded{left}; "
        "finished decisions are in the journal: raise max_cost and run the same command again"
    )


@dataclass
class Account:
    """The account of one process for one judge and cell.

    Attributes:
        cap: money that all accounts together may never exceed, or None.
        prices: prices of all judges, to add up what the others spent.
    """

    folder: Path
    judge: str
    cell: str
    price: Price | None = None
    cap: float | None = None
    prices: Mapping[str, Price] = field(default_factory=dict)
    asked_as: str = ""
    spent: Spent = field(default_factory=Spent)
    in_flight: Spent = field(default_factory=Spent)
    allowance: float = 0.0
    seen: Seen = NOTHING_SEEN
    _number: int = 0
    _descriptor: int | None = None
    _began: float = 0.0

    def __enter__(self) -> Self:
        """Return the account, which is empty and gets its file with the first request."""
        self.spent, self.in_flight = Spent(), Spent()
        self._began = time.monotonic()
        self._path = self.folder / self.judge / f"{socket.gethostname()}-{uuid.uuid4().hex}.account"
        self._hidden = self._path.with_name(f".{self._path.name}")
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
        is_new = self._descriptor is None
        if self._descriptor is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._descriptor = os.open(self._hidden, os.O_CREAT | os.O_EXCL | os.O_RDWR)
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
            "asked_as": self.asked_as,
            "seen": self.seen,
        }
        slot = encode_line(record).rjust(SLOT, b" ")
        os.pwrite(self._descriptor, slot, self._number % 2 * SLOT)
        if is_new:  # an existing account has its counts, or is damaged
            self._hidden.rename(self._path)

    def send(self, most: Spent) -> bool:
        """Count a request of at most this size before it is sent; False if it has to wait for room.

        Raises:
            CapReachedError: the cap forbids it, and nothing is in flight that could leave room.
        """
        if not self.reserve(most):
            if self.in_flight.n_requests == 0:
                raise CapReachedError
            return False
        self.in_flight += most
        self._write()
        return True

    def reserve(self, most: Spent) -> bool:
        """Reserve money for requests of at most this size, and return whether the cap allows it."""
        if self.cap is None or self.price is None:
            return True
        need = money(self.spent + self.in_flight + most, self.price)
        # Without an allowance, others would not see money that is taken back and spent again.
        return (self.allowance != 0 and need <= self.allowance) or self._raise_allowance(need)

    def _raise_allowance(self, need: float) -> bool:
        assert self.cap is not None
        with alone(self.folder / "lock"):
            others = sum(
                account.claim(self.prices)
                for account in read_accounts(self.folder)
                if account.path != self._path
            )
            if others + need > self.cap:
                return False
            self.allowance = need + (self.cap - others - need) / SHARE
            self._write()
            return True

    def settle(
        self, most: Spent, usage: Mapping[str, Any] | None, n_bytes_received: int = 0
    ) -> None:
        """Replace the largest size of a sent request by its counted size.

        `usage` is the endpoint's count of tokens, which is empty if the reply had none. It is None
        if the endpoint refused the request, so that nothing was billed. The size of the reply
        bounds its tokens if the endpoint exceeded its limit.
        """
        self.in_flight -= most
        self.bill(most, usage, n_bytes_received)

    def bill(self, most: Spent, usage: Mapping[str, Any] | None, n_bytes_received: int = 0) -> None:
        """Add the size of a finished request as `settle` does, but subtract no earlier count."""
        counted = Spent(n_requests=1) if usage is None else metered(usage, most)
        if counted is not None and counted.input_tokens:
            self.seen = self.seen.and_one(counted, most)
        self.spent += counted or unmetered(most, n_bytes_received)
        self._write()

    def add(self, counted: Spent) -> None:
        """Add requests of a batch at their largest size, or subtract refused ones."""
        self.spent += counted
        self._write()

    def replace(
        self, most: Spent, usage: Mapping[str, Any] | None, n_bytes_received: int = 0
    ) -> None:
        """Replace the size that `add` counted for a request of a batch by the size of its reply."""
        self.spent -= most
        self.bill(most, usage, n_bytes_received)

    def unsend(self, most: Spent) -> None:
        """Subtract a request that was never sent."""
        self.in_flight -= most
        self._write()

    def decided(self) -> None:
        """Count one question that ended with a decision, which the next request saves."""
        self.spent.n_verdicts += 1

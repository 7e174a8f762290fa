"""Accounts of judges on disk: what each process spent, and what it may still spend."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from userturn.endpoints.usage import Price, Spent, money
from userturn.storage.files import is_held
from userturn.storage.journal import decode_line

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

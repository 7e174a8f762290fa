"""Which items a shard of a model asks about, and whose answers it has to know for that."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from userturn.datasets import Item, read_items
from userturn.fingerprints import fingerprint

HASH_RANGE = 2**64
Numbered = list[tuple[int, Item]]  # items with their positions in the dataset


def shard_of(item: str, n_shards: int) -> int:
    """Return the shard (from 1) that an item belongs to: an interval of its hash."""
    return int(fingerprint(item)[:16], 16) * n_shards // HASH_RANGE + 1


def next_in_hash_order(items: Iterable[str]) -> dict[str, str]:
    """Return for each item the one with the next hash, the first for the last.

    Shards are intervals of the hash, so the next item is nearly always in the same shard. An
    item that is alone has no next.
    """
    ordered = sorted(items, key=fingerprint)
    following = [*ordered[1:], *ordered[:1]]
    return {item: other for item, other in zip(ordered, following, strict=True) if item != other}


@dataclass(frozen=True)
class Part:
    """A shard's part of one dataset.

    Attributes:
        own: items that the shard asks about.
        lent: items of other shards whose answers stand in for those of its own.
        donors: whose answer stands in for whose; empty where no cell asks for it.
    """

    own: Numbered
    lent: Numbered
    donors: Mapping[str, str]


def part_of(path_to_items: Path, shard: str, with_donors: bool) -> Part:
    """Return a shard's part of a prepared dataset; `shard` is such as 1of4."""
    number, _, n_shards = shard.partition("of")
    numbered = list(enumerate(read_items(path_to_items)))
    own = [pair for pair in numbered if shard_of(pair[1].id, int(n_shards)) == int(number)]
    donors = next_in_hash_order(item.id for _, item in numbered) if with_donors else {}
    mine = {item.id for _, item in own}
    wanted = {donors[item] for item in mine if item in donors} - mine
    return Part(own, [pair for pair in numbered if pair[1].id in wanted], donors)

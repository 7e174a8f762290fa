"""Assign items to the shards of a model, and find the other answers that a shard needs."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from userturn.datasets.prepare import Item, read_items
from userturn.datasets.turns import cluster_of
from userturn.storage.hashing import fingerprint
from userturn.study.asks import digest_of

WHOLE = "1of1"  # the shard of a model that is not split
HASH_RANGE = 2**64
Numbered = tuple[int, Item]  # an item with its position in the dataset


def shard_of(item: str, n_shards: int) -> int:
    """Return the number, from 1, of an item's shard: each shard is an interval of the hash."""
    return int(fingerprint(item)[:16], 16) * n_shards // HASH_RANGE + 1


def is_in_shard(item: str, shard: str) -> bool:
    """Tell whether an item belongs to a shard such as 1of4."""
    number, _, n_shards = shard.partition("of")
    return shard_of(item, int(n_shards)) == int(number)


def next_in_hash_order(
    items: Iterable[str], contents: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return for each item the one with the next hash, the first for the last.

    Shards are intervals of the hash, so the next item is nearly always in the same shard. Items of
    the same conversation are passed over. A single item or conversation has no next one.

    Args:
        items: ids.
        contents: by id, the hash of its messages; an item of the same content is passed over.
    """
    ordered = sorted(items, key=fingerprint)
    of, n = [cluster_of(item) for item in ordered], len(ordered)
    what = list(range(n)) if contents is None else [contents[item] for item in ordered]
    found = {}
    for i, item in enumerate(ordered):
        after = (j % n for j in range(i + 1, i + n))
        others = (ordered[j] for j in after if of[j] != of[i] and what[j] != what[i])
        if (other := next(others, None)) is not None:
            found[item] = other
    return found


@dataclass(frozen=True)
class Part:
    """A shard's part of one dataset; its items are read from disk on every pass.

    Attributes:
        path_to_items: path of the dataset's items.
        number: number of the shard, from 1.
        n_shards: number of the model's shards.
        donors: for each item, the item whose answer replaces its own; empty if no cell needs it.
    """

    path_to_items: Path
    number: int
    n_shards: int
    donors: Mapping[str, str]

    def _is_own(self, item: str) -> bool:
        return self.n_shards == 1 or shard_of(item, self.n_shards) == self.number

    @property
    def own(self) -> Iterator[Numbered]:
        """Yield the items of the shard, with their positions."""
        return (pair for pair in self._all() if self._is_own(pair[1].id))

    @property
    def lent(self) -> Iterator[Numbered]:
        """Yield the items of other shards whose answers this shard borrows."""
        wanted = {donor for item, donor in self.donors.items() if self._is_own(item)}
        foreign = {donor for donor in wanted if not self._is_own(donor)}
        return (pair for pair in self._all() if pair[1].id in foreign) if foreign else iter(())

    def _all(self) -> Iterator[Numbered]:
        return enumerate(read_items(self.path_to_items))


def part_of(path_to_items: Path, shard: str, with_donors: bool, ids: int = 1) -> Part:
    """Return a shard's part of a prepared dataset.

    Args:
        path_to_items: the dataset's items.
        shard: has the form 1of4.
        with_donors: whether other items' answers are shown.
        ids: how items are told apart (`study.inputs.FileContents.ids`).
    """
    number, _, n_shards = shard.partition("of")
    donors = {}
    if with_donors:
        items = pl.read_parquet(path_to_items, columns=["item", "messages"])
        contents = {item: digest_of(messages) for item, messages in items.iter_rows()}
        donors = next_in_hash_order(contents, contents if ids == 2 else None)
    return Part(path_to_items, int(number), int(n_shards), donors)

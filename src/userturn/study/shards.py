"""Names of shards, such as 1of2 and 2of2."""

from collections import defaultdict
from collections.abc import Iterable


def whole_splits(shards: Iterable[str]) -> list[list[str]]:
    """Return the shards of each number of shards of which all are there.

    Args:
        shards: names, each once, also of different numbers.
    """
    by_number: defaultdict[str, list[str]] = defaultdict(list)
    for shard in shards:
        by_number[shard.partition("of")[2]].append(shard)
    splits = by_number.values()
    return [n for n in splits if {*n} == {f"{i}of{len(n)}" for i in range(1, len(n) + 1)}]

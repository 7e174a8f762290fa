"""Table `copies`: items of a dataset with the conversation of another, which are one cluster."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import polars as pl

from userturn.datasets.turns import cluster_of
from userturn.storage.hashing import fingerprint
from userturn.storage.table_files import SLICE, Schema, slices
from userturn.tables.make_tables import Material
from userturn.workflow.registry import Table

TABLE = Table(
    rule="find_copies",
    place=325,
    row="an item, conversation or problem of a dataset that has the messages of another",
    made_of=("prepared_items",),
)
MEANINGS = {
    "item": "id of the item, or of the conversation or problem that it belongs to",
    "cluster": "the first id, in the order of texts, that it is one cluster with in every interval",
}
SCHEMA: Schema = dict.fromkeys(("dataset", "item", "cluster"), pl.String)


def table(material: Material) -> pl.DataFrame:
    """Return the table of a study."""
    paths = [Path(path) for path in sorted(material.paths["prepared_items"])]
    rows = [(path.stem, *pair) for path in paths for pair in one_cluster_of(_messages(path))]
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def _messages(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the cluster of each item of a prepared table, and a hash of the item's messages."""
    items = pl.scan_parquet(path).select("item", "messages")
    for part in slices(items, SLICE):
        yield from ((cluster_of(item), fingerprint(message)) for item, message in part.iter_rows())


def one_cluster_of(items: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return (cluster, first cluster of its group) for each cluster that is not the first itself.

    Clusters whose items have equal messages are a group, directly or by way of others.
    Each item is given as its cluster and a hash of its messages.
    """
    first: dict[str, str] = {}  # by cluster, an earlier cluster to join it to, or itself

    def root(name: str) -> str:
        while first.setdefault(name, name) != name:
            name = first[name]
        return name

    seen: dict[str, str] = {}
    for name, text in items:
        one, other = sorted((root(name), root(seen.setdefault(text, name))))
        first[other] = one
    return sorted((name, root(name)) for name in first if root(name) != name)

"""Keep a drawn round: it is drawn once, whatever is added to the grid after that."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import polars as pl

from userturn.storage.files import written_whole
from userturn.storage.hashing import fingerprint
from userturn.storage.table_files import write_table
from userturn.workflow.humans import RoundGrid


class Drawn(NamedTuple):
    """A round that was drawn now: its key, what annotators see, and metadata of both."""

    key: pl.DataFrame
    items: pl.DataFrame
    noted: Mapping[str, str]


def draw_once(
    rounds: RoundGrid,
    round_name: str,
    draw: Callable[[], Drawn],
    path_to_key: str,
    path_to_items: str,
) -> None:
    """Write a round's key and, in another file, what annotators see: drawn now or earlier.

    A round without any turn is not kept.

    Args:
        rounds: knows the folder of a drawn round.
        round_name: one of them.
        draw: draws the round.
        path_to_key: output file of the key.
        path_to_items: output file of what annotators see.
    """
    folder = rounds.drawn_folder(round_name)
    if not rounds.is_drawn(round_name):
        key, items, noted = draw()
        identity = fingerprint([round_name, key["id"].to_list()])
        if key.is_empty():  # nothing of it is labelled: it is drawn when there are turns for it
            write_table(items, path_to_items, identity, **noted)
            write_table(key, path_to_key, identity, **noted)
            return
        write_table(items, folder / "items.parquet", identity, **noted)
        write_table(key, folder / "key.parquet", identity, **noted)
    for name, path in (("key.parquet", path_to_key), ("items.parquet", path_to_items)):
        with written_whole(path) as temporary:
            temporary.write_bytes((folder / name).read_bytes())

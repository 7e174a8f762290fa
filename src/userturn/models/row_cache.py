"""Keys and values of the requests that run together: a row for each, all ending in one column.

Rows are aligned at their ends, so that every step writes one column for all of them, a row may be
shorter than its neighbours, and the distance between two tokens of a row is that of their columns,
as sliding windows need it. A row that leaves is replaced by the last; one that enters ends where
the others end.
"""

from collections.abc import Sequence
from typing import Any

import torch
from transformers.cache_utils import Cache

SPARE_COLUMNS = 128  # tokens that are written before the rows are moved to the left


class RowCache(Cache):  # type: ignore[misc]
    """The cache that a model reads and writes while it continues several rows by a token each.

    Attributes:
        bytes_a_token: size of one token's keys and values in all layers.
        starts: the column in which each row begins.
        end: the column behind the last token of every row.
    """

    def __init__(self, of_one_token: Sequence[tuple[Any, Any]]) -> None:
        """Make an empty cache; `of_one_token` has the keys and values of a token, by layer."""
        super().__init__(layers=[])
        self.stored = [(key[:0, :, :0], value[:0, :, :0]) for key, value in of_one_token]
        self.bytes_a_token = sum(key.nbytes + value.nbytes for key, value in of_one_token)
        self.starts: list[int] = []
        self.end = 0

    @property
    def begin(self) -> int:
        """The first column that a row uses."""
        return min(self.starts, default=self.end)

    @property
    def is_sliding(self) -> list[bool]:
        """All layers keep all tokens; a sliding window is a matter of the mask."""
        return [False] * len(self.stored)

    @property
    def is_compileable(self) -> bool:
        """The cache is not made for compiled models."""
        return False

    def get_seq_length(self, layer_idx: int = 0) -> int:
        """Return the number of columns in use."""
        return self.end - self.begin

    def get_mask_sizes(self, query_length: int, layer_idx: int = 0) -> tuple[int, int]:
        """Return the number of columns with those being written, and the first one's place."""
        return self.end - self.begin + query_length, 0

    def update(
        self, key_states: Any, value_states: Any, layer_idx: int, *args: Any, **kwargs: Any
    ) -> tuple[Any, Any]:
        """Write a layer's next column, and return the layer up to it."""
        n_rows, columns = len(self.starts), slice(self.begin, self.end + 1)
        keys, values = self.stored[layer_idx]
        keys[:n_rows, :, self.end] = key_states[:, :, 0]
        values[:n_rows, :, self.end] = value_states[:, :, 0]
        return keys[:n_rows, :, columns], values[:n_rows, :, columns]

    def enter(self, layers: Sequence[tuple[Any, Any]], lengths: Sequence[int]) -> None:
        """Add rows: `layers` holds their keys and values, aligned at their ends."""
        n_rows, width = len(self.starts), max(lengths)
        self._make_room(n_rows + len(lengths), width)
        rows, columns = slice(n_rows, n_rows + len(lengths)), slice(self.end - width, self.end)
        for (keys, values), (new_keys, new_values) in zip(self.stored, layers, strict=True):
            keys[rows, :, columns] = new_keys
            values[rows, :, columns] = new_values
        self.starts += [self.end - length for length in lengths]

    def leave(self, finished: Sequence[int]) -> list[int]:
        """Remove rows by number; return the old number of each row that stays, in its new place."""
        n_kept = len(self.starts) - len(finished)
        moved = [row for row in range(n_kept, len(self.starts)) if row not in finished]
        holes = [row for row in finished if row < n_kept]
        columns = slice(self.begin, self.end)
        for stored in self.stored if moved else ():
            for tensor in stored:
                tensor[holes, :, columns] = tensor[moved, :, columns]
        order = list(range(n_kept))
        for hole, row in zip(holes, moved, strict=True):
            order[hole] = row
        self.starts = [self.starts[row] for row in order]
        return order

    def step_inputs(self, device: Any) -> tuple[Any, Any]:
        """Return the attention mask and the positions of the next column; makes room for it."""
        if self.end == self.stored[0][0].shape[2]:
            self._make_room(len(self.starts), self.end - self.begin)
        starts = torch.tensor(self.starts, device=device)[:, None]
        columns = torch.arange(self.begin, self.end + 1, device=device)
        return (columns >= starts).long(), self.end - starts

    def _make_room(self, n_rows: int, width: int) -> None:
        """Have so many rows, so many columns before the end, and a spare one behind it."""
        most_rows, _, most_columns, _ = self.stored[0][0].shape
        if n_rows <= most_rows and width <= self.end < most_columns:
            return
        old = (slice(len(self.starts)), slice(None), slice(self.begin, self.end))
        width = max(width, self.end - self.begin)
        for layer, (keys, values) in enumerate(self.stored):
            larger = [_moved(x, old, max(n_rows, most_rows), width) for x in (keys, values)]
            self.stored[layer] = (larger[0], larger[1])
        self.starts = [start - self.end + width for start in self.starts]
        self.end = width


def _moved(tensor: Any, old: tuple[slice, slice, slice], n_rows: int, end: int) -> Any:
    """Return a larger tensor that has a part of an old one before the column `end`."""
    # Zeros, since a masked column is multiplied by zero, which a stray NaN would survive.
    moved = tensor.new_zeros(n_rows, tensor.shape[1], end + SPARE_COLUMNS, tensor.shape[3])
    part = tensor[old]
    moved[: part.shape[0], :, end - part.shape[2] : end] = part
    return moved

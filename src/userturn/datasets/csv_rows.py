"""Read comma, semicolon or tab-separated text with a head, as spreadsheets and pandas write it."""

import csv
import sys
from collections.abc import Iterable, Iterator
from itertools import chain

from userturn.datasets.columns import check_names
from userturn.errors import UserError


def separator(head: str) -> str:
    """Return what separates the columns of a head: the most frequent of the usual ones."""
    return max(",;\t", key=head.count)


def csv_rows(lines: Iterable[str], file: str) -> Iterator[tuple[str, dict[str, str | None]]]:
    """Yield the rows of text with a head, with their places; an empty cell is None.

    Rows of empty cells, which spreadsheets leave, are passed over.

    Raises:
        UserError: two columns of one name, another number of cells, or quotes that do not end.
    """
    csv.field_size_limit(sys.maxsize)  # Python's own limit is 128 kB, less than a conversation
    texts = iter(lines)
    first = next((line for line in texts if line.strip()), "")
    reader = csv.reader(chain([first], texts), delimiter=separator(first), strict=True)
    number = 0
    try:
        head = [name.strip() for name in next(reader)]
        check_names(head, file)
        for number, cells in enumerate(reader, start=1):
            if any(cell.strip() for cell in cells):
                where = f"{file}, row {number}"
                yield where, dict(zip(head, _values(cells, len(head), where), strict=True))
    except csv.Error as error:
        raise UserError(
            f"{file}, after row {number}: not CSV ({error}); save the file again, with quotes "
            "around cells that have separators, quotes or line ends"
        ) from error


def _values(cells: list[str], n: int, where: str) -> list[str | None]:
    if len(cells) != n:
        raise UserError(
            f"{where}: found {len(cells)} cells, expected {n} as in the head; put quotes around a "
            "cell that has a separator, or remove that row"
        )
    return [cell or None for cell in cells]

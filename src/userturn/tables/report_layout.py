"""Which rows and columns of a table the report shows: the words that tables say it with."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from userturn.study.cells import ALL, PLAIN

LOWEST = "lowest"  # of a column, in place of a value


class Column(NamedTuple):
    """A column as it is shown.

    Attributes:
        heading: above it.
        kind: text; count; number; p; share or change, with its limits if there are three columns;
            interval: a number whose limits stand before it; of: a number out of another.
        columns: of the table.
    """

    heading: str
    kind: str
    columns: tuple[str, ...]


class Shown(NamedTuple):
    """What of a table is shown: rows whose columns have the wanted values, and some columns."""

    title: str
    wanted: Mapping[str, Any]
    columns: tuple[Column, ...]


def column(heading: str, kind: str, *columns: str) -> Column:
    """Return a column under a heading; without `columns`, that of the heading's name."""
    return Column(heading, kind, columns or (heading,))


def texts(*names: str) -> tuple[Column, ...]:
    """Return columns of text, each under its own name."""
    return tuple(Column(name.replace("_", " "), "text", (name,)) for name in names)


INTERVAL = ("lower", "upper")
GENUINE = column("genuine", "share", "estimate", *INTERVAL)
SCORED = column("scored", "of", "n_scored", "n_turns")
BOUNDS = column(
    "bounds (unscored all negative / all positive)",
    "bounds",
    "if_unscored_negative",
    "if_unscored_positive",
)
TEMPERATURE = column("temperature", "number", "temperature")
P = (column("p", "p"), column("p, adjusted", "p", "p_adjusted"))
OVER_DATASETS = {"dataset": ALL, "perturbation": PLAIN}

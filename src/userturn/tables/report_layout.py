"""How a table declares which of its rows and columns the report shows."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from userturn.study.cells import ALL, PLAIN

LOWEST = "lowest"  # as a wanted value: the lowest value of the column


class Column(NamedTuple):
    """A column of the report.

    Attributes:
        heading: its heading.
        kind: text; count; number; p; share or change, with its limits if there are three columns;
            share or kappa: a number with its limits, and the name of the measure that it is;
            bounds: two shares; points: two limits of a change, in points;
            interval: a number after its limits; of: a number out of another.
        columns: the table's columns that it shows.
    """

    heading: str
    kind: str
    columns: tuple[str, ...]


class Shown(NamedTuple):
    """The part of a table that the report shows: rows with the wanted values, and some columns."""

    title: str
    wanted: Mapping[str, Any]
    columns: tuple[Column, ...]


def column(heading: str, kind: str, *columns: str) -> Column:
    """Return a column with a heading; without `columns`, it shows the column of that name."""
    return Column(heading, kind, columns or (heading,))


def texts(*names: str) -> tuple[Column, ...]:
    """Return columns of text, each with its own name as heading."""
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
IF_UNSCORED = column(
    "limits, whatever unscored turns are", "points", "lower_if_unscored", "upper_if_unscored"
)
TEMPERATURE = column("temperature", "number", "temperature")
P = (column("p", "p"), column("p, adjusted", "p", "p_adjusted"))
OVER_DATASETS = {"dataset": ALL, "perturbation": PLAIN}

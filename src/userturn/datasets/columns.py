"""The columns of a dataset's rows, by the names that an entry gives."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from userturn.errors import UserError, near_miss

OF_FILES = ("language", "row")  # what rows are given where each language has a file
OF_MODELS = ("system", "system_prompt", "tools", "functions")  # what an answer may depend on


def check_names(names: Iterable[str], where: str) -> None:
    """Check that no two columns have the same name.

    Raises:
        UserError: two do; which of them is meant cannot be told.
    """
    twice = [name for name, n in Counter(names).items() if n > 1 and name]
    if twice:
        raise UserError(
            f"{where}: has the column '{twice[0]}' more than once; rename or remove all but one"
        )


def no_column(name: str, names: Iterable[str], where: str) -> UserError:
    """Return the error of an entry that names a column which is not there."""
    return UserError(
        f"{where}: `fields` of the dataset's entry names '{name}', which is not a column"
        f"{near_miss(name, names)}"
    )


def column(row: Mapping[str, Any], name: str, where: str) -> Any:
    """Return a column's value; a dot names a nested column, or a place in a list, from 0.

    Raises:
        UserError: there is no such column; the message names the most similar one.
    """
    if name in row:
        return row[name]
    first, _, rest = name.partition(".")
    inner = row.get(first)
    if rest and isinstance(inner, Mapping):
        return column(inner, rest, where)
    if isinstance(inner, list) and rest.isdecimal():
        if int(rest) < len(inner):
            return inner[int(rest)]
        raise UserError(
            f"{where}: the column '{first}' is a list of {len(inner)}, which has no '{name}'; "
            "correct that row or `fields`"
        )
    raise no_column(name, row, where)


def named_columns(settings: Mapping[str, Any]) -> list[str]:
    """Return the columns of a file that an entry names, with dots as it has them."""
    fields = dict(settings["fields"])
    named = set(fields.pop("arguments", {}).values())
    for value in fields.values():
        named |= {value} if isinstance(value, str) else {*value}
    return sorted(named)

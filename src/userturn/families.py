"""Family and size of a model: by its config line, else read from its name."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import polars as pl

FAMILY = re.compile(r"(.+?)-\d")
SIZE = re.compile(r"(?:^|-)(\d+(?:\.\d+)?)([bm])(?:-a(\d+(?:\.\d+)?)b)?(?=-|$)")
IN_BILLIONS = {"b": 1.0, "m": 0.001}


class Size(NamedTuple):
    """Parameters of a model in billions; equal where every parameter is used for every token."""

    total: float
    active: float


def family(name: str) -> str:
    """Return the name up to the first `-` before a digit: qwen3.5 of qwen3.5-35b-a3b."""
    found = FAMILY.match(name)
    return found.group(1) if found else name


def size(name: str) -> Size | None:
    """Return the size that stands in a name, such as 135m, 0.8b or 35b-a3b; None without one."""
    found = SIZE.search(name)
    if found is None:
        return None
    total = float(found.group(1)) * IN_BILLIONS[found.group(2)]
    return Size(total, float(found.group(3)) if found.group(3) else total)


def families(models: Mapping[str, Mapping[str, Any]]) -> pl.DataFrame:
    """Return one row a model, in the order of family, size and name.

    Args:
        models: model lines by name; the keys `family` and `size` win over the name.

    Returns:
        `model`, `family`, `size` and `active_size` in billions of parameters, null if unknown.
    """
    sizes = {name: size(str(line.get("size", name))) for name, line in models.items()}
    rows = [
        {
            "model": name,
            "family": line.get("family", family(name)),
            "size": found.total if (found := sizes[name]) else None,
            "active_size": found.active if found else None,
        }
        for name, line in models.items()
    ]
    schema = {
        "model": pl.String,
        "family": pl.String,
        "size": pl.Float64,
        "active_size": pl.Float64,
    }
    return pl.DataFrame(rows, schema=schema).sort("family", "size", "model", nulls_last=True)


def bases(models: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Return the model that each post-trained one started from, where both are in the grid."""
    named = {name: str(line["base"]) for name, line in sorted(models.items()) if "base" in line}
    return {name: base for name, base in named.items() if base in models}

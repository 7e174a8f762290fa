"""Family and size of a model: from its config entry, else from its name."""

import re
from collections.abc import Mapping
from typing import NamedTuple

from userturn.config.formats import format_of, in_format, model_of
from userturn.config.model_keys import ModelEntry

FAMILY = re.compile(r"(.+?)-\d")
SIZE = re.compile(r"(?:^|-)(\d+(?:\.\d+)?)([bm])(?:-a(\d+(?:\.\d+)?)b)?(?=-|$)")
IN_BILLIONS = {"b": 1.0, "m": 0.001}


class Size(NamedTuple):
    """Parameters of a model in billions; equal where every parameter is used for every token."""

    total: float
    active: float


class FamilyMember(NamedTuple):
    """A model of a family; sizes in billions of parameters, None if unknown."""

    model: str
    family: str
    size: float | None
    active_size: float | None


def family(name: str) -> str:
    """Return the name up to the first `-` before a digit: qwen3.5 of qwen3.5-35b-a3b."""
    found = FAMILY.match(name)
    return found.group(1) if found else name


def size(name: str) -> Size | None:
    """Return the size in a name, such as 135m, 0.8b or 35b-a3b; None without one."""
    found = SIZE.search(name)
    if found is None:
        return None
    total = float(found.group(1)) * IN_BILLIONS[found.group(2)]
    return Size(total, float(found.group(3)) if found.group(3) else total)


def families(models: Mapping[str, ModelEntry]) -> list[FamilyMember]:
    """Return the families' members in the order of family, size and name; unknown sizes last.

    Models in another format than the default are of a family of their own, `family+format`.

    Args:
        models: model entries by name; the keys `family` and `size` win over the name.
    """
    members = []
    for name, entry in models.items():
        model = model_of(name)
        found = size(str(entry.get("size", model)))
        sizes = (None, None) if found is None else found
        of = in_format(entry.get("family", family(model)), format_of(name))
        members.append(FamilyMember(name, of, *sizes))
    return sorted(members, key=lambda m: (m.family, m.size is None, m.size or 0, m.model))


def baselines(
    models: Mapping[str, ModelEntry], entries: Mapping[str, ModelEntry]
) -> list[tuple[str, str]]:
    """Return pairs of a post-trained model and one of its bases, the nearest base first.

    A model trained from a trained one is compared with that one and with the base of both.

    Args:
        models: entries of the models of the grid, by name.
        entries: entries of all models of the configuration, to find bases of bases.
    """
    found = []
    for name in sorted(models):
        before = name
        while "base" in entries[before] and entries[before]["base"] in entries:
            before = str(entries[before]["base"])
            if before in models:
                found.append((name, before))
    return found

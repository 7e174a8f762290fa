"""How a key of the configuration is described: its meaning, its bounds, and what it could do.

Each key of a description (`model_keys.py` and its like) is a type with one of these beside it:
`Annotated[int, harmless("Seed of the draw.", minimum=0)]`. Bounds are words of JSON Schema, and
`form` says in an error what a pattern asks for.
"""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, eq=False)  # types are hashed with what is beside them
class Key:
    """What is known of a key besides its type.

    Attributes:
        meaning: one sentence for the reference; empty for what only narrows a type.
        power: what a stranger could do with its value: one of those below; None if its type says
            that, or the keys below it.
        bounds: words of JSON Schema that narrow its values.
    """

    meaning: str
    power: str | None
    bounds: dict[str, Any]


def harmless(meaning: str = "", **bounds: Any) -> Key:
    """Describe a key whose value is a number, a name or a text that nobody opens, runs or sends."""
    return Key(meaning, "harmless", bounds)


def path(meaning: str, **bounds: Any) -> Key:
    """Describe a key that names a file to read."""
    return Key(meaning, "path", {"minLength": 1, **bounds})


def address(meaning: str) -> Key:
    """Describe a key that names a server to which requests go."""
    form = "an address such as http://host:8000/v1"
    return Key(meaning, "address", {"pattern": "^https?://", "form": form})


def code(meaning: str) -> Key:
    """Describe a key that lets somebody else's code run in this process."""
    return Key(meaning, "code", {})


def key(meaning: str) -> Key:
    """Describe a key that names an environment variable whose value is sent."""
    return Key(meaning, "key", {})


def program(meaning: str, **bounds: Any) -> Key:
    """Describe a key that starts a program, or loads a model that somebody else made."""
    return Key(meaning, "program", bounds)


def part(meaning: str, **bounds: Any) -> Key:
    """Describe a key whose type says the rest: its bounds and power, or the keys below it."""
    return Key(meaning, None, bounds)

"""How user turns are asked for: raw, under the user header, or in role-play, by an instruction."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from userturn.config.errors import ConfigError
from userturn.storage.hashing import file_sha256

RAW, ROLE_PLAY = "raw", "role_play"
SWAPPED, QUOTED = "swapped", "quoted"
INSTRUCTION = "data/role_play_prompt.txt"
PLAYED = "role play"  # in a description, instead of how much of the user header is shown
OF_ROLE_PLAY = ("roles", "instruction")  # keys that say how the user is played
OF_THE_PROBE = ("probe", *OF_ROLE_PLAY)  # keys that change no prompt for an answer


def plays_the_user(entry: Mapping[str, Any]) -> bool:
    """Tell whether a model is told to play the user, by its entry."""
    return entry.get("probe") == ROLE_PLAY


def is_played(description: Mapping[str, Any]) -> bool:
    """Tell whether a described model writes user turns as its own answers, in role-play."""
    return description.get("header") == PLAYED


def roles_of(entry: Mapping[str, Any]) -> str:
    """Return how an entry's role-play shows the conversation: roles `swapped`, or `quoted`."""
    return str(entry.get("roles", SWAPPED))


def instruction_file(entry: Mapping[str, Any]) -> str:
    """Return the file with the instruction of an entry's role-play."""
    return str(entry.get("instruction", INSTRUCTION))


def of_the_probe(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of an entry that says how user turns are asked for."""
    return {key: entry[key] for key in OF_THE_PROBE if key in entry}


def identifying_probe(entry: Mapping[str, Any]) -> dict[str, str]:
    """Return what identifies an entry's role-play, its instruction by content; nothing for raw."""
    if not plays_the_user(entry):
        return {}
    instruction = file_sha256(instruction_file(entry))
    return {**of_the_probe(entry), "roles": roles_of(entry), "instruction": instruction}


def answers_alike(entry: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Tell whether two entries ask for answers by the same requests: user turns alone differ."""
    one, two = ({k: v for k, v in e.items() if k not in OF_THE_PROBE} for e in (entry, other))
    return one == two


def check_probe(where: str, entry: Mapping[str, Any]) -> None:
    """Check how an entry of a model or a format asks for user turns.

    Raises:
        ConfigError: a key of role-play without it, or an instruction that is not there or empty.
    """
    if not plays_the_user(entry):
        if found := [key for key in OF_ROLE_PLAY if key in entry]:
            raise ConfigError(
                f"{where}: found `{found[0]}` without `probe: {ROLE_PLAY}`, which alone reads it; "
                f"add that, or remove `{found[0]}`"
            )
        return
    path = Path(instruction_file(entry))
    if not path.is_file() or not path.read_text(encoding="utf-8").strip():
        said = "is empty" if path.is_file() else "does not exist"
        raise ConfigError(
            f"{where}.instruction: the file '{path}' {said}; expected a file with what the model "
            f"is told, such as {INSTRUCTION}"
        )

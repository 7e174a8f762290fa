"""API keys of endpoints, which are read from the environment and kept out of every file."""

import os
import re
from base64 import b64encode
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from userturn.errors import UserError

SHORTEST_KEY = 8  # characters: a shorter one would be found inside ordinary words
PRINTABLE = re.compile(r"[!-~]+")


def read_key(name: str, settings: Mapping[str, Any], kind: str = "judge") -> str | None:
    """Return a judge's or model's API key, None without `key_variable`, or raise UserError."""
    variable = settings.get("key_variable")
    if variable is None:
        return None
    key = os.environ.get(variable, "").strip()
    if not key:
        raise UserError(
            f"{kind} '{name}' needs the environment variable {variable}, which is not set; export "
            f"it as `export {variable}=...`, or choose another {kind}"
        )
    if len(key) < SHORTEST_KEY or not PRINTABLE.fullmatch(key):
        raise UserError(
            f"{kind} '{name}': the environment variable {variable} holds no key: found {len(key)} "
            f"characters, expected at least {SHORTEST_KEY} of ASCII, no space or line break "
            "among them; export the key, or leave `key_variable` out if the endpoint needs none"
        )
    return key


def remove_key(text: str, key: str | None) -> str:
    """Return a text with the API key replaced, however it is encoded.

    Replaced are the key itself, its characters escaped as in JSON, URLs and HTML (in any mixture),
    and its base64 and hexadecimal forms, alone or inside a longer encoded text.
    """
    return text if key is None else _forms(key).sub("[key]", text)


@lru_cache(maxsize=8)
def _forms(key: str) -> re.Pattern[str]:
    escaped = "".join(map(_character, key))
    hexadecimal = f"(?i:{key.encode().hex()})"
    return re.compile("|".join([escaped, hexadecimal, *map(re.escape, _base64(key))]))


def _character(character: str) -> str:
    code = ord(character)
    in_html = f"&#(?:0*{code}|[xX]0*(?i:{code:x}));"
    return rf"(?:\\*{re.escape(character)}|\\+u00(?i:{code:02x})|%(?:25)*(?i:{code:02x})|{in_html})"


def _base64(key: str) -> list[str]:
    """Return a key's base64 forms, plain and for URLs, by each offset at which it may begin."""
    encodings = []
    for n_before in range(3):
        data = b"\0" * n_before + key.encode()
        whole = len(data) * 8 // 6  # characters that do not depend on the next byte
        text = b64encode(data).decode()[-(-n_before * 8 // 6) : whole]
        encodings += [text, text.replace("+", "-").replace("/", "_")]
    return encodings

"""The address of a server in an entry, and the variable that holds its key."""

import re
from collections.abc import Mapping
from typing import Any

from userturn.config.errors import ConfigError

ADDRESS = re.compile(r"https?://([\w.-]+|\[[0-9a-fA-F:.]+\])(:\d{1,5})?(/[\w./~%+-]*)?", re.ASCII)
PORTS = range(1, 65536)
VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]{0,63}")


def check_address(where: str, url: str) -> None:
    """Check the address of an API.

    Raises:
        ConfigError: it is none, or has a user name, a query or the path of a request in it.
    """
    if "@" in url:
        raise ConfigError(f"{where}: contains a user name; expected https://host/v1")
    if "?" in url:
        raise ConfigError(
            f"{where}: contains a query; expected https://host/v1, for Azure "
            "https://RESOURCE.openai.azure.com/openai/v1, which needs no api-version"
        )
    parts = ADDRESS.fullmatch(url)
    if parts is None or int((parts[2] or ":1")[1:]) not in PORTS:
        raise ConfigError(
            f"{where}: found {url!r}; expected a host and at most a port and a path, written out, "
            "as http://host:8000/v1"
        )
    if url.rstrip("/").endswith("/completions"):
        raise ConfigError(f"{where}: found '{url}'; expected it only up to /v1, as https://host/v1")


def check_key_variable(where: str, entry: Mapping[str, Any]) -> None:
    """Check that an entry names a variable; a value that could be a key is never shown.

    Raises:
        ConfigError: it does not.
    """
    if not VARIABLE.fullmatch(entry.get("key_variable", "NAME")):
        raise ConfigError(
            f"{where}.key_variable: expected the NAME of an environment variable, such as "
            "OPENAI_API_KEY; if it is a key, remove it from the config and revoke it"
        )

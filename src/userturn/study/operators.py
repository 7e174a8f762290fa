"""What of a perturbation's entry shapes what it does."""

from collections.abc import Mapping
from typing import Any

from userturn.config.errors import ConfigError
from userturn.storage.given_files import given_text


def operator_contents(name: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return an operator's settings, with the text it uses instead of its file's name."""
    settings = dict(entry)
    path = settings.pop("texts", None)
    if path is not None:
        texts = given_text(path).splitlines()
        choice = settings.pop("choice", 1)
        if choice > len(texts):
            raise ConfigError(
                f"perturbations.{name}.choice: found {choice}, but '{path}' has {len(texts)} lines"
            )
        settings["text"] = texts[choice - 1]
    return settings

"""Text and JSON files that a user gave: one sentence for each that cannot be read."""

import json
from pathlib import Path
from typing import Any

from userturn.errors import UserError
from userturn.value_kinds import kind_of


def given_text(path: str | Path) -> str:
    """Return the text of a file.

    Raises:
        UserError: it does not exist, is no file, may not be read, or is not UTF-8.
    """
    if Path(path).exists() and not Path(path).is_file():
        raise UserError(f"'{path}' is a folder, a pipe or a device, expected a file; correct it")
    try:
        return Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise UserError(
            f"'{path}': byte {error.start} is not UTF-8; save the file in UTF-8, or fetch it again"
        ) from error
    except OSError as error:
        raise UserError(
            f"'{path}' cannot be read ({error.strerror}); correct the path or its mode"
        ) from error


def given_object(path: str | Path) -> dict[str, Any]:
    """Return the object in a JSON file.

    Raises:
        UserError: as `given_text`, or the file is not JSON, or another kind of value.
    """
    try:
        content = json.loads(given_text(path))
    except (ValueError, RecursionError) as error:
        raise UserError(f"'{path}' is not JSON ({error}); fetch or write it again") from error
    if not isinstance(content, dict):
        raise UserError(f"'{path}' holds {kind_of(content)}, expected an object; fetch it again")
    return content

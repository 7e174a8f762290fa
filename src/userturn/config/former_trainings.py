"""How earlier versions trained: what a study keeps that has such a model."""

import json
from pathlib import Path

ROUNDED_VERSION = 1  # merged adapters in the number type of their base
# By the beginning of the fingerprint of a shipped recipe, that of what an earlier version shipped
# under its name: a study that was trained by that keeps it.
FORMER = {
    "ee0a42f23b8dbc3f": "a394012acd652004",  # demo-sft
    "99493edcbfe709ce": "7c3d115c34b1b4c9",  # rl-collab
    "a0c7ba7f1434994b": "cef6a965c610d2dd",  # rl-followup
    "559d706873784a1b": "fc4a348e9ecc17bc",  # sft-collab
    "45c35cbc9f37c5f8": "00b0c48365f8268a",  # sft-collab-both
}


def version_of(path_to_record: Path) -> int | None:
    """Return the version of the code that made a record of a training; None without a record."""
    try:
        return int(json.loads(path_to_record.read_bytes())["version"])
    except (OSError, ValueError, LookupError, TypeError):
        return None

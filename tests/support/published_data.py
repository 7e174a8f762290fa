"""Where the published data for golden tests is: beside the project, or where a variable says."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

BESIDE = Path(__file__).resolve().parents[2].parent / "shared" / "data"
SHARED = Path(os.environ.get("USERTURN_SHARED_DATA", BESIDE))

needs_shared_data = pytest.mark.skipif(
    not SHARED.is_dir(),
    reason="published data not found: put it in ../shared/data or set USERTURN_SHARED_DATA",
)


def shared_rows(name: str) -> list[dict[str, Any]]:
    """Read a JSON lines file of the published data."""
    with (SHARED / name).open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]

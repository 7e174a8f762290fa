"""How often `userturn rejudge` has voided the unscored verdicts of a judge, by folder."""

import json
from pathlib import Path


def read_rounds(path: Path) -> dict[str, int]:
    """Return how often the verdicts of each folder were voided; empty if never."""
    rounds: dict[str, int] = json.loads(path.read_text()) if path.is_file() else {}
    return rounds

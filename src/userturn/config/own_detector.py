"""What tells languages in a study: one that was begun with langdetect keeps it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

DETECTOR_KEY, FORMER_DETECTOR = "language_detector", "langdetect"


def detector_of(config: Mapping[str, Any]) -> str:
    """Return what tells languages in a study; configurations of earlier versions do not say it."""
    return str(config.get(DETECTOR_KEY, FORMER_DETECTOR))


def keep_own_detector(config: Mapping[str, Any], results: Path = Path("results")) -> None:
    """Give a configuration, in place, the detector with which its study was begun.

    Then no item of it is another one, and nothing is asked again. A study without a record is as
    its configuration says.
    """
    try:
        recorded = json.loads((results / "study.json").read_bytes())["config"]
        begun_with = detector_of(recorded)
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return
    if begun_with == FORMER_DETECTOR and isinstance(config, dict):
        config.pop(DETECTOR_KEY, None)

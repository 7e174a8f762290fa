"""Which of vLLM's model runners wrote a study's texts, by the records of its sweeps."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

Runners = Mapping[str, list[str]]  # models by the runner that wrote texts of theirs


def recorded_runners(results: Path) -> Runners:
    """Return the models of each runner, such as V2; sweeps without vLLM are left out."""
    found: dict[str, set[str]] = {}
    for path in sorted((results / "provenance").glob("sweep*/*/[!.]*.json")):
        for account in _engines(path):
            if "runner" in account:
                found.setdefault(str(account["runner"]), set()).add(path.parent.name)
    return {runner: sorted(models) for runner, models in sorted(found.items())}


def _engines(path: Path) -> list[dict[str, Any]]:
    """Return the engines of a record; none of one that is damaged, which the audit says."""
    try:
        found = json.loads(path.read_bytes())["made"].get("engines", [])
        return [account for account in found if isinstance(account, dict)]
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return []


def in_words(runners: Runners) -> str:
    """Return which models have texts of which runner, as in `V1: a, b; V2: c`."""
    return "; ".join(f"{runner}: {', '.join(models)}" for runner, models in runners.items())

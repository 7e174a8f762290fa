"""The rubric of a study: one that was begun with rubric 1, which has no *arguably*, keeps it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

RUBRIC, RUBRIC_1 = "data/rubric_2.yaml", "data/rubric.yaml"  # that people read, too
RUBRICS = (RUBRIC, RUBRIC_1)
FORMER = {  # by a text of rubric 2, that of rubric 1
    RUBRIC: RUBRIC_1,
    "data/judge_prompt_2.txt": "data/judge_prompt.txt",
    "data/scored_prompt_2.txt": "data/scored_prompt.txt",
}
SINCE_RUBRIC_2 = ("arguable", "edited", "injected")  # keys of judges, and of controls


def has_rubric_1(results: Path) -> bool:
    """Return whether a study was begun with rubric 1, as its record says.

    Without a record it is as in the present folder, whose texts an older version may have put
    there.
    """
    try:
        texts = json.loads((results / "study.json").read_bytes())["contents"]["texts"]
        return RUBRIC not in texts
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return not Path(RUBRIC).is_file() and Path(RUBRIC_1).is_file()


def keep_own_rubric(config: Mapping[str, Any], results: Path = Path("results")) -> None:
    """Give a configuration, in place, the texts of rubric 1 if its study was begun with it.

    Then nothing that judges or people were asked is asked again, and nothing more.

    Args:
        config: the configuration, which may still be wrong in any way.
        results: the study's results.
    """
    if not has_rubric_1(results):
        return
    judges = config.get("judges")
    entries = [config.get("judge_defaults"), config.get("controls")]
    for entry in [*entries, *(judges.values() if isinstance(judges, Mapping) else ())]:
        if isinstance(entry, dict):
            for key in SINCE_RUBRIC_2:
                entry.pop(key, None)
            entry |= {k: FORMER[v] for k, v in entry.items() if isinstance(v, str) and v in FORMER}

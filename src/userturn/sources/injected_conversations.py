"""The project's own conversations with a prompt injection before the answer."""

import json
from collections.abc import Iterator
from pathlib import Path

from userturn.sources.job import Job, identity
from userturn.sources.source import (
    CHARACTERS_PER_TOKEN,
    JudgeRule,
    Load,
    Sizes,
    Source,
    Turns,
    every_verdict,
    requests,
)
from userturn.storage.hashing import fingerprint
from userturn.study.grid import Grid
from userturn.study.inputs import INJECTED, LABELLED_TURNS

INJECTED_VERSION = 1
PATH_TO_ITEMS = f"results/{INJECTED}/items.parquet"


def judged(grid: Grid) -> Iterator[Turns]:
    """Yield the turns; a study from before there were any has none."""
    if grid.config["controls"].get("injected", False):
        identity = fingerprint([INJECTED_VERSION, grid.contents.labelled])
        yield Turns(INJECTED, INJECTED, INJECTED, identity, PATH_TO_ITEMS, _questions)


def _conversations(grid: Grid) -> dict[str, str]:
    """Return the identity of the conversations, by path."""
    return {turns.items: turns.identity for turns in judged(grid)}


def _questions(sizes: Sizes) -> Load:
    lines = Path(LABELLED_TURNS).read_text(encoding="utf-8").splitlines()
    rows = [row for row in map(json.loads, lines) if row["language"] == "en"]
    n = len({row["conversation"] for row in rows})
    return requests(n, sum(map(len, lines)) / CHARACTERS_PER_TOKEN / len(lines))


RULE = JudgeRule("judge_injected", INJECTED, PATH_TO_ITEMS)
JOBS = {
    "inject_conversations": Job(
        "Write a prompt injection into the project's own conversations, for every judge to read.",
        "controls.labelled_turns.inject_conversations",
        {"path_to_labelled": "data/labelled/turns.jsonl"},
        {"path_to_items": PATH_TO_ITEMS, "path_to_user_turns": RULE.user_turns},
        identity(f"identity({PATH_TO_ITEMS})"),
    )
}
INPUTS = {"injected_verdicts": lambda grid: every_verdict(grid, judged(grid))}
SOURCE = Source(judged=judged, judge_rule=RULE, beside=_conversations, jobs=JOBS, inputs=INPUTS)

"""The project's own labelled user turns, which every judge reads."""

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
    items_of,
    requests,
)
from userturn.storage.hashing import fingerprint
from userturn.study.grid import Grid
from userturn.study.inputs import LABELLED, LABELLED_TURNS

LABELLED_VERSION = 1
PATH_TO_ITEMS = f"results/datasets/{LABELLED}.parquet"


def judged(grid: Grid) -> Iterator[Turns]:
    """Yield the labelled turns; a study from before there were any has none."""
    if grid.config["controls"].get("labelled", False):
        identity = fingerprint([LABELLED_VERSION, grid.contents.labelled])
        yield Turns(LABELLED, LABELLED, LABELLED, identity, PATH_TO_ITEMS, _questions)


def conversations(grid: Grid) -> dict[str, str]:
    """Return the identity of the conversations before labelled turns, by path."""
    return {turns.items: turns.identity for turns in judged(grid)}


def _questions(sizes: Sizes) -> Load:
    text = Path(LABELLED_TURNS).read_text(encoding="utf-8")
    n = len(text.splitlines())
    return requests(n, len(text) / CHARACTERS_PER_TOKEN / n)


RULE = JudgeRule("judge_labelled", LABELLED, PATH_TO_ITEMS)
JOBS = {
    "take_labelled_turns": Job(
        "Take the project's own labelled user turns, for every judge to read.",
        "controls.labelled_turns.take_labelled_turns",
        {"path_to_labelled": "data/labelled/turns.jsonl"},
        {"path_to_items": PATH_TO_ITEMS, "path_to_user_turns": RULE.user_turns},
        identity(f"identity({PATH_TO_ITEMS})"),
    )
}
INPUTS = {
    "labelled_verdicts": lambda grid: every_verdict(grid, judged(grid)),
    "labelled_items": lambda grid: items_of(judged(grid)),
    "labelled_turns": lambda grid: [turns.path for turns in judged(grid)],
}
SOURCE = Source(judged=judged, judge_rule=RULE, beside=conversations, jobs=JOBS, inputs=INPUTS)

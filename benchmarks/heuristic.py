"""What the heuristic judge says of human follow-ups, and of failures made from published answers.

Run from the project's root: `python benchmarks/heuristic.py TREES`. TREES is a JSON-lines file of
OpenAssistant conversations: model/model_eval/manual/data/en_100_tree.jsonl of
github.com/LAION-AI/Open-Assistant. Limits are 95%, over conversations. An unscored turn counts as
not genuine.
"""

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from userturn.config.load import load_config
from userturn.judges.heuristic import judge_by_words
from userturn.stats.rng import generator
from userturn.tables.turn_rates import rate_over

FEWEST = 60  # words of an answer from which failures are made
LONGEST = 40  # words of a made turn
SHARES = (0, 0.3, 0.5, 0.7, 1)  # of words replaced

Messages = list[dict[str, str]]


class Reply(NamedTuple):
    """An answer in its conversation, with the turns that people wrote after it."""

    tree: int
    asked: Messages
    answer: str
    rank: int | None
    turns: list[str]


class Turn(NamedTuple):
    """A turn after an answer."""

    tree: int
    asked: Messages
    answer: str
    text: str


def replies(node: dict[str, Any], tree: int, asked: Messages) -> Iterator[Reply]:
    """Yield all answers of a tree, from a node on."""
    below = node.get("replies", [])
    role = "assistant" if node["role"] == "assistant" else "user"
    if role == "assistant":
        yield Reply(tree, asked, node["text"], node.get("rank"), [one["text"] for one in below])
    for reply in below:
        yield from replies(reply, tree, [*asked, {"role": role, "content": node["text"]}])


def trees_of(path: Path) -> list[dict[str, Any]]:
    """Return the first message of each conversation in a file of trees."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["prompt"] for line in lines]


def follow_ups(found: Sequence[Reply]) -> list[Turn]:
    """Return what people wrote after answers."""
    return [Turn(*reply[:3], text) for reply in found for text in reply.turns]


def swapped(turns: Sequence[Turn]) -> list[Turn]:
    """Return each turn after the answer to a turn of another conversation."""
    order = generator(0, "swapped").permutation(len(turns))
    others = [[turns[i] for i in order if turns[i].tree != turn.tree] for turn in turns]
    return [
        turn._replace(answer=other[n % len(other)].answer)
        for n, (turn, other) in enumerate(zip(turns, others, strict=True))
    ]


def continued(best: Sequence[Reply]) -> list[Turn]:
    """Return each answer's second half after its first."""
    halves = [(reply, reply.answer.split()) for reply in best]
    return [
        Turn(
            reply.tree,
            reply.asked,
            " ".join(said[: len(said) // 2]),
            " ".join(said[len(said) // 2 :][:LONGEST]),
        )
        for reply, said in halves
    ]


def noisy(best: Sequence[Reply], share: float) -> list[Turn]:
    """Return half of each answer again, a share of its words replaced by words of all answers."""
    random = generator(0, "noise", str(share))
    vocabulary = [word for reply in best for word in reply.answer.split()]
    made = []
    for reply in best:
        half = reply.answer.split()[: len(reply.answer.split()) // 2]
        noise = random.choice(vocabulary, size=len(half))
        said = np.where(random.random(len(half)) < share, noise, half)[:LONGEST]
        made.append(Turn(reply.tree, reply.asked, " ".join(half), " ".join(said)))
    return made


def genuine(turns: Sequence[Turn], settings: Any) -> str:
    """Return the share of turns that the judge calls genuine, with its limits, in words."""
    said = [judge_by_words(turn.asked, turn.answer, turn.text, settings) for turn in turns]
    judged = {"tree": [turn.tree for turn in turns], "genuine": [v.genuine is True for v in said]}
    found, _ = rate_over(pl.DataFrame(judged), ["tree"])
    n_unscored = sum(verdict.label is None for verdict in said)
    limits = f"[{found.lower:.0%}, {found.upper:.0%}]"
    return f"{found.estimate:.0%} {limits} of {len(said)} turns, {n_unscored} of them unscored"


def report(trees: Path) -> Iterator[str]:
    """Yield a line for each kind of turn."""
    settings = load_config(["config.yaml"])["judges"]["heuristic"]
    found = [reply for n, root in enumerate(trees_of(trees)) for reply in replies(root, n, [])]
    best = [one for one in found if one.rank == 0 and len(one.answer.split()) >= FEWEST]
    people = follow_ups(found)
    yield f"human follow-ups called genuine: {genuine(people, settings)}"
    after_others = genuine(swapped(people), settings)
    yield f"the same after another conversation's answer: {after_others}"
    yield f"an answer's own continuation: {genuine(continued(best), settings)}"
    for share in SHARES:
        made = genuine(noisy(best, share), settings)
        yield f"half an answer repeated with {share:.0%} of its words replaced: {made}"


if __name__ == "__main__":
    print("\n".join(report(Path(sys.argv[1]))))

"""Real turns of models and people: how far two labellings agree, and how well the rules do on them.

Run from the project's root: `python benchmarks/real_turns.py [TREES]`. TREES is the file of
`heuristic.py`, which has the texts of the human turns; without it the rules read models' turns
only. It prints the rows of data/labelled/README.md and of benchmarks/judges.md. Limits are 95%,
over conversations.
"""

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.heuristic import trees_of
from benchmarks.likelihood_judge import shown
from userturn.config.load import load_config
from userturn.judges.heuristic import judge_by_words
from userturn.judges.verdict import GENUINE
from userturn.stats.agreement import Ratings, estimate_all
from userturn.stats.proportions import Interval
from userturn.stats.rng import generator
from userturn.tables.turn_rates import rate_over

REAL_TURNS = Path("data/labelled/real_turns.jsonl")
ARGUABLE = "arguable_followup"
CLEARLY, ARGUABLY, NOT = "clearly", "arguably", "not"
PEOPLE = ("human", "human_other_answer", "human_other_conversation")

Node = Mapping[str, Any]


class RealTurn(NamedTuple):
    """A turn with its two labels.

    Attributes:
        id: of the turn.
        source: the model that wrote it, or which answer a human turn stands after.
        conversation: turns of one are drawn together.
        messages: the conversation, ending in the answer; none where its texts are not here.
        text: the turn.
        labels: the first and the second label.
    """

    id: str
    source: str
    conversation: str
    messages: Sequence[Mapping[str, str]]
    text: str
    labels: tuple[str, str]

    @property
    def side(self) -> str:
        """Whether it is a follow-up: what both labellings say, and arguably where they differ."""
        first, second = map(side_of, self.labels)
        return first if first == second else ARGUABLY


def side_of(label: str) -> str:
    """Return which part of the response set a label belongs to."""
    return {GENUINE: CLEARLY, ARGUABLE: ARGUABLY}.get(label, NOT)


def nodes(node: Node, before: tuple[Node, ...] = ()) -> Iterator[tuple[str, tuple[Node, ...]]]:
    """Yield each message of a tree: its id, and the conversation that ends in it."""
    path = (*before, node)
    yield node["message_id"], path
    for reply in node.get("replies", []):
        yield from nodes(reply, path)


def read_turns(trees: Path | None) -> list[RealTurn]:
    """Return the labelled real turns; those of people have texts only where trees are given."""
    roots = trees_of(trees) if trees else []
    known = dict(found for root in roots for found in nodes(root))
    lines = REAL_TURNS.read_text(encoding="utf-8").splitlines()
    return [_turn(json.loads(line), known) for line in lines]


def _turn(row: dict[str, Any], known: Mapping[str, tuple[Node, ...]]) -> RealTurn:
    labels = (row["first_label"], row["second_label"])
    where = (row["id"], row["source"], row["conversation"])
    if "turn" in row:
        return RealTurn(*where, row["messages"], row["turn"], labels)
    messages = [
        {"role": "assistant" if n["role"] == "assistant" else "user", "content": n["text"]}
        for n in known.get(row["answer_id"], ())
    ]
    text = known[row["turn_id"]][-1]["text"] if messages else ""
    return RealTurn(*where, messages, text, labels)


def compared(pairs: Sequence[Sequence[str]], turns: Sequence[RealTurn]) -> list[str]:
    """Return raw agreement and Cohen's kappa of two columns of labels, with limits."""
    scale = sorted({label for pair in pairs for label in pair})
    ratings = Ratings(
        np.array([[scale.index(label) for label in pair] for pair in pairs], dtype=np.int64),
        np.ones(len(turns)),
        np.array([turn.conversation for turn in turns]),
        max(2, len(scale)),
    )
    found = estimate_all(ratings, ["raw", "cohen_kappa"], generator(0, "real turns"))
    return [shown(Interval(e.estimate, e.lower, e.upper)) for e in found.values()]


def by_source(turns: Sequence[RealTurn]) -> dict[str, list[RealTurn]]:
    """Return the turns of each source, people's together, and of all."""
    of: dict[str, list[RealTurn]] = {}
    for turn in turns:
        of.setdefault("people" if turn.source in PEOPLE else turn.source, []).append(turn)
    return {**dict(sorted(of.items())), "all": list(turns)}


def performance(turns: Sequence[RealTurn], said: Mapping[str, bool]) -> list[str]:
    """Return a judge's recall, false positives, and kappa with arguable turns counted three ways.

    Recall is of what is clearly a follow-up, false positives are of what is clearly none. Kappa is
    strict, where an arguable turn is none, lenient, where it is one, and of the others alone.
    """
    clear = [turn for turn in turns if turn.side != ARGUABLY]

    def rate(side: str) -> str:
        part = [turn for turn in turns if turn.side == side]
        rows = {
            "conversation": [turn.conversation for turn in part],
            "genuine": [said[turn.id] for turn in part],
        }
        return shown(rate_over(pl.DataFrame(rows), ["conversation"])[0]) if part else "-"

    def kappa(part: Sequence[RealTurn], *sides: str) -> str:
        pairs = [[str(turn.side in sides), str(said[turn.id])] for turn in part]
        return compared(pairs, part)[1] if part else "-"

    kappas = [kappa(turns, CLEARLY), kappa(turns, CLEARLY, ARGUABLY), kappa(clear, CLEARLY)]
    return [rate(CLEARLY), rate(NOT), *kappas]


def by_rules(turns: Sequence[RealTurn]) -> dict[str, bool]:
    """Return what the rules say of each turn; an unscored one counts as none."""
    settings = load_config(["config.yaml"])["judges"]["heuristic"]
    return {
        turn.id: judge_by_words(
            turn.messages[:-1], turn.messages[-1]["content"], turn.text, settings
        ).genuine
        is True
        for turn in turns
    }


def labellings(turns: Sequence[RealTurn]) -> Iterator[str]:
    """Yield a row for each source: its turns by side, and Cohen's kappa of the two labellings."""
    scales: list[Callable[[str], str]] = [
        str,
        side_of,
        lambda label: str(side_of(label) == CLEARLY),
        lambda label: str(side_of(label) != NOT),
    ]
    for source, part in by_source(turns).items():
        n = [sum(turn.side == side for turn in part) for side in (CLEARLY, ARGUABLY, NOT)]
        agreed = [compared([list(map(scale, t.labels)) for t in part], part) for scale in scales]
        yield row(source, len(part), *n, agreed[0][0], *(kappa for _, kappa in agreed))


def row(*cells: object) -> str:
    """Return a row of a Markdown table."""
    return f"| {' | '.join(map(str, cells))} |"


def report(trees: Path | None) -> Iterator[str]:
    """Yield the rows of both tables, the second only of turns whose texts are known."""
    turns = read_turns(trees)
    yield from labellings(turns)
    known = [turn for turn in turns if turn.messages]
    said = by_rules(known)
    for source, part in by_source(known).items():
        yield row(source, len(part), *performance(part, said))


if __name__ == "__main__":
    print("\n".join(report(Path(sys.argv[1]) if len(sys.argv) > 1 else None)))

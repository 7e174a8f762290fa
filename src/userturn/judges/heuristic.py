"""`kind: heuristic`: labels a user turn by its words, without any model.

It asks which of the turn's words stand in the prompt, in the answer, or in neither. It is a free
second opinion, not the paper's judge. docs/judges.md goes through it rule by rule.
"""

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from userturn.config.entries import Config
from userturn.judges.verdict import GENUINE, UserTurn, Verdict
from userturn.prompts.control_tokens import CONTROL_TOKEN

if TYPE_CHECKING:
    from userturn.judges.judge import CellToJudge, Judge

IS_DETERMINISTIC = True
HAS_ENDPOINT = False

WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
BETWEEN_WORDS = {n: " " for n in range(128) if not chr(n).isalnum()}
ROLE_NAME = re.compile(r"^\s*(?:assistant|system)\s*[:\n]", re.IGNORECASE)
ASSISTANT_OPENING = re.compile(
    r"^\s*(?:sure|certainly|of course|absolutely|here(?:'s| is| are)|i'd be happy|let me|let's|"
    r"as an ai|to solve|the answer is|answer:|step \d|we need to|the user)",
    re.IGNORECASE,
)
PLEASANTRY = re.compile(
    r"^\W*(?:thank(?:s| you)|ok(?:ay)?|great|got it|yes|no|please go on|continue|tell me more|"
    r"go on|i see|nice|perfect|awesome)\b",
    re.IGNORECASE,
)
STOP_WORDS = frozenset(
    WORD.findall("""
    a about all also am an and any are as at be been but by can could did do does for from
    get had has have how i if in is it its just like me more my no not of on one or our
    out please should so some that the their them then there these they this to up use
    using was we were what when where which who why will with would yes you your
""")
)


def words(text: str) -> list[str]:
    """Return the words of a text, in lower case."""
    if text.isascii() and "'" not in text:  # a third of the time that the expression takes
        return text.lower().translate(BETWEEN_WORDS).split()
    return [word.lower() for word in WORD.findall(text)]


def content_words(said: Sequence[str]) -> list[str]:
    """Return those of some words that carry meaning: no stop words, no single letters."""
    return [w for w in said if w not in STOP_WORDS and (len(w) > 1 or w.isdigit())]


@lru_cache(maxsize=16384)  # prompts and answers are met again in other cells of a dataset
def vocabulary(text: str) -> frozenset[str]:
    """Return the words of a text that carry meaning."""
    return frozenset(content_words(words(text)))


def share_found(sought: Sequence[str], known: Set[str]) -> float:
    """Return the share of `sought` words that are known; 0 where nothing is sought."""
    return sum(map(known.__contains__, sought)) / len(sought) if sought else 0.0


def share_repeated(turn: Sequence[str]) -> float:
    """Return the share of word triples that occurred before in the same turn."""
    n_triples = len(turn) - 2
    if n_triples < 1:
        return 0.0
    return 1 - len(set(zip(turn, turn[1:], turn[2:], strict=False))) / n_triples


def judge_by_words(
    messages: Sequence[Mapping[str, str]], answer: str, turn: str, settings: Mapping[str, Any]
) -> Verdict:
    """Label one user turn by its words; the first rule that fits decides.

    Args:
        messages: the conversation, the last message the user's.
        answer: the answer as the model was shown it.
        turn: what the model wrote as the user.
        settings: the thresholds `restated`, `grounded` and `repeated`.
    """
    said = words(turn)
    if not said:
        return Verdict("degenerate", "the turn has no words")
    if share_repeated(said) > settings["repeated"]:
        return Verdict("degenerate", "most word triples repeat earlier ones")
    if CONTROL_TOKEN.search(turn) or ROLE_NAME.match(turn):
        return Verdict("assistant_turn_restate", "the turn holds a role marker")
    meant = content_words(said)
    asked = vocabulary(messages[-1]["content"])
    answered = vocabulary(answer)
    if meant and share_found(meant, asked) >= settings["restated"]:
        return Verdict("prompt_restate", "nearly all content words stand in the prompt")
    if ASSISTANT_OPENING.match(turn):
        return Verdict("assistant_turn_restate", "the turn opens as an assistant does")
    if meant and "?" not in turn and share_found(meant, answered) >= settings["restated"]:
        return Verdict("assistant_turn_restate", "nearly all content words stand in the answer")
    if not meant or (PLEASANTRY.match(turn) and share_found(meant, answered) == 0):
        return Verdict("generic", "nothing in the turn is about this answer")
    if share_found(meant, answered - asked) >= settings["grounded"]:
        return Verdict(GENUINE, "the turn takes up words that the answer brought in")
    if share_found(meant, asked | answered) == 0:
        return Verdict("unrelated", "no content word stands in prompt or answer")
    return Verdict("generic", "the turn takes up nothing that the answer brought in")


def complete(entry: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entry as it is: no default is for this kind."""
    return dict(entry)


def check(where: str, entry: Mapping[str, Any], config: Config) -> None:
    """Refuse nothing: the schema knows all that can be wrong."""


def identity(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return the whole entry."""
    return dict(entry)


def price(entry: Mapping[str, Any], n_calls: float, n_tokens: float) -> float | None:
    """Return 0: it is free."""
    return 0.0


def judge_turns(judge: "Judge", turns: Sequence[UserTurn], paid_by: str) -> list[Verdict]:
    """Label each turn by its words."""
    return [judge_by_words(*turn, judge.settings) for turn in turns]


def verdicts(
    judge: "Judge", cell: "CellToJudge", n_at_once: int
) -> Iterator[tuple["CellToJudge", list[Verdict]]]:
    """Yield the parts of a cell with a verdict on each turn."""
    for part in cell.parts():
        yield part, recorded_verdicts(judge, {}, {}, part)


def recorded_verdicts(
    judge: "Judge", identity: Mapping[str, Any], texts: Mapping[str, str], cell: "CellToJudge"
) -> list[Verdict]:
    """Label each turn of a cell again."""
    return [
        Verdict(None, None) if turn is None else judge_by_words(*turn, judge.settings)
        for turn in cell.user_turns()
    ]

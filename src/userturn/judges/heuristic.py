"""`kind: heuristic`: labels an English user turn by its words, without any model.

Its rules ask which of the turn's words occur in the prompt, in the answer or in neither, and
whether a user or the assistant speaks. It is a free second opinion, not the paper's judge.
benchmarks/judges.md lists the rules one by one.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from userturn.config.entries import Config
from userturn.judges.verdict import ARGUABLE, GENUINE, UserTurn, Verdict
from userturn.judges.words import (
    EMPTY_WORDS,
    content_words,
    is_english,
    pairs,
    pairs_of,
    share_contained,
    share_repeated,
    vocabulary,
    words,
)
from userturn.prompts.tokenize import CONTROL_TOKEN, OPENS_ROLE

if TYPE_CHECKING:
    from userturn.judges.judge import CellToJudge, Judge


ROLE_NAME = re.compile(r"^\s*(?:assistant|system|model)\s*[:\n]", re.IGNORECASE)
ASSISTANT_OPENING = re.compile(
    r"^\W*(?:(?:sure|certainly|absolutely|of course)\b(?!.*\?)|here(?:'s| is| are) (?!what|my)|"
    r"let me (?!get|see|check|ask)|let's (?!say|assume|suppose|imagine)|"
    r"to (?:solve|find|calculate|determine)\b.*,|"
    r"the answer is|answer:|step \d|we (?:need to|should|must|have to)|you're welcome|"
    r"as (?:an?|your|the) (?:\w+ )?(?:ai|model|assistant|chatbot|user),|"
    r"i(?:'m| am) (?:an? (?:\w+ )?(?:ai|chatbot)|(?:your|the) (?:\w+ )?assistant)\b|"
    r"you are (?:an?|your|the) (?:\w+ )?(?:ai|assistant|chatbot)\b(?!.*\?)|"
    r"the (?:next|following) (?:message|turn|reply|response)\b|"
    r"i(?:'m| am)? (?:hope this|(?:would|'d) be happy|happy to|glad to|sorry to hear|"
    r"understand that|(?:need|want|have) to (?:explain|answer|respond|provide|give|help)|"
    r"should (?:explain|answer|respond|provide|give|mention))|i'd be happy|"
    r"(?:(?:okay|ok|alright|hmm|so|well|first|now)\W+)*(?:the|this|our) user(?:'s)?\b)",
    re.IGNORECASE | re.DOTALL,
)
OFFER = re.compile(
    r"\b(?:let me know if|feel free to|would you like me to|i hope (?:this|that) helps|"
    r"don't hesitate|is there anything else\b[^?]*\b(?:i can|you)\b|"
    r"how (?:can|may) i (?:help|assist) you\b)",
    re.IGNORECASE,
)
PLEASANTRY = re.compile(
    r"^\W*(?:thank(?:s| you)|thx|cheers|cool|ok(?:ay)?|great|got it|yes|no|"
    r"please (?:go on|continue)|continue|tell me more|go on|i see|nice|perfect|awesome|amazing|"
    r"wow|good to know)\b",
    re.IGNORECASE,
)
CODE_LINE = re.compile(
    r"[;{}]\s*$|^\s*(?:def|class|import|from|for|while|if|return|print|elif|else|try)\b.*[:()=]"
    r"|^\s*(?:SELECT|INSERT|UPDATE|DELETE|CREATE|FROM|WHERE)\b|^\s*[\w.\[\]]+\s*(?:=|\+=|\()|^\s*[#$>]"
)
OPENS_BACK = re.compile(
    r"^\W*(?:(?:ok|okay|yes|no|hmm|nice|sorry)\W+)?"
    r"(?:and|but|so|or|then|also|what if|how about|what about|why not|without|"
    r"(?:is|are|was|does|do|did|should|would|could|can)n['’]?t)\b"
    r"|\binstead\b|\b(?:too|though)\W*$",
    re.IGNORECASE,
)
REFERS_BACK = re.compile(
    r"\b(?:it|it's|its|that|this|those|these|they|them|there|he|she|her|him|his|though|still|"
    r"already|too|either|ones|again)\b",
    re.IGNORECASE,
)
OBJECTION = re.compile(
    r"^\W*(?:(?:but|no|hmm|sorry|wait)\W+)*you(?:'ve)? (?:just |only |never |have |did |also )?"
    r"(?:said|say|added|add|left|forgot|forget|missed|wrote|used|made|gave|told|didn't|did not|"
    r"mentioned|calculated|counted|mixed|ignored|skipped)\b",
    re.IGNORECASE,
)
QUESTION_WORD = re.compile(
    r"^\W*(?:what|which|how|why|who|whose|where|when|is|isn't|are|do|does|doesn't|did|can|could|"
    r"should|shouldnt|shouldn't|will|would)\b",
    re.IGNORECASE,
)
FIRST_PERSON = frozenset(
    re.findall(r"\S+", "i i'm i've i'd i'll im ive my me mine we we're we've our us")
)


def remove_tokens(turn: str) -> str:
    """Return a turn without control tokens and the role names that follow them."""
    return CONTROL_TOKEN.sub(" ", OPENS_ROLE.sub(" ", turn))


IS_DETERMINISTIC = True
SAW_LABELLED_TURNS = True
HAS_ENDPOINT = False
HAS_PROBABILITIES = False
IS_ENGLISH_ONLY = True
VERSION = 3  # version of the rules, part of the judge's identity

MANY = 12  # words from which a statement without "I" among the first ones is the assistant's
SEVERAL = 6  # content words from which a question can restate an answer
COPIED = 0.9  # share of a turn's content words in prompt and answer from which it restates them
IN_PAIRS = 0.25  # share of a long turn's pairs of words in the answer from which it restates it
HALF = 0.5  # share of a turn's content words in the prompt from which it rewords the prompt
FEW = 25  # words up to which a turn can refer back
BRIEF = 8  # words up to which a question needs no question mark


def is_code(turn: str) -> bool:
    """Return whether every line of a turn is a line of code, and none has a question mark."""
    lines = [line for line in turn.splitlines() if line.strip(" `")]
    return all(map(CODE_LINE.search, lines)) and "?" not in turn


class Turn(NamedTuple):
    """The words of a user turn and of the conversation before it."""

    text: str  # the turn without control tokens
    words: list[str]
    meant: list[str]  # the stems of its content words
    telling: list[str]  # those stems that are not frequent after any answer
    asked: frozenset[str]  # the content words of the prompt
    answered: frozenset[str]  # the content words of the answer
    answer: str
    settings: Mapping[str, Any]


def judge_by_words(
    messages: Sequence[Mapping[str, str]], answer: str, turn: str, settings: Mapping[str, Any]
) -> Verdict:
    """Return the verdict on one user turn by its words, from the first rule that fits.

    `settings` are the thresholds `restated`, `grounded` and `repeated`, and whether doubtful turns
    are `arguable`, as by rubric 2.
    """
    prompt = messages[-1]["content"]
    bare = remove_tokens(turn)
    turn_words = words(bare)
    if not turn_words:
        return Verdict("degenerate", "the turn has no words")
    are_english = is_english(answer), is_english(prompt)  # None where it cannot be told
    if True not in are_english and False in are_english:
        return Verdict(None, None, "the conversation is not in English")
    if share_repeated(turn_words) > settings["repeated"]:
        return Verdict("degenerate", "most word triples repeat earlier ones")
    if CONTROL_TOKEN.search(turn) or ROLE_NAME.match(turn):
        return Verdict("assistant_turn_restate", "the turn holds a role marker")
    if is_english(bare) is False:
        return Verdict(None, None, "the turn is not in English")
    if is_code(turn):
        return Verdict(None, None, "the turn is code only")
    meant = content_words(turn_words)
    telling = [word for word in meant if word not in EMPTY_WORDS]
    both = vocabulary(prompt), vocabulary(answer)
    read = Turn(bare, turn_words, meant, telling, *both, answer, settings)
    return _restated(read) or _empty(read) or _reacting(read)


def _restated(turn: Turn) -> Verdict | None:
    if share_contained(turn.meant, turn.asked) >= turn.settings["restated"]:
        return Verdict("prompt_restate", "nearly all content words stand in the prompt")
    if OBJECTION.match(turn.text):
        return Verdict(GENUINE, "the turn says what the answer did")
    if ASSISTANT_OPENING.match(turn.text) or OFFER.search(turn.text):
        return Verdict("assistant_turn_restate", "the turn opens or offers as an assistant does")
    is_brief = len(turn.words) <= BRIEF and QUESTION_WORD.match(turn.text) is not None
    asks = "?" in turn.text or is_brief
    why = _put_together(turn, asks)
    quotes = asks and turn.settings.get("arguable")
    return Verdict(ARGUABLE if quotes else "assistant_turn_restate", why) if why else None


def _speaks(turn: Turn) -> bool:
    """Return whether a turn says I, my or we and the answer does not, so that a user speaks."""
    says_i = not FIRST_PERSON.isdisjoint(turn.words)
    return says_i and FIRST_PERSON.isdisjoint(words(turn.answer))


def _put_together(turn: Turn, asks: bool) -> str | None:
    is_in_answer = share_contained(turn.meant, turn.answered) >= turn.settings["restated"]
    if is_in_answer and not asks and not _speaks(turn):
        return "nearly all content words stand in the answer"
    if (
        len(turn.meant) >= SEVERAL
        and share_contained(turn.meant, turn.asked | turn.answered) >= COPIED
    ):
        return "nearly all content words stand in prompt or answer"
    if len(turn.words) < MANY:
        return None
    if not asks and FIRST_PERSON.isdisjoint(turn.words[:MANY]):
        return "a long statement in nobody's voice"
    if share_contained(pairs_of(turn.words), pairs(turn.answer)) >= IN_PAIRS:
        return "many pairs of words stand in the answer"
    return None


def _empty(turn: Turn) -> Verdict | None:
    """Return the verdict on a turn that could follow any answer, or None."""
    is_polite = PLEASANTRY.match(turn.text) is not None
    if not turn.telling or (is_polite and not share_contained(turn.meant, turn.answered)):
        return Verdict("generic", "nothing in the turn is about this answer")
    return None


def _reacting(turn: Turn) -> Verdict:
    overlap = share_contained(turn.telling, turn.asked | turn.answered)
    old = share_contained(turn.telling, turn.asked)
    new = share_contained(turn.telling, turn.answered - turn.asked)
    n_words = len(turn.words)
    opens_back = OPENS_BACK.search(turn.text) is not None
    if old >= HALF and old > new and not opens_back:
        return Verdict("prompt_restate", "most content words stand in the prompt")
    if new >= turn.settings["grounded"]:
        return Verdict(GENUINE, "the turn takes up words that the answer brought in")
    points_back = overlap > 0 and REFERS_BACK.search(turn.text) is not None
    if (opens_back and n_words <= MANY) or (points_back and n_words <= FEW):
        label = ARGUABLE if turn.settings.get("arguable") else GENUINE
        return Verdict(label, "the turn refers back to the answer")
    if not overlap:
        return Verdict("unrelated", "no content word stands in prompt or answer")
    return Verdict("generic", "the turn takes up nothing that the answer brought in")


def complete(entry: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entry unchanged, since this kind has no defaults."""
    return dict(entry)


def check(where: str, entry: Mapping[str, Any], config: Config) -> None:
    """Do nothing, since the schema checks all keys of this kind."""


def identity(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return the whole entry and the version of the rules."""
    return {"version": VERSION, **entry}


def price(entry: Mapping[str, Any], n_calls: float, n_tokens: float) -> tuple[float, float]:
    """Return zeros, since this kind is free."""
    return 0.0, 0.0


def judge_turns(judge: "Judge", turns: Sequence[UserTurn], paid_by: str) -> list[Verdict]:
    """Return the verdict on each turn by its words."""
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
    """Return the verdict on each turn of a cell, computed anew."""
    return [
        Verdict(None, None) if turn is None else judge_by_words(*turn, judge.settings)
        for turn in cell.user_turns()
    ]

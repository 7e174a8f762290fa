"""The contexts after which a turn is scored: its own, distractors of its length, and reactions.

A turn's own context is a prompt (messages that end in the user's) and an answer. Its distractors
are other conversations of the same dataset: `other_answer` puts their answer after the turn's own
prompt, `other_conversation` takes them whole, and `assistant_header` is the turn's own context
with the assistant's header in place of the user's. `prompt` is the prompt alone, for an answer.
`ending` is a context after which the end of the turn is scored in place of the turn.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import polars as pl

from userturn.datasets.messages import Message, ShownAnswer, opening
from userturn.sources.candidates import CORRECTION, KINDS, SATISFACTION
from userturn.stats.rng import generator
from userturn.storage.hashing import fingerprint

OWN, OTHER_ANSWER, OTHER_CONVERSATION, ASSISTANT_HEADER = (
    "own",
    "other_answer",
    "other_conversation",
    "assistant_header",
)
PROMPT, ENDING = "prompt", "ending"
NO_ANSWER = ShownAnswer("")
CANDIDATES_PER_DISTRACTOR = 4  # each distractor is drawn from this many of the nearest in length


@dataclass(frozen=True)
class Exchange:
    """A conversation up to an answer, and the turn that somebody wrote after it.

    Attributes:
        item: id of the item in its dataset.
        prompt: messages before the answer, the last one the user's.
        answer: the answer to which the turn reacts.
        turn: text of the turn.
    """

    item: str
    prompt: tuple[Message, ...]
    answer: ShownAnswer
    turn: str

    @cached_property
    def conversation(self) -> str:
        """The id of the conversation: a hash of its first user message."""
        return fingerprint(opening(self.prompt))[:16]


class Context(NamedTuple):
    """A context after which a turn is scored.

    Attributes:
        kind: `own`, `other_answer`, `other_conversation`, `assistant_header`, `prompt` or `ending`,
            or the name of the fixed turn that is scored after the answer.
        distractor: the item of the other answer or conversation, None for the turn's own.
        prompt: messages before the answer.
        answer: the last message before the turn; empty for `prompt`.
    """

    kind: str
    distractor: str | None
    prompt: tuple[Message, ...]
    answer: ShownAnswer


def human_exchanges(items: pl.DataFrame) -> list[Exchange]:
    """Return the reference follow-ups of a prepared dataset, in its order."""
    found = items.drop_nulls("reference_user_turn").select(
        "item", "reference_context", "reference_user_turn"
    )
    return [
        Exchange(item, tuple(context[:-1]), ShownAnswer(context[-1]["content"]), turn)
        for item, context, turn in found.iter_rows()
        if turn.strip() and context[-1]["content"].strip()
    ]


def draw_distractors(
    exchanges: Sequence[Exchange], n_distractors: int, seed: int
) -> dict[str, list[Exchange]]:
    """Return the distractors of each exchange, by its item.

    They are drawn without replacement from the `4 n` exchanges of other conversations whose answers
    are nearest in number of characters and differ from its own and one another. A small dataset
    gives fewer. The draw does not depend on the model, so all models get the same contexts.
    """
    of_length: dict[int, list[Exchange]] = {}
    for exchange in exchanges:
        of_length.setdefault(len(exchange.answer.text), []).append(exchange)
    lengths, drawn = sorted(of_length), {}
    for exchange in exchanges:
        near = []
        for distance in _by_distance(lengths, len(exchange.answer.text)):
            near += _others(exchange, [e for length in distance for e in of_length[length]])
            if len(near) >= CANDIDATES_PER_DISTRACTOR * n_distractors:
                break
        near = near[: CANDIDATES_PER_DISTRACTOR * n_distractors]
        random = generator(seed, "distractors", exchange.item)
        chosen = random.permutation(len(near))[:n_distractors]
        drawn[exchange.item] = [near[i] for i in chosen]
    return drawn


def _by_distance(lengths: Sequence[int], length: int) -> Iterator[list[int]]:
    """Yield sorted lengths by their distance from one of them; two are equally far at most."""
    shorter, longer = bisect_left(lengths, length) - 1, bisect_left(lengths, length)
    while shorter >= 0 or longer < len(lengths):
        below = length - lengths[shorter] if shorter >= 0 else None
        above = lengths[longer] - length if longer < len(lengths) else None
        nearest = min(d for d in (below, above) if d is not None)
        found = []
        if below == nearest:
            found.append(lengths[shorter])
            shorter -= 1
        if above == nearest:
            found.append(lengths[longer])
            longer += 1
        yield found


def _others(exchange: Exchange, candidates: Sequence[Exchange]) -> list[Exchange]:
    """Return exchanges of other conversations with other answers, one of each, by a hash."""
    others: dict[str, Exchange] = {}
    for other in candidates:
        is_other = other.answer.text != exchange.answer.text
        if is_other and other.conversation != exchange.conversation:
            others.setdefault(other.answer.text, other)
    return sorted(others.values(), key=lambda other: fingerprint(other.item))


def ending_of(exchange: Exchange) -> Context:
    """Return the context of a turn's end at once: its own, without the turn."""
    return Context(ENDING, None, exchange.prompt, exchange.answer)


def human_contexts(exchange: Exchange, distractors: Sequence[Exchange]) -> list[Context]:
    """Return all contexts of a reference follow-up; those with a common beginning are adjacent."""
    own = (exchange.prompt, exchange.answer)
    return [
        Context(OWN, None, *own),
        Context(ASSISTANT_HEADER, None, *own),
        *(Context(OTHER_ANSWER, d.item, exchange.prompt, d.answer) for d in distractors),
        *(Context(OTHER_CONVERSATION, d.item, d.prompt, d.answer) for d in distractors),
    ]


def own_contexts(exchange: Exchange, distractors: Sequence[Exchange]) -> list[Context]:
    """Return the contexts of a model's own turn: its own answer, and its answers to other items."""
    prompt = exchange.prompt
    others = [Context(OTHER_ANSWER, d.item, prompt, d.answer) for d in distractors]
    return [Context(OWN, None, prompt, exchange.answer), *others]


LOG_ODDS, LOG_PROBABILITY = "satisfaction over correction", "mean log-probability"
CONTINGENCY = "contingency"
SIGNALS = (LOG_ODDS, *KINDS, CONTINGENCY, LOG_PROBABILITY)
CANDIDATE = ["model", "dataset", "item", "sample"]


def reaction_signals(scores: pl.DataFrame) -> pl.DataFrame:
    """Return what reactions say of each candidate, larger for a better one.

    `satisfaction` is the log-likelihood of any of its turns, log Σ p, and `correction` the negative
    of that of a correction. Their sum `satisfaction over correction` is the log-odds that a user
    who says one of these turns says a satisfied one. All in nats. `contingency` is the gain of a
    token of the model's own turn after the candidate over the mean after answers to other items
    (`likelihood.gains`), and `mean log-probability` is that of a token of the candidate itself
    after its prompt. A signal is null where one of its scores is, contingency where all others are.

    Args:
        scores: a table of scores of reactions (`likelihood.collect.SCORES_SCHEMA`).

    Returns:
        One row per candidate: the columns `CANDIDATE`, and one for each signal.
    """
    kind = pl.col("context").str.split(" ").list.first()
    ordered = scores.with_columns(kind=kind).sort(*CANDIDATE, "context")
    score, length = pl.col("logprob"), pl.col("n_tokens")

    def any_of(name: str) -> pl.Expr:
        mine = score.filter(pl.col("kind") == name)
        is_known = (mine.null_count() == 0) & (mine.len() > 0)
        most = mine.max()
        return pl.when(is_known).then(most + (mine - most).exp().sum().log())

    def a_token(context: str) -> pl.Expr:
        return (score / length).filter(pl.col("kind") == context)

    return (
        ordered.group_by(CANDIDATE, maintain_order=True)
        .agg(
            any_of(SATISFACTION).alias(SATISFACTION),
            -any_of(CORRECTION).alias(CORRECTION),
            (a_token(OWN).first() - a_token(OTHER_ANSWER).sort().mean()).alias(CONTINGENCY),
            a_token(PROMPT).first().alias(LOG_PROBABILITY),
        )
        .with_columns((pl.col(SATISFACTION) + pl.col(CORRECTION)).alias(LOG_ODDS))
    )

"""Scoring requests: a turn, and the contexts after which it is scored.

A turn's own context is a prompt (messages that end in the user's) and an answer. Its distractors
are other conversations of the same dataset: `other_answer` puts their answer after the turn's own
prompt, `other_conversation` takes them whole, and `assistant_header` is the turn's own context
with the assistant's header in place of the user's. `prompt` is the prompt alone, for an answer.
`ending` is a context after which the end of the turn is scored in place of the turn.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import merge
from itertools import groupby
from typing import Any, NamedTuple

import polars as pl

from userturn.datasets.messages import Message, ShownAnswer, opening
from userturn.models.requests import ScoringRequest, scoring_request
from userturn.prompts.chat_template import Template, TemplateError
from userturn.prompts.header import SHARED
from userturn.prompts.turn_ends import turn_ends
from userturn.stats.rng import generator
from userturn.storage.hashing import fingerprint
from userturn.storage.table_files import Schema
from userturn.study.asks import Asks

TURN_SCHEMA: Schema = {
    "item": pl.String,
    "conversation": pl.String,
    "temperature": pl.Float64,
    "perturbation": pl.String,
    "sample": pl.Int64,
}
SCORING_PLAN_SCHEMA: Schema = {
    "position": pl.Int64,
    **TURN_SCHEMA,
    "context": pl.String,
    "distractor": pl.String,
    "n_characters": pl.Int64,
    "key": pl.String,
    "token_ids": pl.List(pl.Int32),
    "n_context": pl.Int64,
    "token_texts": pl.List(pl.String),
    "error": pl.String,
    "ask": pl.String,
    "asked_as": pl.String,
}
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

    The last message before the answer is the user's.
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
        answer: empty for `prompt`.
    """

    kind: str
    distractor: str | None
    prompt: tuple[Message, ...]
    answer: ShownAnswer


def human_exchanges(items: pl.DataFrame) -> list[Exchange]:
    """Return the reference follow-ups of a prepared dataset, in its order."""
    exchanges = items.drop_nulls("reference_user_turn").select(
        "item", "reference_context", "reference_user_turn"
    )
    return [
        Exchange(item, tuple(context[:-1]), ShownAnswer(context[-1]["content"]), turn)
        for item, context, turn in exchanges.iter_rows()
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
    lengths, distractors = sorted(of_length), {}
    for exchange in exchanges:
        near = []
        for distance in _lengths_by_distance(lengths, len(exchange.answer.text)):
            near += _others(exchange, [e for length in distance for e in of_length[length]])
            if len(near) >= CANDIDATES_PER_DISTRACTOR * n_distractors:
                break
        near = near[: CANDIDATES_PER_DISTRACTOR * n_distractors]
        random = generator(seed, "distractors", exchange.item)
        chosen = random.permutation(len(near))[:n_distractors]
        distractors[exchange.item] = [near[i] for i in chosen]
    return distractors


def _lengths_by_distance(lengths: Sequence[int], length: int) -> Iterator[list[int]]:
    """Yield sorted lengths by their distance from one of them, with equal distances together."""

    def distance(other: int) -> int:
        return abs(other - length)

    at = bisect_left(lengths, length)
    nearest_first = merge(reversed(lengths[:at]), lengths[at:], key=distance)
    return ([*equally_far] for _, equally_far in groupby(nearest_first, distance))


def _others(exchange: Exchange, candidates: Sequence[Exchange]) -> list[Exchange]:
    """Return exchanges of other conversations, one per different answer, in the order of a hash."""
    others: dict[str, Exchange] = {}
    for other in candidates:
        is_other = other.answer.text != exchange.answer.text
        if is_other and other.conversation != exchange.conversation:
            others.setdefault(other.answer.text, other)
    return sorted(others.values(), key=lambda other: fingerprint(other.item))


def ending_of(exchange: Exchange) -> Context:
    """Return the context in which an immediate end, a turn without text, is scored."""
    return Context(ENDING, None, exchange.prompt, exchange.answer)


def human_contexts(exchange: Exchange, distractors: Sequence[Exchange]) -> list[Context]:
    """Return all contexts of a reference follow-up, with common beginnings side by side."""
    own, *others = own_contexts(exchange, distractors)
    return [
        own,
        own._replace(kind=ASSISTANT_HEADER),
        *others,
        *(Context(OTHER_CONVERSATION, d.item, d.prompt, d.answer) for d in distractors),
    ]


def own_contexts(exchange: Exchange, distractors: Sequence[Exchange]) -> list[Context]:
    """Return the contexts of a model's own turn, with its answers to this and to other items."""
    prompt = exchange.prompt
    others = [Context(OTHER_ANSWER, d.item, prompt, d.answer) for d in distractors]
    return [Context(OWN, None, prompt, exchange.answer), *others]


REPLACEMENT = "\ufffd"  # what a decoder writes for a part of a character


class TurnTokens(NamedTuple):
    """A conversation in tokens, ending in a turn without its end-of-turn token.

    The context's tokens, up to the end of the header, are the first `n_context`.
    """

    token_ids: tuple[int, ...]
    n_context: int


def turn_tokens(template: Template, context: Context, turn: str) -> TurnTokens:
    """Return the tokens of a turn after a context, under the user's or the assistant's header.

    After the context `prompt` the turn is an answer, begun as the model begins one.

    White space at the ends of the turn is left out, as most templates do. The end-of-turn token is
    not scored, because stopping is not part of what was said. After the context `ending` only that
    token is scored: the one with which the template goes on after a user's text.

    Raises:
        TemplateError: the template refuses the context, or the context's tokens are not a prefix of
            the whole, or the template ends a user turn by no token.
    """
    if context.kind == ENDING:
        return _ended(template, context)
    if context.kind in (ASSISTANT_HEADER, PROMPT):
        answered = [context.answer.message()] if context.kind == ASSISTANT_HEADER else []
        messages: list[Message] = [*context.prompt, *answered]
        literals, contents = template.split(messages, add_generation_prompt=True)
        rest = ""
    else:
        literals, contents = template.probe_parts(context.prompt, *context.answer)
        rest = template.left_to_the_model
        if template.header_extent != SHARED:  # the rest of the header is then no part of the turn
            literals, rest = [*literals[:-1], literals[-1] + rest], ""
    return _turn_tokens(template, literals, contents, rest, turn.strip())


def _ended(template: Template, context: Context) -> TurnTokens:
    literals, contents = template.probe_parts(context.prompt, *context.answer)
    ends = turn_ends(template)
    if not ends:
        raise TemplateError(
            "the template ends a user turn by a text, and not by a token of its own"
        )
    header = literals[-1] + template.left_to_the_model
    tokens = template.encoder.encode([*literals[:-1], header], contents)
    return TurnTokens((*tokens, ends[0]), len(tokens))


def _turn_tokens(
    template: Template, literals: Sequence[str], contents: Sequence[str], rest: str, turn: str
) -> TurnTokens:
    tokens = template.encoder.encode(literals, contents)
    whole = template.encoder.encode([*literals[:-1], literals[-1] + rest, ""], [*contents, turn])
    if whole[: len(tokens)] != tokens or len(whole) == len(tokens):
        raise TemplateError(
            "the tokens of the context do not begin those of context and turn; leave that item out"
        )
    return TurnTokens(tuple(whole), len(tokens))


def token_texts(template: Template, token_ids: Sequence[int]) -> list[str]:
    """Return the text that each token adds, so that the texts joined are the whole text.

    A token that holds only a part of a character adds "", and the last part adds the character.
    Each token is decoded after the one before it, since some tokenizers write white space between.
    """
    texts: list[str] = []
    start = decoded = 0  # tokens from `start` on are decoded; those before `shown` were shown
    for end in range(1, len(token_ids) + 1):
        text = template.decode(token_ids[start:end])
        if text.endswith(REPLACEMENT) and end < len(token_ids):
            texts.append("")
            continue
        texts.append(text[len(template.decode(token_ids[start:decoded])) :])
        start, decoded = decoded, end
    return texts


class TurnToScore(NamedTuple):
    """A turn in its own conversation, and the contexts after which it is scored.

    `cell` has those of temperature, perturbation and sample that apply: none for a person's turn.
    """

    exchange: Exchange
    contexts: list[Context]
    cell: Mapping[str, Any]


@dataclass(frozen=True)
class Scorer:
    """A maker of the scoring requests of one model and dataset."""

    identity: Mapping[str, Any]
    template: Template
    max_model_len: int
    dataset: str
    asks: Asks

    def rows(self, turns: Iterable[TurnToScore]) -> Iterator[dict[str, Any]]:
        """Yield a plan's rows (`SCORING_PLAN_SCHEMA`), one per turn and context.

        Only the row of a turn's own context has the texts of its tokens.
        """
        for named, exchange, context in named_rows(turns):
            yield named | self._asked(exchange, context)

    def _asked(self, exchange: Exchange, context: Context) -> dict[str, Any]:
        names = {"ask": self.ask(exchange, context), "asked_as": self.dataset}
        try:
            request = self._request(exchange, context)
        except TemplateError as error:
            return {"error": str(error), **names}
        return {
            **names,
            "key": request.key,
            "token_ids": request.token_ids,
            "n_context": request.n_context,
            "token_texts": self._texts(request) if context.kind == OWN else None,
        }

    def ask(self, exchange: Exchange, context: Context) -> str:
        """Return the ask of the score of a turn after a context."""
        kind = context.kind if context.kind in (ASSISTANT_HEADER, ENDING, PROMPT) else ""
        return self.asks.score(kind, context.prompt, context.answer, exchange.turn)

    def _texts(self, request: ScoringRequest) -> list[str]:
        return token_texts(self.template, request.token_ids[request.n_context :])

    def _request(self, exchange: Exchange, context: Context) -> ScoringRequest:
        ids, n_context = turn_tokens(self.template, context, exchange.turn)
        if len(ids) >= self.max_model_len:  # engines must write one more token
            raise TemplateError(
                f"context and turn need {len(ids)} tokens, max_model_len is {self.max_model_len}"
            )
        return scoring_request(self.identity, self.dataset, exchange.item, ids, n_context)


def named_rows(turns: Iterable[TurnToScore]) -> Iterator[tuple[dict[str, Any], Exchange, Context]]:
    """Yield each turn and context, with the plan's columns that need no template."""
    every = ((turn, context) for turn in turns for context in turn.contexts)
    for position, ((exchange, _, cell), context) in enumerate(every):
        named = {
            "position": position,
            "item": exchange.item,
            "conversation": exchange.conversation,
            "n_characters": len(exchange.turn.strip()),
            **cell,
            "context": context.kind,
            "distractor": context.distractor,
        }
        yield named, exchange, context

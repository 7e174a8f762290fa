"""Plans of scoring: a table beside the journal, one row per turn and context."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from userturn.datasets.messages import Message
from userturn.generation.likelihood_contexts import (
    ASSISTANT_HEADER,
    ENDING,
    OWN,
    PROMPT,
    Context,
    Exchange,
)
from userturn.models.requests import ScoringRequest, scoring_request
from userturn.prompts.chat_template import Template, TemplateError
from userturn.prompts.header import SHARED
from userturn.prompts.turn_ends import turn_ends
from userturn.storage.hashing import fingerprint
from userturn.storage.table_files import PLAN_SLICE, Schema, slices, table_writer
from userturn.study.asks import Asks, scan_plans

REPLACEMENT = "\ufffd"  # what a decoder writes for a part of a character


class TurnTokens(NamedTuple):
    """A conversation in tokens, ending in a turn without its end-of-turn token.

    Attributes:
        token_ids: token ids of the context to the end of the header, then of the turn.
        n_context: number of the context's tokens.
    """

    token_ids: tuple[int, ...]
    n_context: int


def turn_tokens(template: Template, context: Context, turn: str) -> TurnTokens:
    """Return the tokens of a turn after a context, under the user's or the assistant's header.

    After the context `prompt` the turn is an answer, as the model begins one.

    White space at the ends of the turn is left out, as most templates do. The end-of-turn token is
    not scored, because stopping is not part of what was said. After the context `ending` it alone
    is: the token with which the template goes on after a user's text.

    Raises:
        TemplateError: the template refuses the context, or the context's tokens are not a prefix of
            the whole, or the template ends a user turn by no token.
    """
    if context.kind == ENDING:
        return _ended(template, context)
    if context.kind in (ASSISTANT_HEADER, PROMPT):
        answered = [context.answer.message()] if context.kind == ASSISTANT_HEADER else []
        said: list[Message] = [*context.prompt, *answered]
        literals, contents = template.split(said, add_generation_prompt=True)
        rest = ""
    else:
        literals, contents = template.probe_parts(context.prompt, *context.answer)
        rest = template.left_to_the_model
        if template.header_form != SHARED:  # what the model itself writes of it is no turn
            literals, rest = [*literals[:-1], literals[-1] + rest], ""
    return _after(template, literals, contents, rest, turn.strip())


def _ended(template: Template, context: Context) -> TurnTokens:
    literals, contents = template.probe_parts(context.prompt, *context.answer)
    ends = turn_ends(template)
    if not ends:
        raise TemplateError(
            "the template ends a user turn by a text, and not by a token of its own"
        )
    header = literals[-1] + template.left_to_the_model
    shown = template.encoder.encode([*literals[:-1], header], contents)
    return TurnTokens((*shown, ends[0]), len(shown))


def _after(
    template: Template, literals: Sequence[str], contents: Sequence[str], rest: str, turn: str
) -> TurnTokens:
    shown = template.encoder.encode(literals, contents)
    whole = template.encoder.encode([*literals[:-1], literals[-1] + rest, ""], [*contents, turn])
    if whole[: len(shown)] != shown or len(whole) == len(shown):
        raise TemplateError(
            "the tokens of the context do not begin those of context and turn; leave that item out"
        )
    return TurnTokens(tuple(whole), len(shown))


def token_texts(template: Template, token_ids: Sequence[int]) -> list[str]:
    """Return the text that each token adds to those before it; joined, they are the whole text.

    A token that holds only a part of a character adds nothing; the last part adds the character.
    Each token is decoded after the one before it, since some tokenizers write white space between.
    """
    texts: list[str] = []
    start = shown = 0  # tokens from `start` on are decoded; those before `shown` were shown
    for end in range(1, len(token_ids) + 1):
        text = template.decode(token_ids[start:end])
        if text.endswith(REPLACEMENT) and end < len(token_ids):
            texts.append("")
            continue
        texts.append(text[len(template.decode(token_ids[start:shown])) :])
        start, shown = shown, end
    return texts


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


class TurnToScore(NamedTuple):
    """A turn and the contexts after which it is scored.

    Attributes:
        exchange: the turn in its own conversation.
        contexts: the contexts after which it is scored.
        cell: temperature, perturbation and sample of a model's own turn; empty for a human's.
    """

    exchange: Exchange
    contexts: list[Context]
    cell: Mapping[str, Any]


@dataclass(frozen=True)
class Scorer:
    """Makes the scoring requests of one model and dataset.

    Attributes:
        identity: the part of model and engine that enters the identity of a request.
        template: renders contexts and turns.
        max_model_len: the largest number of tokens in a conversation.
        dataset: name of the turns' dataset, in keys.
        asks: tells what its requests ask for.
    """

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
        """Return what the score of a turn after a context asks for."""
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


def named_rows(
    turns: Iterable[TurnToScore],
) -> Iterator[tuple[dict[str, Any], Exchange, Context]]:
    """Yield what a plan's rows say of turns and contexts, which needs no template, with both."""
    position = 0
    for turn in turns:
        for context in turn.contexts:
            asked = {"context": context.kind, "distractor": context.distractor}
            yield {"position": position, **_named(turn), **asked}, turn.exchange, context
            position += 1


def _named(turn: TurnToScore) -> dict[str, Any]:
    exchange = turn.exchange
    return {
        "item": exchange.item,
        "conversation": exchange.conversation,
        "n_characters": len(exchange.turn.strip()),
        **turn.cell,
    }


def write_scoring_plan(
    turns: Iterable[TurnToScore], scorer: Scorer, path: Path, identity: str
) -> None:
    """Write a plan a few rows at a time; its metadata hold its model's identity."""
    noted = fingerprint(scorer.identity)
    with table_writer(SCORING_PLAN_SCHEMA, path, identity, model=noted) as write:
        for rows in _batches(scorer.rows(turns)):
            write(pl.DataFrame(rows, schema=SCORING_PLAN_SCHEMA))


def _batches(rows: Iterator[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    while part := list(islice(rows, PLAN_SLICE)):
        yield part


@dataclass(frozen=True)
class ScoringPlan:
    """A plan on disk.

    Attributes:
        path: path of its table.
        dataset: name of its dataset.
    """

    path: Path
    dataset: str

    def requests(self) -> Iterator[tuple[int, ScoringRequest]]:
        """Yield position and request of every row that has one, in order."""
        asked = ["position", "key", "item", "token_ids", "n_context", "ask", "asked_as"]
        for part in slices(scan_plans([self.path]).select(asked), PLAN_SLICE):
            for position, key, item, ids, n, *names in part.drop_nulls("key").iter_rows():
                yield position, ScoringRequest(key, self.dataset, item, tuple(ids), n, *names)

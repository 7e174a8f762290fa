"""Scores a few turns with an engine."""

from typing import Any

from tests.support.complete_once import requests
from userturn.datasets.messages import ShownAnswer
from userturn.generation.scorer import OWN, Context, turn_tokens
from userturn.models.requests import Engine, ScoringRequest, scoring_request
from userturn.prompts.chat_template import Template

QUESTION = ({"role": "user", "content": "How do I keep rice from sticking to the pot?"},)
ANSWERS = (
    "Rinse the rice until the water is clear, use a heavy pot, and let it rest for ten minutes.",
    "Take the bus to the main station and walk along the river for about a quarter of an hour.",
)
TURNS = (
    "Does rinsing it wash out the vitamins?",
    "Does rinsing it wash out the starch, and how long should I let it rest before I serve it to "
    "people who like their rice loose?",
)


def scoring_requests(template: Template) -> list[ScoringRequest]:
    """Return turns after contexts that share much: prompts, answers, and the turns' own beginning.

    The second pair of requests begins with the whole of an earlier one, so that a cache of prefixes
    reaches into what is scored.
    """
    whole = [
        turn_tokens(template, Context(OWN, None, QUESTION, ShownAnswer(answer)), turn)
        for answer in ANSWERS
        for turn in TURNS
    ]
    made = [scoring_request({}, "d", "i", *tokens) for tokens in whole]
    later = [scoring_request({}, "d", "i", ids, n_context + 3) for ids, n_context in whole]
    return made + later


def score(generate: Engine, template: Template) -> dict[str, Any]:
    """Return the scores of each request by key, alone and beside requests that generate."""
    asked = scoring_requests(template)
    alone = {r.key: c.logprobs for r, c in filter(None, generate(asked))}
    mixed = [*requests(template)[:2], *asked]
    beside = {r.key: c.logprobs for r, c in filter(None, generate(mixed)) if c.logprobs}
    return {"alone": alone, "beside": beside, "n": len({r.key for r in asked})}

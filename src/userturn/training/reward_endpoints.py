"""The endpoints that a recipe asks while it trains: rewards and the simulated user."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace

from userturn.endpoints.http_errors import EndpointError
from userturn.errors import UserError
from userturn.judges.chat_endpoint import ChatEndpoint
from userturn.judges.endpoint_verdicts import open_endpoint
from userturn.judges.judge import Judge
from userturn.judges.parse_reply import Reply
from userturn.training.simulated_user import Conversation, Endpoints

INTERACTIVITY_SCHEMA = {
    "type": "object",
    "properties": {"thought": {"type": "string"}, "interactivity": {"type": "number"}},
    "required": ["thought", "interactivity"],
    "additionalProperties": False,
}


def _opened(judge: Judge, what: str) -> ChatEndpoint:
    """Return a judge's endpoint for one use, with the form of reply that this use needs."""
    n_at_once = judge.settings["concurrency"]
    endpoint = open_endpoint(judge, INTERACTIVITY_SCHEMA, n_at_once)
    return replace(endpoint, response_format=None) if what == "simulator" else endpoint


async def _all_replies(
    endpoint: ChatEndpoint, judge: Judge, asked: Sequence[Conversation], cell: str
) -> list[Reply]:
    limit = asyncio.Semaphore(judge.settings["concurrency"])

    async def one(messages: Conversation) -> Reply:
        async with limit:
            return await endpoint.complete([dict(m) for m in messages], account)

    with judge.account(cell) as account:
        async with endpoint:
            return list(await asyncio.gather(*map(one, asked)))


def training_endpoints(
    judges: Mapping[str, Judge], named: Mapping[str, str], model: str
) -> Endpoints:
    """Return the function that asks a recipe's endpoints.

    Training without a reward would learn something else, so the first question without a reply
    ends it.

    Args:
        judges: judges by name.
        named: the judge for each use, as `recipes.endpoints_of` returns it.
        model: name of the trained model, under which accounts count the requests.
    """

    def ask(what: str, asked: Sequence[Conversation]) -> list[Reply]:
        judge = judges[named[what]]
        try:
            return asyncio.run(
                _all_replies(_opened(judge, what), judge, asked, f"training/{model}")
            )
        except EndpointError as error:
            raise UserError(
                f"the endpoint '{judge.name}', asked for {what}, gave no reply ({error})"
            ) from None

    return ask

"""Ask the endpoints of a recipe: the simulated user, and the judge of interactivity."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace

from userturn.endpoints.budget import CapReachedError, cap_reached
from userturn.endpoints.http_replies import EndpointError, UnscoredError
from userturn.judges.endpoint_verdicts import open_endpoint
from userturn.judges.judge import Judge
from userturn.judges.parse_reply import Reply
from userturn.judges.session import ChatEndpoint
from userturn.training.kept_replies import Keep, KeptReplies
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


async def _ask_all(
    judge: Judge,
    what: str,
    paid_by: str,
    asked: Sequence[Conversation],
    missing: Sequence[int],
    keep: Keep,
) -> list[BaseException | None]:
    limit = asyncio.Semaphore(judge.settings["concurrency"])

    async def one(place: int) -> None:
        async with limit:
            try:
                reply = await endpoint.complete([dict(m) for m in asked[place]], account)
                keep(place, [reply.content, reply.refusal, reply.finish_reason])
            except UnscoredError as error:  # it will never answer this
                keep(place, [None, str(error), None])

    with judge.account(paid_by) as account:
        async with _opened(judge, what) as endpoint:
            return list(await asyncio.gather(*map(one, missing), return_exceptions=True))


def training_endpoints(
    judges: Mapping[str, Judge], named: Mapping[str, str], model: str, kept: KeptReplies
) -> Endpoints:
    """Return the function that asks a recipe's endpoints.

    What an endpoint refuses is a reply without content. Training without a reward would learn
    something else, so questions without a reply end it.

    Args:
        judges: judges by name.
        named: the judge for each use, as `recipes.endpoints_of` returns it.
        model: name of the trained model, under which accounts count the requests.
        kept: the replies that are paid for.
    """

    def ask(what: str, asked: Sequence[Conversation]) -> list[Reply]:
        judge = judges[named[what]]

        def ask_missing(missing: Sequence[int], keep: Keep) -> list[str]:
            ended = asyncio.run(_ask_all(judge, what, f"training/{model}", asked, missing, keep))
            for error in ended:
                if isinstance(error, CapReachedError):
                    raise cap_reached(f"{what} by '{judge.name}'", judge.cap)
                if error is not None and not isinstance(error, EndpointError):
                    raise error
            return [
                f"the endpoint '{judge.name}', asked for {what}, gave no reply ({error})"
                for error in ended
                if error is not None
            ]

        found = kept.replies(what, asked, ask_missing, judge.max_error_share)
        return [Reply(*(fields or (None, "no reply", None))) for fields in found]

    return ask

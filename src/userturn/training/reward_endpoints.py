"""Ask the endpoints of a recipe: the simulated user, and the judge of interactivity.

A reply that was paid for is kept, so that a killed training asks nothing twice.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from userturn.endpoints.budget import CapReachedError, cap_reached
from userturn.endpoints.http_replies import EndpointError, UnscoredError
from userturn.errors import UserError
from userturn.judges.endpoint_verdicts import open_endpoint
from userturn.judges.judge import Judge
from userturn.judges.parse_reply import Reply
from userturn.judges.session import ChatEndpoint
from userturn.storage.hashing import fingerprint
from userturn.storage.journal import Writer
from userturn.training.draws import notes_in
from userturn.training.simulated_user import Conversation, Endpoints

Keep = Callable[[int, Any], None]  # a question's position, and its reply or None
Ask = Callable[[Sequence[int], Keep], list[str]]
"""Asks the questions at some positions, keeps each reply at once, and returns the errors."""


class KeptReplies:
    """The paid replies of one training, by question."""

    def __init__(self, folder: Path) -> None:
        self._known: dict[str, Any] = {note["key"]: note["reply"] for note in notes_in(folder)}
        self._journal = Writer(folder)

    def replies(self, what: str, questions: Sequence[Any], ask: Ask, share: float) -> list[Any]:
        """Return the reply to each question, after asking those that have none yet.

        `what` names the use of the replies. Questions are JSON values, and equal ones in one call
        have a reply each. Errors up to `share` count as missing replies.

        Raises:
            UserError: all questions ended in errors, or more than one and more than that share.
        """
        seen: Counter[str] = Counter()
        keys = []
        for question in questions:
            key = fingerprint([what, question])
            keys.append(f"{key}-{seen[key]}")
            seen[key] += 1
        missing = [position for position, key in enumerate(keys) if key not in self._known]
        errors, n = [], len(questions)
        if missing:
            errors = ask(missing, lambda position, reply: self._keep(keys[position], reply))
        if errors and (len(errors) == n or len(errors) > max(1, share * n)):
            raise UserError(errors[0])
        for key in keys:
            if key not in self._known:
                self._keep(key, None)
        return [self._known[key] for key in keys]

    def _keep(self, key: str, reply: Any) -> None:
        self._known[key] = reply
        self._journal.append({"key": key, "reply": reply})


INTERACTIVITY_SCHEMA = {
    "type": "object",
    "properties": {"thought": {"type": "string"}, "interactivity": {"type": "number"}},
    "required": ["thought", "interactivity"],
    "additionalProperties": False,
}


def _opened(judge: Judge, what: str) -> ChatEndpoint:
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

    async def one(position: int) -> None:
        async with limit:
            try:
                reply = await endpoint.complete([dict(m) for m in asked[position]], account)
                keep(position, [reply.content, reply.refusal, reply.finish_reason])
            except UnscoredError as error:  # it will never answer this
                keep(position, [None, str(error), None])

    with judge.account(paid_by) as account:
        async with _opened(judge, what) as endpoint:
            return list(await asyncio.gather(*map(one, missing), return_exceptions=True))


def training_endpoints(
    judges: Mapping[str, Judge], named: Mapping[str, str], paid_by: str, paid_replies: KeptReplies
) -> Endpoints:
    """Return the function that asks a recipe's endpoints.

    `named` has the judge for each use (`recipes.endpoints_of`), and `paid_by` the name under which
    accounts count the requests. A refused question has a reply without content. A training without
    a reward would learn something else, so questions without any reply end it.
    """

    def ask(what: str, asked: Sequence[Conversation]) -> list[Reply]:
        judge = judges[named[what]]

        def ask_missing(missing: Sequence[int], keep: Keep) -> list[str]:
            ended = asyncio.run(_ask_all(judge, what, paid_by, asked, missing, keep))
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

        replies = paid_replies.replies(what, asked, ask_missing, judge.max_error_share)
        return [Reply(*(fields or (None, "no reply", None))) for fields in replies]

    return ask

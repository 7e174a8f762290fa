"""The meaning of an endpoint's reply: its body, its errors, and the model that answered."""

import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from functools import cached_property
from typing import Any

SURROGATE = re.compile("[\\ud800-\\udfff]")


def replace_surrogates(text: str) -> str:
    """Return a text that can be written as UTF-8, with each lone surrogate as U+FFFD."""
    return SURROGATE.sub("\ufffd", text)


@dataclass(frozen=True)
class Received:
    """The body of a response, parsed and decoded once when first needed."""

    content: bytes

    @cached_property
    def parsed(self) -> Any:
        """The body's JSON value, or None if it is no JSON."""
        try:
            return json.loads(self.content)
        except (ValueError, RecursionError):
            return None

    @cached_property
    def text(self) -> str:
        """The body's text, with bytes that are not UTF-8 replaced."""
        return replace_surrogates(self.content.decode(errors="replace"))


# Why a judge gives no verdict: reasons in journals and tables.
REFUSED = "the judge refused"
TOO_LONG = "the conversation is longer than the judge's context"
CUT = "the server cut the conversation"
UNANSWERABLE = (REFUSED, TOO_LONG, CUT)  # faults of the question, not of the endpoint
LONGEST_RETRY_AFTER = 300.0  # seconds
BROKEN_AFTER = 20  # requests in a row without a usable reply
TRY_AGAIN = (408, 409, 425, 429)  # beside 5xx
BUSY = (408, 425, 429, 503, 529)
NO_MONEY = re.compile(
    r"insufficient_quota|billing_hard_limit|exceeded your current quota|credit balance is too low"
)
# Gemini's words for too many requests are OpenAI's for no money; this code is beside them.
TOO_FAST = "RESOURCE_EXHAUSTED"
WAIT = re.compile(
    r'"retryDelay"\s*:\s*"(\d+\.?\d*)s"|(?:try again|retry) (?:in|after) (\d+\.?\d*) ?s'
)
TOO_MANY_TOKENS = re.compile(
    r"context_length_exceeded|maximum context length|context (?:window|size|length)|"
    r"(?:prompt|input|request) is too long|too many (?:input )?tokens|"
    r"longer than the maximum model length|exceeds the maximum number of tokens",
    re.IGNORECASE,
)
# What providers say where their filter, and not the judge, refuses a conversation.
FILTERED = re.compile(
    r"content_filter|content_policy|content management policy|ResponsibleAIPolicy|invalid_prompt|"
    r"data_inspection_failed|prohibited_content|requires moderation|input was flagged",
    re.IGNORECASE,
)


class EndpointError(Exception):
    """A question that ended without a reply, for the reason in the error's text."""


class UnreachedError(EndpointError):
    """A request that never reached the endpoint in any attempt."""


class BusyError(EndpointError):
    """A request for which the endpoint was too busy in every attempt."""


class UnscoredError(EndpointError):
    """A question that the endpoint will never answer, for the reason `why` in the verdict."""

    def __init__(self, text: str, why: str) -> None:
        """Take the endpoint's message, and the reason why there is no verdict."""
        super().__init__(text)
        self.why = why


class RetriableError(Exception):
    """A request that may be sent again, at the earliest after `retry_after` seconds.

    Attributes:
        ends_as: class of the error after the last attempt.
    """

    ends_as: type[EndpointError] = EndpointError

    def __init__(self, reason: str, retry_after: float = 0.0) -> None:
        """Take the reason and the seconds to wait."""
        super().__init__(reason)
        self.retry_after = retry_after


class NotSentError(RetriableError):
    """A request that never reached the endpoint, and so cannot have been billed."""

    ends_as = UnreachedError


class TimedOutError(RetriableError):
    """A request without a complete reply in time, which may have been billed."""

    ends_as = BusyError


class TurnedAwayError(RetriableError):
    """A request that the endpoint was too busy to answer."""

    ends_as = BusyError


def why_unscored(text: str) -> str | None:
    """Return why an endpoint will never answer a question, from its error, or None if it may."""
    if TOO_MANY_TOKENS.search(text):
        return TOO_LONG
    return REFUSED if FILTERED.search(text) else None


def lacks_money(text: str) -> bool:
    """Return whether an endpoint's error says that the account has no money left."""
    return NO_MONEY.search(text) is not None and TOO_FAST not in text


def error_of(status: int, whole: str, shown: str, retry_after: float = 0.0) -> Exception:
    """Return the exception to raise for an endpoint's error.

    `whole` is the endpoint's text, `shown` the same text short and without the API key, and
    `retry_after` the seconds that the endpoint asks to wait.
    """
    has_money = not lacks_money(whole)
    if (status in TRY_AGAIN and has_money) or status >= 500:
        return (TurnedAwayError if status in BUSY else RetriableError)(shown, retry_after)
    why = why_unscored(whole) if has_money and status not in (401, 402, 404) else None
    return EndpointError(shown) if why is None else UnscoredError(shown, why)


def error_in(received: Received) -> tuple[int, str] | None:
    """Return (status, text) of an error that a gateway sent with status 200, or None.

    The error stands in place of the choices, beside them, or (OpenRouter) in the first choice.
    """
    parsed = received.parsed
    if isinstance(parsed, list) and parsed:
        parsed = parsed[0]  # Gemini's errors are in a list
    choices = parsed.get("choices") if isinstance(parsed, dict) else None
    places = [parsed, *(choices[:1] if isinstance(choices, list) else [])]
    errors = [part.get("error") for part in places if isinstance(part, dict)]
    error = next(filter(None, errors), None)
    if error is None:
        return None
    text = json.dumps(error, ensure_ascii=False)
    code = error.get("code") if isinstance(error, dict) else None
    unknown = 502 if why_unscored(text) is None and not lacks_money(text) else 400
    return int(str(code)) if re.fullmatch(r"[45]\d\d", str(code)) else unknown, text


def retry_after(headers: Mapping[str, str], text: str) -> float:
    """Return the seconds that an endpoint asks to wait, within bounds, or 0 if it does not ask.

    Headers come before the text of the error, in which Gemini and Azure ask.
    """
    for name, in_a_second in (("retry-after-ms", 1000), ("retry-after", 1)):
        try:
            seconds = float(headers.get(name, "")) / in_a_second
        except ValueError:
            seconds = _until(headers.get(name, ""))
        if seconds > 0:  # false for NaN
            return min(seconds, LONGEST_RETRY_AFTER)
    told = WAIT.search(text)
    return min(float(told[1] or told[2]), LONGEST_RETRY_AFTER) if told else 0.0


def _until(date: str) -> float:
    try:
        return parsedate_to_datetime(date).timestamp() - time.time()
    except (ValueError, TypeError, OverflowError):
        return 0.0


# What a provider adds to a name: a folder or vendor before it; after it the date or number of the
# current snapshot, or the service tier.
_BEFORE = re.compile(r".*/")
_AFTER = re.compile(
    r"(?:[-@]20\d\d-?\d\d-?\d\d|-\d{3,4}|-\d\d-\d\d(?:-\d{4})?|-v\d+|[-@]latest|-preview"
    r"|:[a-z]+)+$"
)


def _plain(name: str) -> str:
    """Return a model's name without vendor, snapshot and tier."""
    return _AFTER.sub("", _BEFORE.sub("", name.strip().lower()))


def is_other_model(asked: str, answered: str) -> bool:
    """Return whether two names belong to different models.

    A dated or latest snapshot of the requested name, and a name with or without its vendor, are the
    same model: `gpt-5.4-mini` and `openai/gpt-5.4-mini-2026-03-17`. Two dates are two models.
    """
    if _BEFORE.sub("", asked.lower()) == _BEFORE.sub("", answered.lower()):
        return False
    if _plain(asked) != _plain(answered):
        return True
    snapshots = [
        match[0] for name in (asked, answered) if (match := re.search(r"\d{3,}[\d-]*$", name))
    ]
    return len(set(snapshots)) == 2

"""Read a judge's reply strictly: a reply that is not clear counts as no decision."""

import json
import re
from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

from userturn.endpoints.http_replies import REFUSED, Received, replace_surrogates
from userturn.endpoints.usage import tokens_read, tokens_written, was_cut

# The whole text is one object, bare or in one code fence. A fence among other words may quote the
# judged turn, so it never counts.
FENCED = re.compile(r"```(?:json)?[ \t\r]*\n(.*)\n?```", re.DOTALL)
# Finish reasons, by the names of several providers; some add details after a colon.
REFUSING = ("content_filter", "refusal", "safety", "recitation", "prohibited_content", "blocklist")
TEXTS = ("text", "output_text")  # types of parts
CUT_OFF = ("length", "max_tokens", "model_length")
THOUGHT = re.compile(r"^\s*<think>.*?</think>", re.DOTALL)


class UnclearReplyError(ValueError):
    """A reply without a decision, for the reason in the message. A `final` one is not repaired."""

    def __init__(self, reason: str, final: bool = False) -> None:
        """Take the reason, and whether asking again is useless."""
        super().__init__(reason)
        self.final = final


class Reply(NamedTuple):
    """The reply to one request."""

    content: str | None  # the judge's text, or None
    refusal: str | None = None  # the judge's own words, if it refused
    finish_reason: str | None = None  # why it stopped
    raw: str = ""  # the raw reply, kept if no decision can be read
    model: str | None = None  # the endpoint's name of the model that answered, or None
    n_read: int | None = None  # tokens that the endpoint read by its own count, or None


def _parts(content: Any) -> tuple[list[str], list[str]]:
    """Return the texts and the refusals in a message's content of any documented shape.

    Content is a text, a part, or a list of these. A part has its text in `text`, or in `value`
    inside of that. Parts of reasoning, and of other kinds than text, are ignored.
    """
    if isinstance(content, str):
        return [content], []
    if isinstance(content, list):
        texts, refusals = zip(*map(_parts, content), strict=True) if content else ((), ())
        return [*chain(*texts)], [*chain(*refusals)]
    if not isinstance(content, dict):
        return [], []
    text, refusal = content.get("text"), content.get("refusal")
    text = text.get("value") if isinstance(text, dict) else text
    is_text = content.get("type", "text") in TEXTS
    own = [text] if is_text and isinstance(text, str) else []
    return own, [refusal] if isinstance(refusal, str) and refusal else []


def read_reply(received: Received) -> tuple[Reply, dict[str, Any]]:
    """Return the reply and the token usage in the body of a chat completion.

    Any other body gives a reply without content and an empty usage. The usage is also empty if it
    counts fewer written tokens than the text must have.
    """
    parsed = received.parsed
    try:
        choice = parsed["choices"][0]
        message = choice["message"]
        (texts, refusals), refusal = _parts(message.get("content")), message.get("refusal")
        usage = parsed.get("usage")
    except (LookupError, TypeError, AttributeError):
        return Reply(None, None, None, received.text), {}
    text = replace_surrogates("".join(texts)) if texts else None
    refusal = "".join(refusals) or refusal
    refusal_text = replace_surrogates(refusal) if isinstance(refusal, str) and refusal else None
    raw = text if text is not None else received.text
    model = parsed.get("model")
    name = replace_surrogates(model) if isinstance(model, str) and model else None
    usage = usage if isinstance(usage, dict) else {}
    n_read = tokens_read(usage)
    if was_cut(tokens_written(usage), [text or ""]):
        usage = {}
    return Reply(text, refusal_text, str(choice.get("finish_reason")), raw, name, n_read), usage


def _no_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise UnclearReplyError("a key stands twice in the object")
    return dict(pairs)


def _object(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_no_twins)
    except UnclearReplyError:
        raise
    except (ValueError, RecursionError):
        return None


def read_object(reply: Reply) -> dict[str, Any]:
    """Return the one JSON object of a reply.

    Raises:
        UnclearReplyError: the reply is a refusal, has no text or no single object, or was cut off.
    """
    why = (reply.finish_reason or "").lower().partition(":")[0]
    if reply.refusal is not None or why in REFUSING:
        raise UnclearReplyError(REFUSED, final=True)
    if why in CUT_OFF:
        raise UnclearReplyError("the reply was cut off at its length limit")
    if reply.content is None:
        raise UnclearReplyError("the reply has no content")
    text = THOUGHT.sub("", reply.content).strip()
    parsed = _object(text)
    if parsed is None and (fenced := FENCED.fullmatch(text)):
        parsed = _object(fenced[1])
    if not isinstance(parsed, dict):
        raise UnclearReplyError("the reply is not one JSON object")
    return parsed


def read_verdict(reply: Reply, labels: Sequence[str]) -> dict[str, str]:
    """Return label and rationale of a reply.

    The prompt also asks for the boolean `genuine`, which follows from the label and is ignored.

    Raises:
        UnclearReplyError: the reply does not clearly name one label.
    """
    fields = read_object(reply)
    if set(fields) | {"genuine"} != {"rationale", "label", "genuine"}:
        raise UnclearReplyError("the object's keys are not rationale, label and genuine")
    rationale, label = fields["rationale"], fields["label"]
    if not isinstance(rationale, str):
        raise UnclearReplyError("the rationale is not text")
    if label not in labels:
        raise UnclearReplyError("the label is none of the rubric's")
    return {"label": label, "rationale": rationale}

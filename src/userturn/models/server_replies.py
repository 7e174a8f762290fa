"""Ask a server, and read its reply strictly, so that one of another prompt or model is an error.

A turn that a fault changed would look like any other. So each reply is checked against its request:
which model answered, how many tokens it read, which tokens it wrote, and why it stopped.
"""

from collections.abc import Sequence
from math import inf
from typing import Any

from userturn.endpoints.budget import Account
from userturn.endpoints.http_replies import SURROGATE, is_other_model
from userturn.models.completion_endpoint import (
    CompletionEndpoint,
    Dialect,
    ServerReply,
    fields_of,
    scoring_fields,
)
from userturn.models.requests import (
    AnyRequest,
    Completion,
    Request,
    ScoringRequest,
    first_stop,
    scores,
)
from userturn.prompts.chat_template import Template

UNFINISHED = "�"  # half a character at the end of a text
# Tokens by which a server's count may differ from the tokenizer's for the same text, beside a
# quarter of them. Tokens that end a turn are counted by some servers and shown by none. Of 490
# answers and turns of the demo (SmolLM2-135M) none differed by more.
OTHER_SPLIT = 4
ROUNDING = 1e-6  # a log-likelihood may be above 0 by so much


class ReplyError(ValueError):
    """A reply that is refused, with the reason as its message."""


def check_model(reply: ServerReply, model: str, what: str = "completion") -> None:
    """Check that a reply can be read and is from the requested model, or raise ReplyError."""
    if not reply.choice:
        raise ReplyError(f"the reply is no {what}: {reply.raw!r}")
    if reply.model is not None and is_other_model(model, reply.model):
        raise ReplyError(f"asked for '{model}', and '{reply.model[:200]}' answered")


def text_and_end(reply: ServerReply) -> tuple[str, str]:
    """Return the text of a reply, and `stop` or `length`, or raise ReplyError."""
    reason, text = reply.choice["finish_reason"], reply.choice["text"]
    if not isinstance(text, str) or reason not in ("stop", "length"):
        raise ReplyError(f"finish_reason {reason!r}; expected stop or length")
    if SURROGATE.search(text):
        raise ReplyError("the reply's text has half a character")
    return text, reason


def check_reader(reply: ServerReply, model: str, prompt: Sequence[int], dialect: Dialect) -> None:
    """Check that the requested model has read the prompt that was sent, or raise ReplyError."""
    check_model(reply, model)
    n_read, read = reply.usage.get("prompt_tokens"), reply.choice.get("prompt_token_ids")
    if dialect.shows_prompt and read != list(prompt):
        raise ReplyError("the server says that it read other tokens than were sent")
    if n_read != len(prompt) and not (n_read is None and dialect.shows_prompt):
        raise ReplyError(f"the server read {n_read} tokens, and the prompt has {len(prompt)}")


def completion_of(
    request: Request, reply: ServerReply, dialect: Dialect, template: Template
) -> Completion:
    """Return the completion in a reply whose prompt was checked, or raise ReplyError."""
    text, reason = text_and_end(reply)
    if dialect.returns_ids:
        ids = _written(reply, dialect, len(template.tokenizer))
        _check_text(request, ids, text, template, dialect)
    else:
        ids = template.encoder.encode_whole(text)
        if template.decode(ids).strip() != text.strip():
            raise ReplyError("the tokenizer does not give the reply's text back")
        _check_length(request, len(ids), reply)
    ends = [n for n, i in enumerate(ids, 1) if i in request.sampling.stop_token_ids]
    if ends and not dialect.shows_prompt:  # such a server may not know all that ends a turn
        ids, reason = ids[: ends[0]], "stop"
    _check_end(request, ids, reason, reply, dialect, template)
    return Completion(tuple(ids), reason)


def _written(reply: ServerReply, dialect: Dialect, n_vocabulary: int) -> list[int]:
    """Return the written ids, or raise ReplyError if one is outside the vocabulary."""
    try:
        choice, by_token = reply.choice, dialect.ids_by == "logprobs"
        ids = [a["id"] for a in choice["logprobs"]["content"]] if by_token else choice["token_ids"]
    except (LookupError, TypeError):
        ids = None
    if not isinstance(ids, list) or not all(type(i) is int and 0 <= i < n_vocabulary for i in ids):
        raise ReplyError(
            f"the written token ids are not all within the vocabulary of {n_vocabulary}"
        )
    return ids


def _check_text(
    request: Request, ids: list[int], text: str, template: Template, dialect: Dialect
) -> None:
    """Check that ids and text of a reply say the same, except for white space at their ends."""
    ends, hidden = request.sampling.stop_token_ids, set(template.control_tokens.values())
    readings = [ids[:-1] if ids and ids[-1] in ends else ids]
    if dialect.ids_by == "logprobs":  # llama.cpp shows control tokens only if it is told to
        readings.append([i for i in ids if i not in hidden])
    stops, bare = request.sampling.stop_texts, _bare(text)
    says = [_bare(template.decode(reading)) for reading in readings]
    if not any(one.startswith(bare) if stops else one == bare for one in says):
        raise ReplyError("the written token ids decode to another text than the reply has")


def _bare(text: str) -> str:
    return text.strip().rstrip(UNFINISHED).strip()


def _check_length(request: Request, n_tokens: int, reply: ServerReply) -> None:
    """Check that a text has about as many tokens as the server says that it wrote.

    A text that begins with the prompt, or was cut on its way, has not.
    """
    told = reply.usage.get("completion_tokens")
    if told is None:
        return
    if type(told) is not int or told < 0:
        raise ReplyError(f"completion_tokens {told!r}; expected a number of tokens")
    longest_stop = max(map(len, request.sampling.stop_texts), default=0)
    if abs(told - n_tokens) > OTHER_SPLIT + told // 4 + longest_stop:
        raise ReplyError(f"the text has {n_tokens} tokens, and the server says it wrote {told}")


def _check_end(
    request: Request,
    ids: list[int],
    reason: str,
    reply: ServerReply,
    dialect: Dialect,
    template: Template,
) -> None:
    """Check that a turn ends where the request says, and nowhere else."""
    sampling = request.sampling
    n_written = len(ids) if dialect.returns_ids else reply.usage.get("completion_tokens")
    if n_written is not None and n_written > sampling.max_tokens + (not dialect.returns_ids):
        raise ReplyError(f"{n_written} tokens were written, max_tokens is {sampling.max_tokens}")
    if reason == "length" and n_written is not None and n_written < sampling.max_tokens:
        raise ReplyError(
            f"cut off after {n_written} tokens, max_tokens is {sampling.max_tokens}: the server "
            "has a limit of its own"
        )
    if not dialect.returns_ids:
        return
    ends = sampling.stop_token_ids
    if any(i in ends for i in ids[:-1]):
        raise ReplyError("the server went on after a token that ends the turn")
    stopped = bool(ids) and ids[-1] in ends
    stopped = stopped or first_stop(template.decode(ids), sampling.stop_texts) is not None
    if not dialect.shows_prompt and sampling.stop_texts:  # llama.cpp leaves the stop text out
        return
    if stopped != (reason == "stop") and not (stopped and len(ids) == sampling.max_tokens):
        last = template.decode(ids[-1:])
        raise ReplyError(f"it ended ({reason}) at {last!r}, which is not as this turn ends")


def scores_in(request: ScoringRequest, reply: ServerReply, dialect: Dialect) -> Completion:
    """Return the scores in a reply whose prompt was checked, or raise ReplyError."""
    logprobs = (_prompt_scores if dialect.scores_by == "prompt_logprobs" else _echoed)(
        request, reply
    )
    of_text = logprobs[request.n_context : len(request.token_ids)]
    n_expected = len(request.token_ids) - request.n_context
    are_numbers = all(type(one) in (int, float) and -inf < one <= ROUNDING for one in of_text)
    if len(of_text) != n_expected or not are_numbers:
        raise ReplyError(f"the reply has not {n_expected} log-likelihoods for {n_expected} tokens")
    return scores(float(score) for score in of_text)


def _prompt_scores(request: ScoringRequest, reply: ServerReply) -> list[Any]:
    """Return the score of each token of a prompt from vLLM's form, objects by token id."""
    listed = reply.choice.get("prompt_logprobs")
    try:
        both = zip(request.token_ids, listed or (), strict=True)
        return [one[str(token)]["logprob"] if one else None for token, one in both]
    except (LookupError, TypeError, ValueError) as error:
        raise ReplyError("the reply's prompt_logprobs are not those of the prompt") from error


def _echoed(request: ScoringRequest, reply: ServerReply) -> list[Any]:
    """Return the score of each token of an echoed prompt, and of the one written after it."""
    try:
        listed = list(reply.choice["logprobs"]["token_logprobs"])
    except (LookupError, TypeError) as error:
        raise ReplyError("the reply has no token_logprobs") from error
    if len(listed) - len(request.token_ids) not in (0, 1):
        raise ReplyError("the reply's token_logprobs are not as many as the prompt's tokens")
    return listed


async def ask(
    endpoint: CompletionEndpoint,
    request: AnyRequest,
    dialect: Dialect,
    template: Template,
    account: Account,
) -> Completion:
    """Return the completion of a request, from a reply that was checked.

    Raises:
        ReplyError, EndpointError: why there is none.
        CapReachedError: one more request could pass the hard cap.
    """
    if isinstance(request, ScoringRequest):
        ids, sent = request.token_ids, scoring_fields(request, dialect, template)
    else:
        ids, sent = request.prompt.token_ids, fields_of(request, dialect, template)
    reply = await endpoint.complete(sent, account)
    check_reader(reply, endpoint.settings["model"], ids, dialect)
    if isinstance(request, ScoringRequest):
        return scores_in(request, reply, dialect)
    return completion_of(request, reply, dialect, template)

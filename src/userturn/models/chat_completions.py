"""A model behind a chat API: messages in, one reply out.

A prompt is written with the stand-in's tokens (`config.formats`) and taken apart again into the
messages that are sent. The reply's text comes back as the stand-in's tokens.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

from userturn.endpoints.http_replies import (
    CUT,
    BusyError,
    EndpointError,
    UnreachedError,
    UnscoredError,
)
from userturn.endpoints.usage import TOKEN_LIMITS, was_cut
from userturn.errors import UserError
from userturn.models.completion_endpoint import CompletionEndpoint, Dialect, Fields, ServerReply
from userturn.models.requests import AnyRequest, Completion, Request, Sampling, ScoringRequest
from userturn.models.served import ServedModel
from userturn.models.server_check import N_WRITTEN, QUESTIONS, SEEDS, ServerCheck, server_account
from userturn.models.server_replies import ReplyError, check_model, text_and_end
from userturn.prompts.chat_template import Prompt, Template
from userturn.prompts.examples import user

BY_MESSAGES = Dialect(takes_ids=False, returns_ids=False, samples_fully=False)


@dataclass
class ChatCompletions(CompletionEndpoint):
    """The connection to a chat API that has a model, open within `async with`."""

    path: ClassVar[str] = "chat/completions"

    def largest_reply(self, asked: Fields) -> int:
        """Return the largest number of tokens in a reply."""
        return int(next(asked[name] for name in TOKEN_LIMITS if name in asked))

    def choice_in(self, parsed: Any) -> Fields:
        """Return `text` and `finish_reason` of a reply's only choice, or raise an error."""
        (choice,) = parsed["choices"]
        message = choice["message"]
        text = message.get("content") or message.get("refusal") or ""
        return {"text": text, "finish_reason": choice["finish_reason"]}


def messages_in(prompt: Prompt, template: Template) -> Iterator[dict[str, str]]:
    """Yield the messages of a prompt that was written with the stand-in's tokens."""
    names = {i: token for token, i in template.control_tokens.items()}
    places = [n for n, i in enumerate(prompt.token_ids) if i in names]
    for begin, end in list(pairwise(places))[::2]:
        role = names[prompt.token_ids[begin]].strip("<|>")
        yield {"role": role, "content": template.decode(prompt.token_ids[begin + 1 : end])}


def chat_fields(request: Request, template: Template, length: str) -> dict[str, Any]:
    """Return the fields of a request, with `length` as the server's name for the reply's limit."""
    sampling = request.sampling
    return {
        "messages": list(messages_in(request.prompt, template)),
        length: sampling.max_tokens,
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "presence_penalty": sampling.presence_penalty,
        **({} if sampling.seed is None else {"seed": sampling.seed}),
    }


def reply_of(request: Request, reply: ServerReply, model: str, template: Template) -> Completion:
    """Return the completion in a reply to messages, with its text in the stand-in's tokens.

    Raises:
        ReplyError: the reply is of another model, has no text, or ended for no known reason.
        UnscoredError: the server says that it read far less than was sent.
    """
    check_model(reply, model, "chat completion")
    text, reason = text_and_end(reply)
    sent = [message["content"] for message in messages_in(request.prompt, template)]
    if was_cut(reply.usage.get("prompt_tokens"), sent):
        raise UnscoredError(f"it read {reply.usage['prompt_tokens']} tokens: it cuts prompts", CUT)
    ends = request.sampling.stop_token_ids[:1] if reason == "stop" else ()
    return Completion((*template.encoder.encode(["", ""], [text]), *ends), reason)


@dataclass
class ChatModel(ServedModel):
    """A model behind a chat API, as an engine (`models.requests.Engine`)."""

    _length: str = TOKEN_LIMITS[0]

    async def _look(self) -> ServerCheck:
        """Return the check of the server, after a few short questions of our own."""
        told, why = await server_account(self.endpoint), []
        for self._length in TOKEN_LIMITS:
            try:
                seeds = SEEDS[0], SEEDS[0], SEEDS[1]
                replies = [await self._sampled_tokens(seed) for seed in seeds]
            except BusyError:
                raise
            except UnreachedError as error:
                raise UserError(
                    f"no server answers at '{self.endpoint.url}' ({error}); expected the address "
                    "of a chat API, such as http://127.0.0.1:8000/v1"
                ) from None
            except (ReplyError, EndpointError) as error:
                why.append(str(error))
            else:
                keeps_seeds = replies[0] == replies[1] != replies[2]
                return ServerCheck(told, BY_MESSAGES, keeps_seeds, keeps_top_k=False, greedy=())
        raise UserError(
            f"the server '{self.endpoint.url}' cannot be asked as a chat API: {why[0]}"
            + (f"; with `{TOKEN_LIMITS[1]}`, {why[1]}" if why[1] != why[0] else "")
        )

    async def _sampled_tokens(self, seed: int) -> tuple[int, ...]:
        prompt = self.template.answer_prompt([user(QUESTIONS[1])])
        sampling = Sampling(1.0, 1.0, 0, 0.0, N_WRITTEN, self.template.end_token_ids, seed)
        request = Request("", "", "", 0, prompt, sampling)
        return (await self._complete(request, BY_MESSAGES)).token_ids

    async def _complete(self, request: AnyRequest, dialect: Dialect) -> Completion:
        if isinstance(request, ScoringRequest):
            raise UserError(f"model '{self.name}': a chat API gives no log-likelihoods")
        sent = chat_fields(request, self.template, self._length)
        reply = await self.endpoint.complete(sent, self.account)
        return reply_of(request, reply, self.endpoint.settings["model"], self.template)

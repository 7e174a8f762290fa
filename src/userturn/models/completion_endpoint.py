"""A server's completions, with one prompt in and one continuation out, and the fields of both."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import aiohttp

from userturn.endpoints.api_keys import remove_key
from userturn.endpoints.budget import Account
from userturn.endpoints.http_client import LARGEST_BODY, Endpoint, bounded_body
from userturn.endpoints.http_replies import Received
from userturn.models.requests import Request, ScoringRequest
from userturn.prompts.chat_template import Template
from userturn.storage.hashing import fingerprint

MOST_STOPS = 4  # texts that APIs take as `stop`
TOKENS_AS_THEY_ARE = {  # special ones are neither added nor hidden, and ids come back
    "add_special_tokens": False,
    "skip_special_tokens": False,
    "spaces_between_special_tokens": False,
    "return_token_ids": True,
}
Fields = Mapping[str, Any]


class Dialect(NamedTuple):
    """The fields by which a server is asked, and those that its replies have.

    Attributes:
        takes_ids: whether a prompt is sent as token ids, else as text.
        returns_ids: whether a reply has the token ids of the continuation, else only text.
        samples_fully: whether it takes sampling settings beyond OpenAI's, such as `top_k`.
        scores_by: the field by which it scores a given text, `prompt_logprobs` or `echo`, or None
            for a server that scores none.
        ids_by: the field with the written ids. With `token_ids` a reply also has the ids of the
            prompt. `logprobs` is for llama.cpp, which hides special tokens and knows neither
            `stop_token_ids` nor `token_ids` (build of October 2026, in the package xllamacpp).
    """

    takes_ids: bool
    returns_ids: bool
    samples_fully: bool
    scores_by: str | None = None
    ids_by: str = "token_ids"

    @property
    def shows_prompt(self) -> bool:
        """Whether a reply has the token ids of the prompt."""
        return self.returns_ids and self.ids_by == "token_ids"


class ServerReply(NamedTuple):
    """The reply of a server to one request.

    Attributes:
        model: the server's name of the model, or None.
        choice: the reply's only choice, empty if it cannot be read.
        usage: the server's count of tokens.
        raw: the beginning of a reply that cannot be read, or why it may not be.
    """

    model: str | None
    choice: Fields
    usage: Fields
    raw: str = ""


@dataclass
class CompletionEndpoint(Endpoint[Fields, ServerReply]):
    """The connection to a server's completions, where a request is the fields of its body."""

    path: ClassVar[str] = "completions"
    largest_body: ClassVar[int] = 64 * LARGEST_BODY  # scores take about 100 bytes a token

    def body(self, asked: Fields) -> dict[str, Any]:
        """Return the body of a request."""
        return {"model": self.settings["model"], **asked}

    def largest_reply(self, asked: Fields) -> int:
        """Return the largest number of tokens in a reply."""
        return int(asked["max_tokens"])

    def slots(self, account: Account) -> Path:
        """Return the folder of the slots of this server, which all its models and shards share."""
        return account.folder / "in_flight" / f"server={fingerprint(self.url)[:16]}"

    def read(self, received: Received) -> tuple[ServerReply, dict[str, Any]]:
        """Return the reply and the token usage in a response's body."""
        parsed = received.parsed
        try:
            choice = self.choice_in(parsed)
            name, usage = parsed.get("model"), parsed.get("usage")
        except (LookupError, TypeError, AttributeError, ValueError):
            return ServerReply(None, {}, {}, self.redacted(received.text, 300)), {}
        told = usage if isinstance(usage, dict) else {}
        text = choice["text"]
        if isinstance(text, str) and remove_key(text, self.key) != text:  # no file may hold it
            return ServerReply(None, {}, told, "it shows the key"), told
        return ServerReply(name if isinstance(name, str) else None, choice, told), told

    def choice_in(self, parsed: Any) -> Fields:
        """Return a reply's only choice, with `text` and `finish_reason`, or raise an error."""
        (choice,) = parsed["choices"]
        choice["finish_reason"], choice["text"]
        return choice  # type: ignore[no-any-return]

    def unread(self, received: bytes) -> ServerReply:
        """Return the reply in place of one that is too large to read."""
        return ServerReply(None, {}, {}, f"more than {self.largest_body:,} bytes")

    async def told(self, url: str, sent: Fields | None = None) -> Any:
        """Return the JSON that the server has at an address, or None if it has none.

        If fields are `sent`, they are posted.
        """
        assert self._session is not None
        method = "GET" if sent is None else "POST"
        try:
            asked = self._session.request(method, url, json=sent, allow_redirects=False)
            async with asked as response:
                received, is_whole = await bounded_body(response.content, LARGEST_BODY)
        except (aiohttp.ClientError, TimeoutError):
            return None
        return Received(received).parsed if response.status == 200 and is_whole else None


def fields_of(request: Request, dialect: Dialect, template: Template) -> dict[str, Any]:
    """Return the fields of a generation request.

    Every setting is sent, even OpenAI's defaults. For a missing setting vLLM's server takes the
    model's generation config, and llama.cpp's its own default.
    """
    sampling = request.sampling
    stops = list(sampling.stop_texts)
    if not dialect.returns_ids:  # such a server may not know the tokens that end a turn
        stops += [template.decode([token]) for token in sampling.stop_token_ids]
    fields = {
        "prompt": list(request.prompt.token_ids) if dialect.takes_ids else request.prompt.text,
        "max_tokens": sampling.max_tokens,
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "presence_penalty": sampling.presence_penalty,
        "frequency_penalty": 0,
        **({} if sampling.seed is None else {"seed": sampling.seed}),
        **({"stop": stops[:MOST_STOPS]} if stops else {}),
    }
    if not dialect.samples_fully:
        return fields
    return fields | {
        "top_k": sampling.top_k or -1,  # -1 is all of them for vLLM, SGLang and llama.cpp
        "min_p": 0,
        "repetition_penalty": 1,
        "stop_token_ids": list(sampling.stop_token_ids),
        **({"logprobs": 1} if dialect.ids_by == "logprobs" else {}),
        **TOKENS_AS_THEY_ARE,
    }


def scoring_fields(request: ScoringRequest, dialect: Dialect, template: Template) -> dict[str, Any]:
    """Return the fields of a request that scores a given text, whose one new token is ignored."""
    ids = list(request.token_ids)
    fields = {
        "prompt": ids if dialect.takes_ids else template.decode(ids),
        "max_tokens": 1,
        "temperature": 0,
    }
    if dialect.scores_by == "prompt_logprobs":
        return fields | {"prompt_logprobs": 0, **TOKENS_AS_THEY_ARE}
    return fields | {"echo": True, "logprobs": 1}

"""A server's completions: one prompt in, one continuation out; the fields of both."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import aiohttp

from userturn.endpoints.api_keys import without_key
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
    """How a server is asked, and what its replies hold.

    Attributes:
        takes_ids: a prompt is sent as token ids, else as text.
        returns_ids: a reply has the token ids of the continuation, else only text.
        samples_fully: it takes the sampling settings beyond OpenAI's, such as `top_k`.
        scores_by: the field by which it scores a given text, `prompt_logprobs` or `echo`; None
            for a server without.
        ids_by: the field with the written ids: `token_ids`, beside which those of the prompt are,
            or `logprobs`, as llama.cpp has it: it hides special tokens, knows no `stop_token_ids`
            and returns no `token_ids` (build of October 2026, in the package xllamacpp).
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
    """What came back for one request.

    Attributes:
        model: the server's name of the model, or None.
        choice: the reply's only choice; empty if it cannot be read.
        usage: the server's count of tokens.
        raw: the beginning of a reply that cannot be read.
    """

    model: str | None
    choice: Fields
    usage: Fields
    raw: str = ""


@dataclass
class CompletionEndpoint(Endpoint[Fields, ServerReply]):
    """An open connection to the completions of a server; a request is the fields of its body."""

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
        if isinstance(text, str) and without_key(text, self.key) != text:  # no file may hold it
            return ServerReply(None, {}, told, "it shows the key"), told
        return ServerReply(name if isinstance(name, str) else None, choice, told), told

    def choice_in(self, parsed: Any) -> Fields:
        """Return the only choice of a reply, with `text` and `finish_reason`; else any error."""
        (choice,) = parsed["choices"]
        choice["finish_reason"], choice["text"]
        return choice  # type: ignore[no-any-return]

    def unread(self, received: bytes) -> ServerReply:
        """Return a reply without content."""
        return ServerReply(None, {}, {}, f"more than {self.largest_body:,} bytes")

    async def told(self, url: str, sent: Fields | None = None) -> Any:
        """Return the JSON that the server has at an address of its own; None if it has none.

        Fields that are `sent` are posted.
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

    Every setting is sent, also where it is OpenAI's default: vLLM's server takes what is left out
    from the model's generation config, llama.cpp's from its own.
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
    """Return the fields of a request that scores a given text; its one new token is ignored."""
    ids = list(request.token_ids)
    fields = {
        "prompt": ids if dialect.takes_ids else template.decode(ids),
        "max_tokens": 1,
        "temperature": 0,
    }
    if dialect.scores_by == "prompt_logprobs":
        return fields | {"prompt_logprobs": 0, **TOKENS_AS_THEY_ARE}
    return fields | {"echo": True, "logprobs": 1}

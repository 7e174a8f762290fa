"""A model on a running server that takes and returns token ids, as vLLM's own server does.

Only `userturn try` uses it: one request after another, nothing journalled.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from openai import OpenAI, OpenAIError

from userturn.errors import UserError
from userturn.models.completion import AnyRequest, Completion, Engine, refusal
from userturn.models.requests import Request
from userturn.models.scoring import ScoringRequest

PATIENCE = 300.0  # seconds for one reply


def load_server(url: str, served_as: str | None, api_key: str) -> Engine:
    """Return the engine of a server.

    Args:
        url: base URL, including `/v1`.
        served_as: the model's name on the server; None if it serves only one.
        api_key: the server's API key; any text if it needs none.

    Raises:
        UserError: no server answers, or it serves several models and none is named.
    """
    client = OpenAI(base_url=url, api_key=api_key, timeout=PATIENCE)
    try:
        served = [model.id for model in client.models.list()]
    except OpenAIError as error:
        raise UserError(
            f"no server answers at '{url}' ({type(error).__name__}: {error}); expected the address "
            "of an OpenAI-compatible server, such as http://127.0.0.1:8000/v1"
        ) from error
    if served_as is None and len(served) != 1:
        raise UserError(f"'{url}' serves {', '.join(served) or 'nothing'}; pass one as --served-as")
    name = served[0] if served_as is None else served_as

    def engine(requests: Iterable[AnyRequest]) -> Iterator[tuple[AnyRequest, Completion] | None]:
        for request in requests:
            if isinstance(request, ScoringRequest):
                yield request, refusal(ValueError("scoring through a server is not supported"))
            else:
                yield request, _asked(client, name, request)

    return engine


def _asked(client: OpenAI, name: str, request: Request) -> Completion:
    """Return a server's completion of a prompt.

    Raises:
        UserError: it returns no token ids, or tokenized the prompt differently.
    """
    try:
        reply: Any = client.completions.create(
            model=name, prompt=list(request.prompt.token_ids), **_settings(request)
        )
    except OpenAIError as error:
        return refusal(error)
    choice = reply.choices[0].to_dict()
    written, read = choice.get("token_ids"), choice.get("prompt_token_ids")
    if written is None or read != list(request.prompt.token_ids):
        found = "returns no token ids" if written is None else "reads the prompt as other tokens"
        raise UserError(
            f"the server {found}; expected one that takes token ids and returns them "
            "(`return_token_ids` of vLLM): load the model here instead"
        )
    return Completion(tuple(written), choice["finish_reason"])


def _settings(request: Request) -> dict[str, Any]:
    """Return a request's sampling settings in the form of vLLM's server."""
    sampling = request.sampling
    own = {
        "top_k": sampling.top_k,
        "stop_token_ids": list(sampling.stop_token_ids),
        "add_special_tokens": False,
        "skip_special_tokens": False,
        "return_token_ids": True,
    }
    return {
        "max_tokens": sampling.max_tokens,
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "presence_penalty": sampling.presence_penalty,
        "seed": sampling.seed,
        "stop": list(sampling.stop_texts) or None,
        "extra_body": own,
    }

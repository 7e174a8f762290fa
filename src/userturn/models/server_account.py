"""What a server says of itself: the name of its model, versions, limits."""

from collections.abc import Mapping
from typing import Any

from userturn.endpoints.http_client import LONGEST_NAME
from userturn.endpoints.response_body import without_surrogates
from userturn.errors import UserError
from userturn.models.completion_endpoint import CompletionEndpoint

TELLS = (
    "id",
    "max_model_len",
    "owned_by",
    "version",
    "build_info",
    "quantization",
    "model_ftype",
    "dtype",
)
OWN_ACCOUNTS = ("version", "props", "get_server_info")  # of vLLM, llama.cpp and SGLang


async def server_account(endpoint: CompletionEndpoint) -> dict[str, Any]:
    """Return what a server says of itself.

    Raises:
        UserError: it does not list the model that is to be asked.
    """
    listed = await endpoint.told(f"{endpoint.url}/models")
    models = listed.get("data") if isinstance(listed, dict) else None
    models = [one for one in models if isinstance(one, dict)] if isinstance(models, list) else []
    asked = endpoint.settings["model"]
    mine = [one for one in models if one.get("id") == asked]
    if models and not mine:
        names = ", ".join(sorted(_said(endpoint, one.get("id")) for one in models)[:8])
        raise UserError(
            f"the server '{endpoint.url}' has no model '{asked}'; it has {names}: set `served_as` "
            "of the model's entry"
        )
    found: dict[str, Any] = {}
    root = endpoint.url.removesuffix("/v1")
    for told in [*mine[:1], *[await endpoint.told(f"{root}/{name}") for name in OWN_ACCOUNTS]]:
        if isinstance(told, dict):
            scalars = {k: v for k, v in told.items() if k in TELLS and isinstance(v, str | int)}
            found |= {key: _said(endpoint, value) for key, value in scalars.items()}
            found |= _length_of_slots(told)
    return found


def _length_of_slots(told: Mapping[str, Any]) -> dict[str, str]:
    """Return the longest prompt and continuation that llama.cpp's `props` tell."""
    settings = told.get("default_generation_settings")
    most = settings.get("n_ctx") if isinstance(settings, dict) else None
    return {"max_model_len": str(most)} if type(most) is int else {}


def _said(endpoint: CompletionEndpoint, value: Any) -> str:
    return endpoint.redacted(without_surrogates(str(value)), LONGEST_NAME)

"""The model that a server lists, before a study asks it anything."""

import json
import os
from http.client import HTTPException
from typing import Any, NamedTuple
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from userturn.config.endpoint_models import check_address
from userturn.errors import UserError, near_miss

KEY = "OPENAI_API_KEY"  # sent to a server if it is set
SECONDS = 30  # for the reply


class ServerModel(NamedTuple):
    """A model that a server lists.

    Attributes:
        id: the server's name of the model.
        root: the folder or hub id that the server loaded, if it says so, as vLLM does.
        longest: the largest number of tokens in a text, if the server says so.
        key_variable: the environment variable whose key was sent, or None if none is set.
    """

    id: str
    root: str | None
    longest: int | None
    key_variable: str | None


def model_of_server(url: str, name: str | None) -> ServerModel:
    """Return a server's model `name`, or its only one if that is None, or raise UserError."""
    check_address("the server's address", url)
    listed = _listed(f"{url.rstrip('/')}/models")
    ids = [str(one["id"]) for one in listed]
    if name is None and len(ids) != 1:
        raise UserError(
            f"the server '{url}' has {len(ids)} models ({', '.join(sorted(ids)[:8])}); expected "
            "one, or its name by --served-as"
        )
    if name is not None and name not in ids:
        raise UserError(f"the server '{url}' has no model '{name}'{near_miss(name, ids)}")
    mine = next(one for one in listed if name in (None, one["id"]))
    root, longest = mine.get("root"), mine.get("max_model_len")
    return ServerModel(
        str(mine["id"]),
        root if isinstance(root, str) else None,
        longest if type(longest) is int else None,
        KEY if KEY in os.environ else None,
    )


def _listed(url: str) -> list[dict[str, Any]]:
    key = os.environ.get(KEY)
    try:
        asked = Request(url, headers={"Authorization": f"Bearer {key}"} if key else {})
        with urlopen(asked, timeout=SECONDS) as reply:
            listed = json.load(reply)["data"]
        return [one for one in listed if "id" in one]
    except HTTPError as error:
        why = f"{error.code} {error.reason}"
    except (URLError, HTTPException, OSError) as error:
        why = str(getattr(error, "reason", error))
    except (ValueError, LookupError, TypeError):
        why = "no list of models"
    raise UserError(
        f"the server at '{url}' did not list its models ({why}); expected a running API such as "
        f"http://127.0.0.1:8000/v1: correct the address, or set {KEY} if it needs a key"
    )

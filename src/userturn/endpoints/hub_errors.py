"""The errors for models and datasets that the hub does not give, one sentence per reason."""

import os
from collections.abc import Iterable
from functools import cache
from typing import Any

import yaml

from userturn.config.load import CATALOGUE, CONFIG, installed
from userturn.errors import UserError, nearest

PATIENCE = 10.0  # seconds that the hub may take to say anything
LONGEST = 200  # characters shown of what the client says
TOKEN = "give your token by `hf auth login` or the environment variable HF_TOKEN"


def hub_answers() -> bool:
    """Return whether the hub answers, sooner than its own client, which tries for a minute."""
    from huggingface_hub import constants

    return _answers(constants.ENDPOINT)


@cache
def _answers(address: str) -> bool:
    from huggingface_hub import get_session

    try:
        get_session().head(address, timeout=PATIENCE, headers={"Connection": "close"})
    except Exception as error:  # the client's exceptions vary, and a variable may forbid to ask
        return "Protocol" in type(error).__name__  # something answers, if not in HTTP
    return True


def missing_from_hub(
    what: str, name: str, error: BaseException | None, where: str = ""
) -> UserError:
    """Return the error for a model or dataset that the hub does not give.

    Args:
        what: `model` or `dataset`.
        name: its id on the hub, such as org/name.
        error: the exception of the hub's client, or None if the hub does not answer.
        where: the revision and file, in words.
    """
    near = nearest(name, _shipped_ids(what))
    meant = f", did you mean '{near}'?" if near else ""
    told = f"{what} '{name}'{where}"
    if error is None or not hub_answers():
        forbidden = os.environ.get("HF_HUB_OFFLINE", "0") not in ("", "0")
        why = "HF_HUB_OFFLINE forbids to ask the hub" if forbidden else "the hub cannot be reached"
        return UserError(
            f"{told} is not in the hub's cache, and {why}, so it is not known whether it has one"
            f"{meant or ';'} check the network (`snakemake --cores 1 download` fetches it on a "
            "node that has one), or name a local file or folder"
        )
    kinds = {type(one).__name__ for one in _chain(error)}
    if "GatedRepoError" in kinds or "is a gated dataset" in str(error):
        return UserError(
            f"{told} is gated: accept its terms on its page on the hub, then {TOKEN}, and run the "
            "same command again"
        )
    if "RepositoryNotFoundError" in kinds:
        return UserError(
            f"{told}: the hub has none of this name that you may see{meant or ';'} correct the "
            f"name, or, if it is private, {TOKEN}"
        )
    if kinds & {"RevisionNotFoundError", "EntryNotFoundError", "RemoteEntryNotFoundError"}:
        return UserError(f"{told} is not on the hub; correct its revision or file in its entry")
    text = " ".join(str(error).split())
    shown = text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
    return UserError(
        f"{told} could not be read from the hub ({type(error).__name__}: {shown}); check its "
        "entry, the network, and the access of your hub token (HF_TOKEN)"
    )


def _chain(error: BaseException | None) -> Iterable[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _shipped_ids(what: str) -> set[str]:
    """Return the hub ids of the shipped models, or of the catalogue's datasets."""
    file, key = (CONFIG, "source") if what == "model" else (CATALOGUE, "hub")
    content: Any = yaml.safe_load(installed(file).read_text("utf-8"))
    entries = content["models"] if what == "model" else content
    sources = (one if isinstance(one, str) else one.get(key, "") for one in entries.values())
    return {source for source in sources if "/" in source and source[0] not in "./~"}

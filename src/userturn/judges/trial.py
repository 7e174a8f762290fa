"""The trial of an endpoint: before the first paid cell, one question is asked alone.

It is the job's first question, so it is counted and journalled like the others and nothing is paid
for twice. A passed trial of endpoint, model and settings is noted beside the judge's accounts.
"""

from pathlib import Path

from userturn.endpoints.budget import Account
from userturn.judges.chat_endpoint import ChatEndpoint
from userturn.storage.atomic_files import read_identity, write_json
from userturn.storage.hashing import fingerprint


def _path(account: Account) -> Path:
    return account.folder / account.judge / "trial.json"


def _identity(endpoint: ChatEndpoint) -> str:
    """Return the identity of a trial, without the port of a local server, which changes."""
    return fingerprint([None if endpoint.is_here else endpoint.url, endpoint.fixed])


def has_passed(endpoint: ChatEndpoint, account: Account) -> bool:
    """Tell whether the endpoint has already given a verdict with this model and these settings."""
    return read_identity(_path(account)) == _identity(endpoint)


def note_trial(endpoint: ChatEndpoint, account: Account) -> None:
    """Note that the endpoint has given a verdict."""
    write_json({"judge": account.judge}, _path(account), _identity(endpoint))

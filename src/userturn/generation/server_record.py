"""What a study knows of the server that has a model, and whether it is still the same one.

`results/served/<model>/<shard>.json` has what the server says of itself, what it was found to
promise, how likely it finds a few fixed prompts, and its greedy completions of them. Another
address of the same server changes nothing; another model behind the same name is noticed before
anything is asked of it.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import fsum
from typing import Any

from userturn.errors import UserError
from userturn.models.server_check import ServerCheck
from userturn.storage.files import given_object, write_json
from userturn.storage.hashing import fingerprint
from userturn.study.grid import Grid

# The same model in another precision finds the tokens of a text up to 0.06 nats likelier or less
# likely, on average (docs/decisions.md).
MOST_APART = 0.1
TOLD = 0.01  # nats: less is a matter of batches and hardware
# Where the server tells no likelihoods: share of greedy completions that are equal.
SAME = 0.5


def server_records(grid: Grid, model: str) -> Iterator[dict[str, Any]]:
    """Yield what the shards of a model's sweep noted of its server, in their order."""
    for path in sorted((grid.results / "served" / model).glob("[!.]*.json")):
        yield given_object(path)


def note_server(
    grid: Grid,
    model: str,
    shard: str,
    identity: Mapping[str, Any],
    longest: int,
    found: ServerCheck,
) -> None:
    """Compare a server with what is noted of it, and note it.

    Args:
        grid: of the study.
        model: name.
        shard: of the sweep, such as 1of1.
        identity: what identifies the model's requests.
        longest: the largest number of tokens in prompt and continuation together.
        found: the server as it is now.

    Raises:
        UserError: another model is behind the same name, or it takes shorter prompts than the
            entry says.
    """
    _check_length(model, longest, found.account)
    described_as = fingerprint(identity)
    for noted in server_records(grid, model):
        if noted.get("described_as") == described_as:
            _check_same(grid, model, noted, found)
    path = grid.results / "served" / model / f"{shard}.json"
    noted = given_object(path) if path.is_file() else {}
    content = {"described_as": described_as, **found.to_json()}
    if noted.get("described_as") == described_as:
        content |= _beside_first(noted, found)
    if any(noted.get(key) != value for key, value in content.items()):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(content, path, described_as)


def _beside_first(noted: Mapping[str, Any], found: ServerCheck) -> dict[str, Any]:
    """Return the first fingerprint of a server, which small steps must not lead away from.

    Beside it is how far a later sweep was from it at most, if it was.
    """
    n_again = min(_n_equal(noted["greedy"], found.greedy), noted.get("n_again", len(found.greedy)))
    fewer = {"n_again": n_again} if n_again < len(found.greedy) else {}
    apart = max(_apart(noted, found) or 0.0, noted.get("apart", 0.0))
    further = {"apart": round(apart, 2)} if apart >= TOLD else {}
    first = {"greedy": noted["greedy"], "scored": noted.get("scored") or list(found.scored)}
    return {**first, **fewer, **further}


def _apart(noted: Mapping[str, Any], found: ServerCheck) -> float | None:
    """Return by how much a token's log-likelihood differs on average; None if it was not told."""
    before, now = noted.get("scored") or (), found.scored
    if not before or len(before) != len(now):
        return None
    return fsum(abs(one - other) for one, other in zip(before, now, strict=True)) / len(now)


def _n_equal(noted: Sequence[str], now: Sequence[str]) -> int:
    return sum(one == other for one, other in zip(noted, now, strict=False))


def _check_length(model: str, wanted: int, account: Mapping[str, Any]) -> None:
    most = str(account.get("max_model_len", ""))
    if most.isdigit() and int(most) < wanted:
        raise UserError(
            f"model '{model}': its server takes {most} tokens of prompt and continuation, and "
            f"max_model_len is {wanted}; set max_model_len of the entry to {most} or less"
        )


def _check_same(grid: Grid, model: str, noted: Mapping[str, Any], found: ServerCheck) -> None:
    apart, n_equal = _apart(noted, found), _n_equal(noted["greedy"], found.greedy)
    if apart is None:
        is_other = n_equal < SAME * max(len(noted["greedy"]), len(found.greedy))
        why = f"{n_equal} of {len(found.greedy)} greedy completions of fixed prompts are equal"
    else:
        is_other = apart > MOST_APART
        why = (
            f"the log-likelihoods of fixed texts are {apart:.2f} nats a token apart, expected "
            f"{MOST_APART} at most"
        )
    if is_other:
        raise UserError(
            f"model '{model}': the server at '{grid.models[model]['endpoint']}' has another model "
            f"than before behind the same name: {why}; ask the server that the study began with, "
            "or give this model an entry of its own"
        )

"""Records of the servers that somebody else runs for a study's models.

`results/served/<model>/<shard>.json` has what a server says of itself, what it was found to
promise, how likely it finds a few fixed prompts, and its greedy completions of them. Another
address of the same server changes nothing; another model behind the same name is noticed before
anything is asked of it.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import fsum
from typing import Any

from userturn.errors import UserError
from userturn.models.server_check import ServerCheck
from userturn.storage.files import read_json, write_json
from userturn.storage.hashing import fingerprint
from userturn.study.grid import Grid

# The same model in another precision finds the tokens of a text up to 0.06 nats likelier or less
# likely, on average (docs/decisions.md).
MOST_APART = 0.1
TOLD = 0.01  # nats below which a difference may come from batches and hardware
# Least share of equal greedy completions, for a server that gives no likelihoods.
SAME = 0.5


def server_records(grid: Grid, model: str) -> Iterator[dict[str, Any]]:
    """Yield the record of a model's server that each shard of its sweep wrote, in their order."""
    for path in sorted((grid.results / "served" / model).glob("[!.]*.json")):
        yield read_json(path)


def note_server(
    grid: Grid,
    model: str,
    shard: str,
    identity: Mapping[str, Any],
    longest: int,
    check: ServerCheck,
) -> None:
    """Compare the check of a server with its earlier records, and write its record.

    `longest` is the number of tokens that the server must take, prompt and continuation together.

    Raises:
        UserError: another model is behind the same name, or the server takes shorter prompts than
            the entry says.
    """
    most = str(check.account.get("max_model_len", ""))
    if most.isdigit() and int(most) < longest:
        raise UserError(
            f"model '{model}': its server takes {most} tokens of prompt and continuation, and "
            f"max_model_len is {longest}; set max_model_len of the entry to {most} or less"
        )
    described_as = fingerprint(identity)
    for noted in server_records(grid, model):
        if noted.get("described_as") == described_as:
            _check_same(grid, model, noted, check)
    path = grid.results / "served" / model / f"{shard}.json"
    noted = read_json(path) if path.is_file() else {}
    content = {"described_as": described_as, **check.to_json()}
    if noted.get("described_as") == described_as:
        content |= _first_fingerprint(noted, check)
    if any(noted.get(key) != value for key, value in content.items()):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(content, path, described_as)


def _first_fingerprint(noted: Mapping[str, Any], check: ServerCheck) -> dict[str, Any]:
    """Return the first fingerprint of a server, so that it cannot drift by small steps.

    If a later sweep found a difference from it, the largest one is beside it.
    """
    n_again = min(_n_equal(noted["greedy"], check.greedy), noted.get("n_again", len(check.greedy)))
    fewer = {"n_again": n_again} if n_again < len(check.greedy) else {}
    apart = max(_apart(noted, check) or 0.0, noted.get("apart", 0.0))
    further = {"apart": round(apart, 2)} if apart >= TOLD else {}
    first = {"greedy": noted["greedy"], "scored": noted.get("scored") or list(check.scored)}
    return {**first, **fewer, **further}


def _apart(noted: Mapping[str, Any], check: ServerCheck) -> float | None:
    """Return the mean absolute difference of token log-likelihoods in nats, or None if unknown."""
    before, now = noted.get("scored") or (), check.scored
    if not before or len(before) != len(now):
        return None
    return fsum(abs(one - other) for one, other in zip(before, now, strict=True)) / len(now)


def _n_equal(noted: Sequence[str], now: Sequence[str]) -> int:
    return sum(one == other for one, other in zip(noted, now, strict=False))


def _check_same(grid: Grid, model: str, noted: Mapping[str, Any], check: ServerCheck) -> None:
    apart, n_equal = _apart(noted, check), _n_equal(noted["greedy"], check.greedy)
    if apart is None:
        is_other = n_equal < SAME * max(len(noted["greedy"]), len(check.greedy))
        why = f"{n_equal} of {len(check.greedy)} greedy completions of fixed prompts are equal"
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

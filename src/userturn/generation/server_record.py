"""What a study knows of the server that has a model, and whether it is still the same one.

`results/served/<model>/<shard>.json` has what the server says of itself, what it was found to
promise, and its greedy completions of a few fixed prompts. Another address of the same server
changes nothing; another model behind the same name is noticed before anything is asked of it.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from userturn.errors import UserError
from userturn.models.server_check import ServerCheck
from userturn.storage.atomic_files import write_json
from userturn.storage.given_files import given_object
from userturn.storage.hashing import fingerprint
from userturn.study.grid import Grid

SAME = 0.5  # share of greedy completions that are equal: batches and hardware may change the others


def server_records(grid: Grid, model: str) -> Iterator[dict[str, Any]]:
    """Yield what the shards of a model's sweep noted of its server, in their order."""
    for path in sorted((grid.results / "served" / model).glob("*.json")):
        yield given_object(path)


def note_server(
    grid: Grid, model: str, shard: str, identity: Mapping[str, Any], found: ServerCheck
) -> None:
    """Compare a server with what is noted of it, and note it.

    Args:
        grid: of the study.
        model: name.
        shard: of the sweep, such as 1of1.
        identity: what identifies the model's requests.
        found: the server as it is now.

    Raises:
        UserError: another model is behind the same name, or it takes shorter prompts than the
            entry says.
    """
    _check_length(grid, model, found.account)
    described_as = fingerprint(identity)
    for noted in server_records(grid, model):
        if noted.get("described_as") == described_as:
            _check_same(grid, model, noted["greedy"], found.greedy)
    path = grid.results / "served" / model / f"{shard}.json"
    noted = given_object(path) if path.is_file() else {}
    content = {"described_as": described_as, **found.to_json()}
    if noted.get("described_as") == described_as:
        content |= _beside_first(noted, found)
    if any(noted.get(key) != value for key, value in content.items()):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(content, path, described_as)


def _beside_first(noted: Mapping[str, Any], found: ServerCheck) -> dict[str, Any]:
    """Return the first completions of a server, which small steps must not lead away from.

    Beside them is the smallest number of them that a later sweep found again, if not all.
    """
    n_again = min(_n_equal(noted["greedy"], found.greedy), noted.get("n_again", len(found.greedy)))
    fewer = {"n_again": n_again} if n_again < len(found.greedy) else {}
    return {"greedy": noted["greedy"], **fewer}


def _n_equal(noted: Sequence[str], now: Sequence[str]) -> int:
    return sum(one == other for one, other in zip(noted, now, strict=False))


def _check_length(grid: Grid, model: str, account: Mapping[str, Any]) -> None:
    most, wanted = str(account.get("max_model_len", "")), grid.models[model]["max_model_len"]
    if most.isdigit() and int(most) < wanted:
        raise UserError(
            f"model '{model}': its server takes {most} tokens of prompt and continuation, and "
            f"max_model_len is {wanted}; set max_model_len of the entry to {most} or less"
        )


def _check_same(grid: Grid, model: str, noted: Sequence[str], now: Sequence[str]) -> None:
    n_equal = _n_equal(noted, now)
    if len(noted) != len(now) or n_equal < SAME * len(now):
        raise UserError(
            f"model '{model}': the server at '{grid.models[model]['endpoint']}' has another model "
            f"than before behind the same name: {n_equal} of {len(now)} greedy completions of "
            "fixed prompts are equal; ask the server that the study began with, or give this "
            "model an entry of its own"
        )

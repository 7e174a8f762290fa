"""An account on disk: what its process wrote, and what is none of its making."""

from pathlib import Path

import numpy as np
import pytest

from tests.support.mutations import byte_mutated
from userturn.endpoints.budget import SLOT, Account, is_sound
from userturn.endpoints.usage import Spent


def written(folder: Path, n_sent: int) -> bytes:
    """Return the account of a process that sent some requests and was killed or ended."""
    with Account(folder, "judge", "cell") as account:
        for _ in range(n_sent):
            account.send(Spent(n_requests=1))
        (path,) = folder.rglob("*.account")
        if n_sent == 1:
            return path.read_bytes()  # as a kill after the first request leaves it
    return path.read_bytes()


@pytest.mark.parametrize("n_sent", [1, 2, 3])
def test_an_account_is_sound_however_often_it_was_written(tmp_path: Path, n_sent: int) -> None:
    content = written(tmp_path, n_sent)
    assert len(content) == 2 * SLOT and is_sound(content)


@pytest.mark.parametrize("n_sent", [1, 2])
def test_no_damage_leaves_an_account_sound(tmp_path: Path, n_sent: int) -> None:
    content = written(tmp_path, n_sent)
    damaged = [byte_mutated(content, np.random.default_rng(seed)) for seed in range(200)]
    assert [is_sound(other) for other in damaged] == [False] * 200

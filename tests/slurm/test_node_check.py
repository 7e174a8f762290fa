"""What a job of the doctor says of its node."""

import errno
import fcntl
import sys
from pathlib import Path
from typing import Any

import pytest

from userturn.slurm import node_check

SAID = "import sys; print('| vLLM |'); print('error: no GPU', file=sys.stderr); sys.exit({code})"


@pytest.mark.parametrize(("code", "trouble"), [(0, None), (1, "error: no GPU; `make check-gpu`")])
def test_table_of_the_gpu_check_is_in_the_answer(
    code: int, trouble: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node_check, "GPU_CHECK", [sys.executable, "-c", SAID.format(code=code)])
    asked: dict[str, Any] = {"engine": "json", "results": str(tmp_path), "models": {}}
    question = asked | {"datasets": {}, "tries_gpu": True, "needs_locks": False}
    ((what, said),) = [one for one in node_check.look(question) if "texts on its GPU" in one[0]]
    assert what.splitlines()[1:] == ["| vLLM |"]
    assert said is None if trouble is None else str(said).startswith(trouble)
    last = list(node_check.look(question | {"tries_gpu": False}))[-1][0]
    assert "a free port" in last


def test_results_where_no_file_can_be_locked_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert node_check.lock_trouble(tmp_path) is None

    def refuse(*_: int) -> None:
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr(fcntl, "flock", refuse)
    assert "have the file system mounted with `flock`" in str(node_check.lock_trouble(tmp_path))
    assert list(tmp_path.iterdir()) == []

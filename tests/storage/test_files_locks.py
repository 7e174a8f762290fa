"""A lock is one process's until it ends, and where none can be had that is told."""

import errno
import fcntl
import subprocess
import sys
from pathlib import Path

import pytest

from userturn.endpoints.concurrency import _take_slot
from userturn.storage.files import NoLocksError, alone, is_locked

HOLD = """
import sys
from pathlib import Path
from userturn.storage.files import alone
with alone(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_lock_of_a_process_is_held_until_that_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    assert not is_locked(path)
    command = [sys.executable, "-c", HOLD, str(path)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        assert is_locked(path)
        process.kill()
    assert not is_locked(path)


@pytest.fixture
def no_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: int) -> None:
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr(fcntl, "flock", refuse)


@pytest.mark.usefixtures("no_locks")
def test_a_file_system_without_locks_is_told_and_not_taken_for_another_process(
    tmp_path: Path,
) -> None:
    path = tmp_path / "lock"
    with (
        pytest.raises(NoLocksError, match=r"cannot be locked on .* have the file system"),
        alone(path),
    ):
        pass
    with pytest.raises(NoLocksError):
        is_locked(path)
    with pytest.raises(NoLocksError):
        _take_slot(str(tmp_path), 3)

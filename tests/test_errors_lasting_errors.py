"""An error that stays is met once in a run: later attempts end at once, the next run forgets it."""

import subprocess
import sys
from pathlib import Path

import pytest

from userturn.errors import forget_errors, note_error, noted_error

ATTEMPT = """
import errno, os
from pathlib import Path
from types import SimpleNamespace
from userturn.errors import ConfigError
from userturn.errors import UserError
from userturn.workflow.job_record import recorded
Path("logs").mkdir(exist_ok=True)
with recorded(SimpleNamespace(log=["logs/job.log"])):
    Path("tries").open("a").write("x")
    raise {error}
"""


@pytest.mark.parametrize(
    ("error", "n_tries"),
    [
        ("ConfigError('broken')", 1),
        ("OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))", 1),
        ("UserError('stopped at the time limit')", 2),
        ("RuntimeError('out of memory')", 2),
    ],
)
def test_only_an_error_that_stays_is_not_tried_again(
    error: str, n_tries: int, tmp_path: Path
) -> None:
    command = [sys.executable, "-c", ATTEMPT.format(error=error)]
    for _ in range(2):
        assert subprocess.run(command, cwd=tmp_path, capture_output=True).returncode == 1
    assert (tmp_path / "tries").read_text() == "x" * n_tries
    said = (tmp_path / "logs" / "job.log").read_text()
    assert ("(not tried again)" in said) == (n_tries == 1)


def test_a_new_run_forgets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    note_error("logs/sweep/m/1of1.log", "the disk is full")
    assert noted_error("logs/sweep/m/1of1.log") == "the disk is full"
    forget_errors()
    assert noted_error("logs/sweep/m/1of1.log") is None

"""A lock is released when its owner is dead, and only then."""

import subprocess
import sys
from pathlib import Path

from userturn.workflow.run_folder import release_abandoned_lock

HOLD = """
import sys
from pathlib import Path
from userturn.workflow.run_folder import release_abandoned_lock
release_abandoned_lock(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


def snakemake_lock(folder: Path) -> Path:
    lock = folder / "locks" / "0.output.lock"
    lock.parent.mkdir(parents=True)
    lock.write_text("results/x\n")
    return lock


def owner(folder: Path) -> "subprocess.Popen[str]":
    """Start a driver that holds its lock until it is killed."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_lock_of_a_killed_owner_is_released(tmp_path: Path) -> None:
    with owner(tmp_path) as process:
        lock = snakemake_lock(tmp_path)
        process.kill()
    assert release_abandoned_lock(tmp_path)
    assert not lock.exists()


def test_lock_of_a_living_owner_is_kept(tmp_path: Path) -> None:
    with owner(tmp_path) as process:
        lock = snakemake_lock(tmp_path)
        assert not release_abandoned_lock(tmp_path)
        assert lock.exists()
        process.kill()


def test_lock_taken_on_another_host_is_kept(tmp_path: Path) -> None:
    lock = snakemake_lock(tmp_path)
    (tmp_path / "driver.lock").write_text("another-host")
    assert not release_abandoned_lock(tmp_path)
    assert lock.exists()


def test_first_run_releases_nothing(tmp_path: Path) -> None:
    assert not release_abandoned_lock(tmp_path / "new")

"""Of the jobs that could sweep the same items only one is at work, whatever becomes of others."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from userturn.storage.leases import LeaseError, active_leases, lease, newest, overlap, this_owner

PAUSE = 0.05
LONG = 1000.0  # a patience that no test waits for


def nobody(who: str) -> None:
    raise AssertionError(f"lost to {who}")


def write_lease(folder: Path, name: str, **owner: object) -> Path:
    """Write the lease of an owner on another machine."""
    folder.mkdir(parents=True, exist_ok=True)
    elsewhere = {"machine": ["elsewhere", "", ""], "job": "17", "node": "gpu7", "user": "ada"}
    content = {"owner": this_owner() | elsewhere | owner, "beat": 3, "released": False}
    path = folder / name
    path.write_text(json.dumps(content))
    return path


def keep_alive(path: Path, ended: threading.Event) -> None:
    """Give signs of life in the name of another machine's job."""
    beat = 10
    while not ended.wait(PAUSE):
        beat += 1
        path.write_text(json.dumps(json.loads(path.read_text()) | {"beat": beat}))


def test_a_lease_is_held_inside_and_given_back_after(tmp_path: Path) -> None:
    with lease(tmp_path, "1of1", nobody, PAUSE):
        assert active_leases(tmp_path)["1of1"]["owner"]["pid"] == os.getpid()
    assert active_leases(tmp_path) == {}


def test_a_lease_is_given_back_after_an_error(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), lease(tmp_path, "1of1", nobody, PAUSE):
        raise ZeroDivisionError
    assert active_leases(tmp_path) == {}


def test_a_job_that_gives_signs_of_life_is_left_alone_and_named(tmp_path: Path) -> None:
    path = write_lease(tmp_path / "qwen", "1of1.000001.json")
    ended = threading.Event()
    beats = threading.Thread(target=keep_alive, args=(path, ended))
    beats.start()
    try:
        with (
            pytest.raises(LeaseError) as refused,
            lease(tmp_path / "qwen", "1of1", nobody, PAUSE, LONG),
        ):
            pass
    finally:
        ended.set()
        beats.join()
    assert str(refused.value) == (
        "shard 1of1 of model qwen is being swept by SLURM job 17 of ada on gpu7; wait for it, or "
        "end it with `scancel 17`, then run again: what it has finished is kept"
    )
    assert newest(tmp_path / "qwen")["1of1"] == (1, path)


def test_a_job_on_another_machine_without_a_sign_of_life_loses_its_lease(tmp_path: Path) -> None:
    write_lease(tmp_path, "1of1.000004.json")
    with lease(tmp_path, "1of1", nobody, PAUSE, patience=0.5):
        assert newest(tmp_path) == {"1of1": (5, tmp_path / "1of1.000005.json")}


def test_a_lease_of_a_killed_process_of_this_machine_is_taken_at_once(tmp_path: Path) -> None:
    program = (
        "import sys, time; from pathlib import Path; from userturn.storage.leases import lease\n"
        "with lease(Path(sys.argv[1]), '1of1', print): print('held', flush=True); time.sleep(600)"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert "held\n" in process.stdout  # read up to it
    process.send_signal(signal.SIGKILL)
    process.communicate()
    with lease(tmp_path, "1of1", nobody, PAUSE, LONG):
        assert active_leases(tmp_path)["1of1"]["owner"]["pid"] == os.getpid()


def test_a_lease_just_made_and_still_empty_counts_as_held_until_patience_ends(
    tmp_path: Path,
) -> None:
    (tmp_path / "1of1.000001.json").touch()
    began = time.monotonic()
    with lease(tmp_path, "1of1", nobody, PAUSE, patience=0.5):
        assert time.monotonic() - began >= 0.5


def test_an_owner_whose_lease_was_taken_over_is_told_so(tmp_path: Path) -> None:
    told = threading.Event()
    with lease(tmp_path, "1of1", lambda who: told.set(), PAUSE):
        write_lease(tmp_path, "1of1.000002.json")
        assert told.wait(30)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("1of1", "2of3", True),
        ("1of2", "2of2", False),
        ("1of2", "2of3", True),  # 0 to 1/2, 1/3 to 2/3
        ("1of3", "2of2", False),  # 0 to 1/3, 1/2 to 1
    ],
)
def test_shards_overlap_where_their_parts_of_the_hashes_do(
    one: str, other: str, expected: bool
) -> None:
    assert overlap(one, other) is expected
    assert overlap(other, one) is expected


def test_shards_without_common_items_are_swept_side_by_side(tmp_path: Path) -> None:
    with lease(tmp_path, "1of2", nobody, PAUSE, LONG), lease(tmp_path, "2of2", nobody, PAUSE, LONG):
        assert sorted(active_leases(tmp_path)) == ["1of2", "2of2"]


def test_a_shard_that_overlaps_one_at_work_is_refused_and_gives_its_own_lease_back(
    tmp_path: Path,
) -> None:
    with lease(tmp_path, "2of3", nobody, PAUSE, LONG):
        with (
            pytest.raises(LeaseError, match="shard 2of3"),
            lease(tmp_path, "1of1", nobody, PAUSE, LONG),
        ):
            pass
        assert list(active_leases(tmp_path)) == ["2of3"]


def test_of_many_at_once_exactly_one_gets_the_lease(tmp_path: Path) -> None:
    write_lease(tmp_path, "1of1.000001.json", job=None)  # a stale one that all of them want
    winners, refused, done = [], [], threading.Barrier(8)

    def want(number: int) -> None:
        try:
            with lease(tmp_path, "1of1", nobody, PAUSE, patience=1.0):
                winners.append(number)
                done.wait(60)
        except LeaseError:
            refused.append(number)
            done.wait(60)

    threads = [threading.Thread(target=want, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(winners), len(refused)) == (1, 7)

"""Leases: only one job at a time sweeps the same items of a model.

A lease is a small file that its owner rewrites every few seconds. A job that wants a held lease
watches it. If the lease changes, its owner lives and the newcomer ends. If it stays unchanged for
long enough, its owner is gone and the newcomer takes the next generation of the lease. No clocks
are compared, and exactly one process creates the file of a generation, so a network file system
suffices.
"""

import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from fractions import Fraction
from getpass import getuser
from pathlib import Path
from typing import Any

import psutil

from userturn.errors import UserError
from userturn.logs import say
from userturn.storage.files import write_text

LeaseContent = dict[str, Any]

PAUSE = 5.0  # seconds between two renewals
CLOCK = 5.0  # seconds by which a corrected clock may move the start of one and the same process
PATIENCE = 60.0  # seconds without a renewal before a lease is taken over: twelve were missed


class LeaseError(UserError):
    """A lease that another job, its `owner`, holds.

    A retry of a job is only started when the driver sees that the lease is free.
    """

    def __init__(self, path: Path, owner: Mapping[str, Any]) -> None:
        """Take the lease's file and its owner."""
        super().__init__(
            f"shard {path.stem.partition('.')[0]} of model {path.parent.name} is being swept by "
            f"{describe_owner(owner)}; wait for it, or end it with `{how_to_end(owner)}`, then run "
            "again: what it has finished is kept"
        )
        self.owner = owner


def _machine() -> list[str]:
    """Return the marks that distinguish this machine and container from others of the same name."""
    marks = [Path("/proc/sys/kernel/random/boot_id"), Path("/proc/self/ns/pid")]
    boot = marks[0].read_text().strip() if marks[0].exists() else ""
    return [socket.gethostname(), boot, str(marks[1].readlink()) if marks[1].exists() else ""]


def _user() -> str:
    try:
        return getuser()
    except (KeyError, OSError):  # a container's user without a name
        return str(os.getuid())


def this_owner() -> LeaseContent:
    """Return the marks of this process as an owner, such as its user, machine and SLURM job."""
    return {
        "user": _user(),
        "machine": _machine(),
        "pid": os.getpid(),
        "began": psutil.Process().create_time(),
        "job": os.environ.get("SLURM_JOB_ID"),
        "node": os.environ.get("SLURMD_NODENAME", socket.gethostname()),
        "gpus": os.environ.get("CUDA_VISIBLE_DEVICES"),
    }


def describe_owner(owner: Mapping[str, Any]) -> str:
    """Return the words for the owner of a lease in a sentence."""
    process = f"SLURM job {owner['job']}" if owner["job"] else f"process {owner['pid']}"
    gpus = f", GPUs {owner['gpus']}" if owner["gpus"] else ""
    return f"{process} of {owner['user']} on {owner['node']}{gpus}"


def how_to_end(owner: Mapping[str, Any]) -> str:
    """Return the command that ends the owner of a lease."""
    return f"scancel {owner['job']}" if owner["job"] else f"kill {owner['pid']}"


def _is_dead(owner: Mapping[str, Any]) -> bool:
    if owner["machine"] != _machine():
        return False
    try:
        began = psutil.Process(owner["pid"]).create_time()
        return bool(abs(began - owner["began"]) > CLOCK)
    except psutil.NoSuchProcess:
        return True


def _interval(shard: str) -> tuple[Fraction, Fraction]:
    """Return the part of all items that a shard such as 2of3 covers."""
    number, _, n = shard.partition("of")
    return Fraction(int(number) - 1, int(n)), Fraction(int(number), int(n))


def overlap(one: str, other: str) -> bool:
    """Return whether two shards, perhaps of different counts, have items in common."""
    (begin, end), (other_begin, other_end) = _interval(one), _interval(other)
    return begin < other_end and other_begin < end


def _read(path: Path) -> LeaseContent | None:
    """Return the content of a lease, or None if it is gone or still being created."""
    with suppress(FileNotFoundError, ValueError):
        content: LeaseContent = json.loads(path.read_bytes())
        return content
    return None


def newest(folder: Path) -> dict[str, tuple[int, Path]]:
    """Return the last generation of every shard's lease, and the path of its file."""
    leases: dict[str, tuple[int, Path]] = {}
    for path in folder.glob("*.json"):
        shard, _, generation = path.stem.partition(".")
        if generation.isdigit() and int(generation) > leases.get(shard, (0, path))[0]:
            leases[shard] = int(generation), path
    return leases


def is_free(folder: Path, shard: str) -> bool:
    """Return whether a shard's lease can be taken at once, because it has no living owner."""
    generation, path = newest(folder).get(shard, (0, folder))
    content = _read(path) if generation else None
    if content is None:
        return not generation
    return bool(content["released"]) or _is_dead(content["owner"])


def rivals(folder: Path, shard: str) -> dict[str, LeaseContent]:
    """Return by shard the owners of leases on the same items, unless they are surely gone."""
    return {
        other: content["owner"]
        for other, content in active_leases(folder).items()
        if overlap(shard, other) and not is_free(folder, other)
    }


def swept_now(folder: Path) -> bool:
    """Return whether any lease in a folder has an owner that is not surely gone."""
    return any(not is_free(folder, shard) for shard in newest(folder))


def active_leases(folder: Path) -> dict[str, LeaseContent]:
    """Return the content of each shard's lease that was not released."""
    contents = {shard: _read(path) for shard, (_, path) in newest(folder).items()}
    return {shard: c for shard, c in contents.items() if c is not None and not c["released"]}


def _wait_until_free(path: Path, patience: float) -> None:
    """Wait until a lease is released or its owner is gone, or raise LeaseError."""
    first = seen = _read(path)
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        if seen is not None and (seen["released"] or _is_dead(seen["owner"])):
            return
        if first is not None and seen is not None and seen != first:
            raise LeaseError(path, seen["owner"])
        time.sleep(min(1.0, patience / 10))
        first, seen = first or seen, _read(path)


def watch(folder: Path, shard: str, patience: float) -> None:
    """Watch the owner of a lease for some seconds, and raise LeaseError if it is at work."""
    _wait_until_free(newest(folder)[shard][1], patience)


def _fresh() -> LeaseContent:
    return {"owner": this_owner(), "beat": 0, "released": False}


def _take(folder: Path, shard: str, patience: float) -> Path:
    """Take the lease's next generation for this process, and return the path of its file."""
    folder.mkdir(parents=True, exist_ok=True)
    while True:
        generation, last = newest(folder).get(shard, (0, None))
        if last is not None:
            _wait_until_free(last, patience)
        path = folder / f"{shard}.{generation + 1:06d}.json"
        with suppress(FileExistsError), path.open("x") as file:  # else another one was quicker
            json.dump(_fresh(), file)
            break
    for earlier in folder.glob(f"{shard}.*.json"):
        if earlier < path:
            earlier.unlink(missing_ok=True)
    return path


def _write(path: Path, **changes: Any) -> None:
    content = (_read(path) or _fresh()) | changes
    write_text(json.dumps(content), path)


def _beat(
    path: Path, shard: str, ended: threading.Event, lost: Callable[[str], None], pause: float
) -> None:
    """Renew a lease until it ends or another job takes it over."""
    beat = 0
    while not ended.wait(pause):
        if newest(path.parent).get(shard, (0, path))[1] != path:
            lost("another job that took its lease over")
            return
        beat += 1
        try:
            _write(path, beat=beat)
        except OSError as error:  # a full disk: the sweep itself will report it
            say(f"lease {path.stem}: it could not be renewed ({error})")


@contextmanager
def lease(
    folder: Path,
    shard: str,
    lost: Callable[[str], None],
    pause: float = PAUSE,
    patience: float = PATIENCE,
    minds_rivals: bool = True,
) -> Iterator[None]:
    """Hold the lease on a shard, such as 1of2, of a model's items, or on any other name.

    Args:
        folder: folder of the model's leases.
        shard: name of the shard.
        lost: called from another thread, with words for the new owner, if it takes the lease over.
        pause: seconds between two renewals.
        patience: seconds without a change after which an owner counts as gone.
        minds_rivals: whether no other job may hold a shard with items in common.

    Raises:
        LeaseError: a running job holds it, or one with items in common.
    """
    others = rivals(folder, shard).items() if minds_rivals else ()
    for other, owner in others:
        say(f"lease {other}: is {describe_owner(owner)} still at work?")
    path = _take(folder, shard, patience)
    ended = threading.Event()
    beats = threading.Thread(target=_beat, args=(path, shard, ended, lost, pause), daemon=True)
    beats.start()
    try:
        if minds_rivals:
            print(f"lease {shard} of {folder.name}: {describe_owner(this_owner())}", flush=True)
            for other, (_, at) in sorted(newest(folder).items()):
                if other != shard and overlap(shard, other):
                    _wait_until_free(at, patience)
        yield
    finally:
        ended.set()
        beats.join()
        _write(path, released=True)

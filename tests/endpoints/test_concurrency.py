"""However many jobs ask a judge, no more requests are in flight than its `concurrency`."""

import asyncio
from pathlib import Path

from userturn.endpoints.concurrency import one_slot


def test_two_jobs_share_the_slots_of_a_judge(tmp_path: Path) -> None:
    most, now, n_done = 0, 0, 0

    async def request() -> None:
        nonlocal most, now, n_done
        async with one_slot(tmp_path, 3):
            now += 1
            most = max(most, now)
            await asyncio.sleep(0.01)
            now -= 1
        n_done += 1

    async def jobs() -> None:
        await asyncio.gather(*(request() for _ in range(12)))

    # Each lock belongs to an open file and not to a process, so this is as two processes are.
    asyncio.run(jobs())
    assert (most, n_done) == (3, 12)


def test_request_that_fails_gives_its_slot_back(tmp_path: Path) -> None:
    async def fails() -> None:
        for _ in range(3):
            try:
                async with one_slot(tmp_path, 1):
                    raise ValueError
            except ValueError:
                pass

    asyncio.run(asyncio.wait_for(fails(), 5))

"""A chat template that hangs or eats memory is an error with a reason, and the process lives on."""

import resource
import signal
import threading
import time

import pytest

from userturn.prompts.bounds import TooMuchError, bounded


def test_work_that_takes_too_long_is_ended() -> None:
    with pytest.raises(TooMuchError, match=r"more than 0\.1 seconds"), bounded(seconds=0.1):
        while True:
            pass


def test_work_that_asks_for_too_much_memory_is_ended() -> None:
    with pytest.raises(MemoryError), bounded(n_bytes=2**26):
        _ = "x" * 2**28


def test_limits_are_as_they_were_afterwards() -> None:
    before = resource.getrlimit(resource.RLIMIT_AS), signal.getsignal(signal.SIGALRM)
    with bounded(seconds=0.2):
        pass
    assert (resource.getrlimit(resource.RLIMIT_AS), signal.getsignal(signal.SIGALRM)) == before
    time.sleep(0.3)  # no alarm is left over


def test_outside_of_the_main_thread_there_is_no_limit_of_time_and_no_error() -> None:
    done = []

    def work() -> None:
        with bounded(seconds=0.01):
            time.sleep(0.05)
        done.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == [True]

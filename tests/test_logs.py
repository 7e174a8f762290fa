"""Progress is one line: how much is done, how fast, and how long the rest takes."""

import pytest

from userturn.logs import Progress


@pytest.mark.parametrize(("n_tokens", "speed"), [(30, "15 tokens/s, "), (0, "")])
def test_requests_without_tokens_have_no_speed_in_tokens(n_tokens: int, speed: str) -> None:
    progress = Progress("a stage", 4, every=3600)
    progress.add(n_tokens)
    # 30 tokens in 2 s are 15 a second; one of four requests took 2 s, so three take 6.
    assert progress.line(2.0) == f"a stage: 1/4 requests, {speed}6 s left"

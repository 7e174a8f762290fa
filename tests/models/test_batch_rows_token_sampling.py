"""Tokens are drawn by each request's own settings and random numbers."""

import numpy as np
import pytest

from tests.support.written_requests import request_of
from userturn.models.batch_rows import Writing, begin, draw_tokens, write_next
from userturn.models.requests import Sampling

pytestmark = pytest.mark.slow  # imports PyTorch

SHARES = (0.2, 0.5, 0.3)


def sampling(temperature: float = 1.0, top_p: float = 1.0, top_k: int = 0) -> Sampling:
    return Sampling(temperature, top_p, top_k, 0.0, 9, (), 0)


# Token 1 is the likeliest, then 2, then 0. At temperature 1/2 the shares are 4 : 25 : 9 of 38; two
# tokens left are 0.625 and 0.375 in the order of their ids.
@pytest.mark.parametrize(
    ("settings", "number", "token"),
    [
        (sampling(), 0.0, 0),
        (sampling(), 0.19, 0),
        (sampling(), 0.21, 1),
        (sampling(), 0.69, 1),
        (sampling(), 0.71, 2),
        (sampling(), 0.999999, 2),
        (sampling(temperature=0.5), 0.10, 0),
        (sampling(temperature=0.5), 0.11, 1),
        (sampling(temperature=0.5), 0.77, 2),
        (sampling(top_k=2), 0.0, 1),
        (sampling(top_k=2), 0.63, 2),
        (sampling(top_k=1), 0.99, 1),
        (sampling(top_k=9), 0.19, 0),
        (sampling(top_p=0.6), 0.0, 1),
        (sampling(top_p=0.6), 0.63, 2),
        (sampling(top_p=0.4), 0.99, 1),
        (sampling(top_p=0.9), 0.19, 0),
        (sampling(top_k=2, top_p=0.6), 0.99, 1),
    ],
)
def test_token_is_the_one_whose_share_holds_the_number(
    settings: Sampling, number: float, token: int
) -> None:
    import torch

    logits = torch.tensor([[1.0, 1.0, 1.0], SHARES, [0.5, 0.25, 0.25]]).log()
    beside = [sampling(top_k=1), settings, sampling(temperature=2.0, top_p=0.5)]
    assert draw_tokens(logits, beside, [0.5, number, 0.5])[1] == token


def test_tokens_that_tie_with_the_last_one_kept_are_kept() -> None:
    import torch

    logits = torch.tensor([[0.5, 0.25, 0.25]]).log()
    assert draw_tokens(logits, [sampling(top_k=2)], [0.76]) == 2


def test_rows_draw_the_same_tokens_alone_and_together() -> None:
    import torch

    logits = torch.tensor([SHARES]).log()

    def rows() -> list[Writing]:
        return [begin(request_of(number, (5,), sampling()), 100) for number in range(6)]

    alone, together = rows(), rows()
    for _ in range(8):
        write_next(together, logits.repeat(6, 1))
    for row in reversed(alone):
        for _ in range(8):
            write_next([row], logits.clone())
    assert [row.token_ids for row in alone] == [row.token_ids for row in together]
    assert len({tuple(row.token_ids) for row in alone}) == 6


def test_shares_of_many_draws_are_those_of_the_distribution() -> None:
    import torch

    numbers = list(np.random.default_rng(1).random(20_000))
    logits = torch.tensor([SHARES]).log().repeat(len(numbers), 1)
    drawn = draw_tokens(logits, [sampling()] * len(numbers), numbers)
    # Standard error of a share of one half: 0.0035.
    assert np.bincount(drawn) / len(numbers) == pytest.approx(SHARES, abs=0.015)


def test_presence_penalty_weighs_on_each_token_written_once() -> None:
    import torch

    settings = Sampling(0.0, 1.0, 0, 0.6, 9, (), None)
    row = begin(request_of(0, (5,), settings), 100)
    for _ in range(4):  # 1, then 0.4: 2, then 0.3: 1 again, which is not penalised twice
        write_next([row], torch.tensor([[0.0, 1.0, 0.9]]))
    assert row.token_ids == [1, 2, 1, 1]


def test_prompt_as_long_as_the_model_s_limit_is_refused_and_a_shorter_one_may_fill_it() -> None:
    settings = sampling()
    assert begin(request_of(0, (5,) * 7, settings), 10).limit == 3
    with pytest.raises(ValueError, match="max_model_len"):
        begin(request_of(0, (5,) * 10, settings), 10)

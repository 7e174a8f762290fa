"""Scores on a real small model: vLLM's are those of transformers, whatever its cache holds."""

from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.slow

TOLERANCE = 1e-3  # nats a token, in float32: the two engines add in another order


@pytest.mark.parametrize("run", ["alone", "beside"])
def test_vllm_gives_every_token_the_score_that_transformers_gives_it(
    made: dict[str, Any], run: str
) -> None:
    oracle, found = made["transformers"]["scored"]["alone"], made["vllm"]["scored"]
    assert len(oracle) == found["n"] == 8
    assert found[run].keys() == oracle.keys()
    for key, expected in oracle.items():
        assert np.allclose(found[run][key], expected, atol=TOLERANCE, rtol=0)


def test_a_turn_that_takes_up_the_answer_is_likelier_after_it(made: dict[str, Any]) -> None:
    own, _, other, _ = list(made["transformers"]["scored"]["alone"].values())[:4]
    assert sum(own) > sum(other)

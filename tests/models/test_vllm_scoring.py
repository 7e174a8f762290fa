"""Scores are of the tokens that were asked about, as either of vLLM's runners returns them."""

import importlib.util
from types import SimpleNamespace as Fields
from typing import Any

import numpy as np
import pytest
import torch

from userturn.models import vllm as vllm_engine
from userturn.models.requests import Completion, ScoringRequest
from userturn.models.vllm import scored

N_TOKENS, N_CONTEXT, N_VOCABULARY = 40, 30, 50
REQUEST = ScoringRequest("key", "d", "i", tuple(range(N_TOKENS)), N_CONTEXT)
STALE = 123.0  # what was in memory


def output(rows: list[float], n_cached: int) -> Any:
    """Return vLLM's output; before the rows comes an empty one, that of the first token."""
    starts = [0, *range(len(rows))]
    return Fields(
        num_cached_tokens=n_cached, prompt_logprobs=Fields(start_indices=starts, logprobs=rows)
    )


def by_v1(n_cached: int) -> Any:
    """Return the output of V1: a row for each token; that of token n has the score -n."""
    return output([-float(n) if n > n_cached else STALE for n in range(1, N_TOKENS)], n_cached)


def by_v2(n_cached: int, n_reported: int | None = None) -> Any:
    """Return the output of V2: a row for each token whose predecessor was computed."""
    rows = [-float(n) for n in range(n_cached + 1, N_TOKENS)]
    return output(rows, n_cached if n_reported is None else n_reported)


@pytest.mark.parametrize("lay_out", [by_v1, by_v2])
@pytest.mark.parametrize("n_cached", [0, 16, 29])
def test_scores_are_of_the_last_tokens_if_only_context_is_cached(
    lay_out: Any, n_cached: int
) -> None:
    found = scored(lay_out(n_cached), REQUEST)
    assert found == Completion((), "scored", logprobs=tuple(-float(n) for n in range(30, 40)))


@pytest.mark.parametrize("lay_out", [by_v1, by_v2])
@pytest.mark.parametrize("n_cached", [30, 32, 39])
def test_text_is_scored_again_if_the_state_before_a_scored_token_is_cached(
    lay_out: Any, n_cached: int
) -> None:
    assert scored(lay_out(n_cached), REQUEST) is None


@pytest.mark.parametrize("n_cached_since", [16, 32, 39])
def test_text_is_scored_again_if_a_preemption_lost_rows(n_cached_since: int) -> None:
    """V2 forgets what it computed before, and reads more from its cache than it first did."""
    assert scored(by_v2(n_cached_since, n_reported=0), REQUEST) is None


def test_rows_that_are_missing_without_a_cache_are_an_error_and_no_endless_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sent: list[bool] = []

    class Vllm:
        """An engine that never returns a row."""

        def add_request(self, key: str, prompt: Any, shares_prefix: bool) -> None:
            sent.append(shares_prefix)

        def step(self) -> list[Any]:
            return [Fields(finished=True, request_id="key", **vars(output([], 0)))]

    monkeypatch.setattr(vllm_engine, "scoring_parameters", lambda shares_prefix=True: shares_prefix)
    steps = vllm_engine.engine_in(Fields(llm_engine=Vllm()))([REQUEST])
    assert [completion.error for _, completion in filter(None, steps)] == [
        f"ValueError: {vllm_engine.NO_SCORES}"
    ]
    assert sent == [True, False]


class V2Runner:
    """vLLM's own worker and processor of V2's rows; its two kernels need a GPU, so torch does them.

    Row n of `logits` is what the model says behind token n of the text.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        import vllm.v1.worker.gpu.sample.prompt_logprob as parts
        from vllm.v1.outputs import LogprobsTensors

        def token_ids(n: Any, starts: Any, rows: Any, n_computed: Any, ids: Any) -> Any:
            begin = int(n_computed[0]) + 1
            return ids[0, begin : begin + int(starts[1] - starts[0])]

        def best(logits: Any, n: int, ids: Any, **_: Any) -> Any:
            found = logits.float().log_softmax(-1).gather(-1, ids[:, None])
            return LogprobsTensors(ids[:, None], found, torch.zeros(len(ids), dtype=torch.int64))

        monkeypatch.setattr(parts, "get_prompt_logprobs_token_ids", token_ids)
        monkeypatch.setattr(parts, "compute_topk_scores", best)
        generator = torch.Generator().manual_seed(0)
        self.logits = torch.randn(N_TOKENS, N_VOCABULARY, generator=generator)
        self.worker = parts.PromptLogprobsWorker(4, torch.device("cpu"))

    def expected(self) -> list[float]:
        """Return the scores of the text's last tokens."""
        found = self.logits.log_softmax(-1)
        return [found[n - 1, n].item() for n in range(N_CONTEXT, N_TOKENS)]

    def output(self, n_reported: int, begins: list[list[int]]) -> Any:
        """Return vLLM's output of the text, read in chunks that begin at some tokens.

        After each list but the last the request is preempted.
        """
        from vllm.v1.engine.logprobs import LogprobsProcessor

        from userturn.models.vllm import scoring_parameters

        parameters, rows = scoring_parameters(), {}
        for chunks in begins:
            self.worker.add_request("r", 0, parameters)
            ends = [*chunks[1:], N_TOKENS] if chunks is begins[-1] else chunks[1:]
            for begin, end in zip(chunks, ends, strict=False):
                rows = self._step(begin, end)
            if chunks is not begins[-1]:
                self.worker.remove_request("r")
        asked = Fields(sampling_params=parameters, request_id="r")
        processor = LogprobsProcessor.from_new_request(None, asked)
        if "r" in rows:
            processor._update_prompt_logprobs(rows["r"])
        return Fields(num_cached_tokens=n_reported, prompt_logprobs=processor.prompt_logprobs)

    def _step(self, begin: int, end: int) -> Any:
        n = end - begin
        batch = Fields(
            idx_mapping_np=np.array([0]),
            idx_mapping=torch.tensor([0]),
            num_tokens=n,
            req_ids=["r"],
            num_computed_prefill_tokens_np=np.array([begin]),
            prefill_len_np=np.array([N_TOKENS]),
            num_scheduled_tokens=np.array([n]),
            query_start_loc_np=np.array([0, n]),
            query_start_loc=torch.tensor([0, n]),
        )
        ids = torch.tensor([[*REQUEST.token_ids, 0]])
        return self.worker.compute_prompt_logprobs(
            lambda states: states,
            self.logits[begin:end],
            batch,
            ids,
            torch.tensor([begin]),
            np.array([N_TOKENS]),
        )


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("vllm") is None, reason="vLLM is not installed")
@pytest.mark.parametrize(
    ("n_reported", "begins", "is_whole"),
    [
        (0, [[0]], True),
        (16, [[16]], True),
        (29, [[29]], True),
        (32, [[32]], False),  # the state before the first scored token is cached
        (39, [[39]], False),
        (0, [[0, 16, 32]], True),  # in chunks
        (16, [[16, 24, 32, 39]], True),
        (0, [[0, 8, 16], [0, 16, 32]], True),  # preempted, and read again
        (0, [[0, 16, 32], [32]], False),  # preempted, and its own beginning found in the cache
        (0, [[0, 16, 32], [16, 24]], False),  # could be read, but is not what was reported
    ],
)
def test_rows_of_vllms_own_v2_worker_are_read_right_or_asked_for_again(
    n_reported: int, begins: list[list[int]], is_whole: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    runner = V2Runner(monkeypatch)
    found = scored(runner.output(n_reported, begins), REQUEST)
    if is_whole:
        assert found is not None
        assert found.logprobs == pytest.approx(runner.expected(), abs=1e-6)
    else:
        assert found is None

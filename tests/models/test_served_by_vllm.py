"""A real server of vLLM is asked with token ids, and writes what the model writes here."""

import importlib.util
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.tiny_model import write_tiny_model
from userturn.config.entries import ServerEntry
from userturn.endpoints.budget import Account
from userturn.endpoints.rate_limit import Pace
from userturn.judges.serve import served
from userturn.models.completion import Engine
from userturn.models.completion_endpoint import CompletionEndpoint
from userturn.models.requests import make_request
from userturn.models.sampling import Sampling
from userturn.models.scoring import scoring_request
from userturn.models.served import ServedModel
from userturn.models.server_check import ServerCheck
from userturn.models.transformers import load_transformers
from userturn.prompts.chat_template import Template
from userturn.prompts.examples import EXAMPLE, user
from userturn.prompts.load_template import load_template

pytestmark = pytest.mark.slow
PORT = 18_923
Both = tuple[Template, Engine, Engine, list[ServerCheck]]


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    """The same tiny model here and at a server."""
    if importlib.util.find_spec("vllm") is None:
        pytest.skip("vLLM does not install on this machine")
    place = tmp_path_factory.mktemp("vllm")
    folder = write_tiny_model(place / "model")
    entry: Any = {"enable_thinking": False}
    template = load_template(folder, entry, "2026-04-02")
    limits = {"dtype": "float32", "max_model_len": 512, "max_num_batched_tokens": 512}
    settings: ServerEntry = {
        "model": str(folder), "concurrency": 4, "timeout": 300, "attempts": 2,
    }  # fmt: skip
    noted: list[ServerCheck] = []
    with served({"model": str(folder), "gpus": 0, "vllm": limits}, PORT):
        endpoint = CompletionEndpoint(f"http://127.0.0.1:{PORT}/v1", settings, None, Pace(4))
        account = Account(place / "costs", "model=tiny", "sweeps/tiny")
        asked = ServedModel("tiny", template, endpoint, account, noted.append)
        here = load_transformers(folder, {"dtype": "float32", "max_model_len": 512})
        yield template, here, asked, noted


def completed(engine: Engine, requests: list[Any]) -> dict[str, Any]:
    return {request.key: made for request, made in filter(None, engine(requests))}


def test_greedy_tokens_are_those_of_the_model_here(both: Both) -> None:
    template, here, asked, noted = both
    sampling = Sampling(0.0, 1.0, 0, 0.0, 12, template.stop_token_ids, None)
    prompts = [template.probe_prompt(EXAMPLE[:1], EXAMPLE[1]["content"])]
    prompts += [template.answer_prompt([user(f"How many are {n}?")]) for n in range(9)]
    wanted = [make_request({}, "d", "i", n, prompt, sampling) for n, prompt in enumerate(prompts)]
    assert completed(asked, wanted) == completed(here, wanted)
    assert noted[0].dialect == (True, True, True, "prompt_logprobs")
    assert noted[0].keeps_top_k and noted[0].account["owned_by"] == "vllm"


def test_log_likelihoods_are_those_of_the_model_here(both: Both) -> None:
    template, here, asked, _ = both
    ids = template.probe_prompt(EXAMPLE[:1], EXAMPLE[1]["content"]).token_ids
    wanted = [scoring_request({}, "d", "i", ids, len(ids) - 20)]
    (there,), (own,) = completed(asked, wanted).values(), completed(here, wanted).values()
    assert len(there.logprobs) == 20
    assert there.logprobs == pytest.approx(own.logprobs, abs=1e-3)

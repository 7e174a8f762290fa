"""The engine transformers: what runs together is what runs alone, request by request."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from tests.support.tiny_families import write_family
from tests.support.tiny_model import write_tiny_model
from tests.support.written_requests import request_of
from userturn.models.engine import load_engine
from userturn.models.requests import Completion, Request, Sampling, ScoringRequest, scoring_request

pytestmark = pytest.mark.slow

LONGEST = 100
N_TOGETHER = 7
ENDS = tuple(range(10, 400, 20))  # enough for random weights to write one now and then
SETTINGS = {"dtype": "float32", "max_model_len": LONGEST, "max_num_seqs": N_TOGETHER}


def write_sliding(folder: Path) -> Path:
    """Write a random model whose heads share keys, half its layers seeing eight tokens only."""
    import torch
    from transformers import AutoModelForCausalLM, Gemma3TextConfig

    torch.manual_seed(0)
    layers = ["sliding_attention", "full_attention"] * 2
    # With tied embeddings it would repeat one token for ever.
    sizes = {
        "tie_word_embeddings": False,
        "hidden_size": 32,
        "intermediate_size": 64,
        "head_dim": 8,
        "initializer_range": 0.4,
    }
    heads = {"num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 2}
    config = Gemma3TextConfig(
        vocab_size=400, sliding_window=8, layer_types=layers, **sizes, **heads
    )
    AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    return folder


MODELS = {
    "full attention": write_tiny_model,
    "sliding windows": write_sliding,
    "states instead of tokens": lambda folder: write_family("qwen3.5", folder),
}


def asked() -> list[Request]:
    """Return prompts of many lengths, some of them twice, with settings of all kinds."""
    random = np.random.default_rng(0)
    made = []
    for number in range(20):
        if number % 5 != 4:
            ids = tuple(int(x) for x in random.integers(10, 300, random.integers(3, 90)))
        heat, n_tokens = (0.0, 0.0, 0.7, 1.0)[number % 4], int(random.integers(1, 30))
        top_p, top_k = (1.0, 0.9)[number % 2], (0, 20, 5)[number % 3]
        penalty = 0.0 if number % 6 else 0.5
        settings = Sampling(heat, top_p, top_k, penalty, n_tokens, ENDS, None)
        made.append(request_of(number, ids, settings))
    return made


class Written(NamedTuple):
    """What one model wrote and scored, alone and together, and what `generate` wrote."""

    alone: dict[str, Completion]
    together: dict[str, Completion]
    backwards: dict[str, Completion]
    oracle: dict[str, tuple[int, ...]]
    scored_alone: dict[str, Completion]
    scored_together: dict[str, Completion]


def oracle(folder: Path, requests: list[Request]) -> dict[str, tuple[int, ...]]:
    """Return what transformers' own `generate` writes greedily, by key."""
    import torch
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(folder, dtype="float32")
    found = {}
    for request in requests:
        sampling, ids = request.sampling, torch.tensor([request.prompt.token_ids])
        if sampling.temperature == 0 and not sampling.presence_penalty:
            most = min(sampling.max_tokens, LONGEST - ids.shape[1])
            about: dict[str, Any] = {"do_sample": False, "pad_token_id": 0, "max_new_tokens": most}
            about |= {"eos_token_id": list(ENDS), "attention_mask": torch.ones_like(ids)}
            written = model.generate(ids, **about)[0, ids.shape[1] :]
            found[request.key] = tuple(written.tolist())
    return found


def scoring_requests(requests: list[Request]) -> list[ScoringRequest]:
    texts = {request.prompt.token_ids for request in requests}
    made = [scoring_request({}, "d", "i", ids, 1 + len(ids) // 2) for ids in sorted(texts)]
    return [*made, scoring_request({}, "d", "i", (5,) * LONGEST, 3)]


@pytest.fixture(scope="module", params=MODELS.values(), ids=MODELS.keys())
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Written:
    folder, requests = request.param(tmp_path_factory.mktemp("model") / "m"), asked()
    alone = load_engine("transformers", folder, SETTINGS | {"exact": True})
    together = load_engine("transformers", folder, SETTINGS)
    texts = scoring_requests(requests)
    with pytest.MonkeyPatch.context() as patch:  # few requests fill their room and move to the left
        patch.setattr("userturn.models.batch_rows.SPARE_COLUMNS", 5)
        runs = [
            {finished[0].key: finished[1] for finished in filter(None, engine(given))}
            for engine, given in [
                (alone, requests),
                (together, requests),
                (together, requests[::-1]),
                (alone, texts),
                (together, texts),
            ]
        ]
    return Written(runs[0], runs[1], runs[2], oracle(folder, requests), runs[3], runs[4])


def test_request_writes_the_same_tokens_alone_and_in_a_batch(written: Written) -> None:
    assert len(written.alone) == 20
    assert {done.finish_reason for done in written.alone.values()} == {"stop", "length"}
    assert written.together == written.alone
    assert written.backwards == written.alone


def test_greedy_tokens_are_those_of_generate(written: Written) -> None:
    assert len(written.oracle) == 8
    found = {key: written.together[key].token_ids for key in written.oracle}
    assert found == written.oracle


def test_scores_are_the_same_alone_and_in_a_batch(written: Written) -> None:
    assert written.scored_together.keys() == written.scored_alone.keys()
    for key, alone in written.scored_alone.items():
        together = written.scored_together[key]
        assert together.error == alone.error
        assert together.logprobs == pytest.approx(alone.logprobs, abs=1e-4)
    refused = [done for done in written.scored_alone.values() if done.error]
    assert [done.error for done in refused] == ["ValueError: the text is as long as max_model_len"]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_model(tmp_path_factory.mktemp("tiny") / "m")


@pytest.mark.parametrize("is_exact", [True, False])
def test_stop_text_ends_a_request_and_a_prompt_without_room_is_refused(
    tiny: Path, is_exact: bool
) -> None:
    engine = load_engine("transformers", tiny, SETTINGS | {"exact": is_exact, "reads_text": True})
    plain = Sampling(0.0, 1.0, 0, 0.0, 30, (), None)
    free = request_of(0, (40, 41, 42), plain)
    (whole,) = [finished[1] for finished in engine([free]) if finished]
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(tiny)
    text = tokenizer.decode(whole.token_ids[5:7])
    until = Sampling(**vars(plain) | {"stop_texts": (text,)})
    stopped, long = request_of(1, (40, 41, 42), until), request_of(2, (5,) * LONGEST, plain)
    found = {f[0].item: f[1] for f in engine([stopped, long]) if f}
    n_needed = next(n for n in range(31) if text in tokenizer.decode(whole.token_ids[:n]))
    assert found["1"] == Completion(whole.token_ids[:n_needed], "stop")
    assert (found["2"].finish_reason, found["2"].token_ids) == ("error", ())


def test_requests_are_read_a_few_at_a_time_and_given_back_before_all_are_read(
    tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("userturn.models.batch.AHEAD", 10)
    n_read = 0

    def endless() -> Any:
        nonlocal n_read
        while True:
            n_read += 1
            yield request_of(n_read, (40 + n_read % 90,), Sampling(1.0, 1.0, 0, 0.0, 3, (), None))

    done = filter(None, load_engine("transformers", tiny, SETTINGS)(endless()))
    for _ in range(50):
        next(done)
    assert n_read <= 50 + N_TOGETHER + 10

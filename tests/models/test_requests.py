"""The identity of a request: everything that can change its output, and nothing else."""

from dataclasses import asdict, replace

import pytest

from userturn.models.requests import Sampling, derive_seed, make_request
from userturn.prompts.chat_template import Prompt
from userturn.storage.hashing import fingerprint

MODEL = {"source": "org/model@abc", "tokenizer_sha256": "t", "engine": "vllm", "dtype": "float32"}
PROMPT = Prompt("Hello", (1, 2, 3))
SAMPLING = Sampling(1.0, 1.0, 0, 0.0, 40, (2,), 7)


def key(**changes: object) -> str:
    parts = {"model": MODEL, "dataset": "d", "item": "a", "sample": 0, "prompt": PROMPT}
    return make_request(**(parts | {"sampling": SAMPLING} | changes)).key


@pytest.mark.parametrize(
    "changes",
    [
        {"model": MODEL | {"source": "org/model@def"}},
        {"model": MODEL | {"engine": "transformers"}},
        {"model": MODEL | {"dtype": "bfloat16"}},
        {"prompt": Prompt("Hello", (1, 2, 4))},
        {"sample": 1},
        {"dataset": "e"},  # each has a journal of its own
        {"sampling": replace(SAMPLING, temperature=0.7)},
        {"sampling": replace(SAMPLING, top_p=0.9)},
        {"sampling": replace(SAMPLING, top_k=20)},
        {"sampling": replace(SAMPLING, presence_penalty=1.0)},
        {"sampling": replace(SAMPLING, max_tokens=41)},
        {"sampling": replace(SAMPLING, stop_token_ids=(2, 5))},
        {"sampling": replace(SAMPLING, seed=8)},
    ],
)
def test_what_can_change_the_output_changes_the_key(changes: dict[str, object]) -> None:
    assert key(**changes) != key()


def test_key_is_the_fingerprint_of_all_that_shapes_a_request() -> None:
    shapes = {"key_version": 1, "model": MODEL, "dataset": "d", "sample": 0}
    sampling = asdict(SAMPLING)
    for name in ("stop_texts", "begins_with", "is_played"):
        del sampling[name]  # empty: keys stay as they were before
    asked = {"prompt_token_ids": [1, 2, 3], "sampling": sampling}
    assert key() == fingerprint(shapes | asked)


def test_order_of_the_models_keys_does_not_change_the_key() -> None:
    assert key(model=dict(reversed(MODEL.items()))) == key()


def test_items_with_equal_prompts_share_a_key() -> None:
    assert key(item="b") == key()


def test_text_of_the_prompt_does_not_change_the_key() -> None:
    # The model reads token ids; the text is there for people.
    assert key(prompt=Prompt("another spelling", PROMPT.token_ids)) == key()


def test_seeds_differ_between_all_requests_of_a_study() -> None:
    seeds = {
        derive_seed(1, role, dataset, str(item), sample)
        for role in ("assistant", "user")
        for dataset in ("a", "b")
        for item in range(500)
        for sample in range(5)
    }
    assert len(seeds) == 2 * 2 * 500 * 5


def test_seed_is_the_same_in_every_process() -> None:
    # First 8 bytes of sha256('[1,"user","gsm8k","7",0]'), big-endian, without the lowest bit.
    assert derive_seed(1, "user", "gsm8k", "7", 0) == 0x07243AF5F821F4B1 >> 1


def test_seed_fits_a_signed_64_bit_column() -> None:
    assert all(0 <= derive_seed(1, "user", "d", str(i), 0) < 2**63 for i in range(100))

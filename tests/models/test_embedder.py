"""Vectors of texts are those that sentence-transformers documents, and a wrong model is refused."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.support.tiny_encoder import write_tiny_encoder
from userturn.errors import UserError
from userturn.models.embedder import embedded

TEXTS = ["Why?", "How many apples are left?", "And pears?", "Thanks.", "How many pears?"]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_encoder(tmp_path_factory.mktemp("encoder") / "tiny")


def test_a_vector_is_the_mean_of_states_over_the_attention_mask_at_length_1(encoder: Path) -> None:
    import torch
    from transformers import AutoModel, AutoTokenizer

    # As on the cards of sentence-transformers: one padded batch, and a sum over what is no padding.
    batch = AutoTokenizer.from_pretrained(encoder)(TEXTS, padding=True, return_tensors="pt")
    with torch.no_grad():
        states = AutoModel.from_pretrained(encoder)(**batch).last_hidden_state.numpy()
    mask = batch["attention_mask"].numpy()[:, :, None]
    means = (states * mask).sum(1) / mask.sum(1)
    expected = means / np.sqrt((means**2).sum(1, keepdims=True))
    found = embedded(TEXTS, str(encoder), None)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    np.testing.assert_array_equal(found[::-1], embedded(TEXTS[::-1], str(encoder), None))


def test_what_is_beyond_the_models_longest_text_is_not_read(encoder: Path) -> None:
    long, longer = embedded(["why " * 70, "why " * 70 + "thanks"], str(encoder), None)
    np.testing.assert_array_equal(long, longer)


def refused(folder: Path, message: str) -> None:
    with pytest.raises(UserError, match=message) as error:
        embedded(["Why?"], str(folder), None)
    assert "\n" not in str(error.value)


def test_what_does_not_average_lacks_a_file_or_is_not_there_is_refused(tmp_path: Path) -> None:
    refused(tmp_path / "nowhere", "does not exist")
    folder = write_tiny_encoder(tmp_path / "first")
    pooling = folder / "1_Pooling"
    pooling.mkdir()
    (pooling / "config.json").write_text(json.dumps({"pooling_mode_cls_token": True}))
    refused(folder, r"does not average \(see '1_Pooling'\); expected an encoder")
    (pooling / "config.json").write_text(json.dumps({"pooling_mode_mean_tokens": True}))
    assert embedded(["Why?"], str(folder), None).shape == (1, 16)
    for name in ("tokenizer.json", "tokenizer_config.json", "vocab.txt"):
        (folder / name).unlink()
    refused(folder, "has no tokenizer; expected an encoder")
    cut = write_tiny_encoder(tmp_path / "cut")
    (cut / "model.safetensors").write_bytes(b"\0" * 99)
    refused(cut, "transformers cannot load it")

"""Texts as vectors: the states of an encoder, averaged over a text's tokens and scaled to length 1.

This is what sentence-transformers does with the models that it calls mean-pooled (Reimers and
Gurevych 2019, arXiv:1908.10084).
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from userturn.errors import UserError
from userturn.models.fetch import model_folder
from userturn.models.whole_model import NOT_UNDERSTOOD
from userturn.storage.files import read_json

MOST_READ = 512  # tokens of a text; the rest is not read
AT_ONCE = 64  # texts
AVERAGING = ("Pooling", "Normalize")  # steps after the encoder, as sentence-transformers names them
EXPECTED = (
    "expected an encoder whose states are averaged, with its tokenizer, such as "
    "sentence-transformers/all-MiniLM-L6-v2: correct `embedder` in the config"
)


def embedded(texts: Sequence[str], source: str, revision: str | None) -> np.ndarray:
    """Return a vector of length 1 for each text, as rows.

    Raises:
        UserError: transformers cannot load the whole model with its tokenizer, there is none, or it
            is no encoder whose states are just averaged.
    """
    tokenizer, model = _loaded(model_folder(source, revision))
    most = min(MOST_READ, tokenizer.model_max_length)
    ids = [tokenizer(text, truncation=True, max_length=most)["input_ids"] for text in texts]
    vectors_by_position: dict[int, np.ndarray] = {}
    for places in _equally_long(ids):
        vectors_by_position |= zip(
            places, _means(model, [ids[position] for position in places]), strict=True
        )
    vectors = np.stack([vectors_by_position[position] for position in range(len(ids))])
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors


def _equally_long(ids: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """Yield the positions of texts with equally many tokens, which need no padding together."""
    by_length: dict[int, list[int]] = {}
    for position, tokens in enumerate(ids):
        by_length.setdefault(len(tokens), []).append(position)
    for _, places in sorted(by_length.items()):
        yield from (places[start : start + AT_ONCE] for start in range(0, len(places), AT_ONCE))


def _means(model: Any, ids: Sequence[Sequence[int]]) -> np.ndarray:
    import torch

    with torch.inference_mode():
        states = model(input_ids=torch.tensor(ids, device=model.device)).last_hidden_state
    means: np.ndarray = states.double().mean(1).cpu().numpy()
    return means


def _loaded(folder: Path) -> tuple[Any, Any]:
    """Return the tokenizer and the encoder of a folder, on the GPU if there is one."""
    import torch
    from safetensors import SafetensorError
    from transformers import AutoModel, AutoTokenizer

    _check_averages(folder)
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder)
        model, about = AutoModel.from_pretrained(folder, dtype="float32", output_loading_info=True)
    except (*NOT_UNDERSTOOD, TypeError, SafetensorError) as error:
        raise UserError(
            f"embedder '{folder}': transformers cannot load it ({str(error).splitlines()[0]}); "
            f"{EXPECTED}"
        ) from error
    files = tokenizer.vocab_files_names.values()  # without any, transformers makes an empty one
    if not any((folder / name).is_file() for name in files):
        raise UserError(f"embedder '{folder}' has no tokenizer; {EXPECTED}")
    # A head on the first token, which is not read, may be missing.
    missing = [name for name in about["missing_keys"] if "pooler" not in name]
    if missing or model.config.is_encoder_decoder:
        what = f"lacks weights such as '{min(missing)}'" if missing else "has a decoder as well"
        raise UserError(f"embedder '{folder}' {what}; {EXPECTED}")
    return tokenizer, model.to("cuda" if torch.cuda.is_available() else "cpu").eval()


def _check_averages(folder: Path) -> None:
    """Refuse a sentence-transformers folder that does not just average token states."""
    for step in sorted(folder.glob("[0-9]_*")):
        path, kind = step / "config.json", step.name[2:]
        about = read_json(path) if path.is_file() else {}
        is_mean = about.get("pooling_mode_mean_tokens", about.get("pooling_mode") == "mean")
        if kind not in AVERAGING or (kind == "Pooling" and not is_mean):
            raise UserError(f"embedder '{folder}' does not average (see '{step.name}'); {EXPECTED}")

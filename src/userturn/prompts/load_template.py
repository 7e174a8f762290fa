"""Load a model folder's tokenizer and chat template, with the choices of the model's entry.

transformers loses the pre-tokenizer that llama.cpp names in a GGUF file (`tokenizer.ggml.pre`). It
goes by the architecture alone, so that it takes a Llama which splits digits for one which does
not. So the name is noted beside the converted model, and the pre-tokenizer is restored here.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from userturn.config.formats import (
    NO_SYSTEM,
    instruction_file,
    plays_the_user,
    roles_of,
    system_file,
)
from userturn.config.model_keys import ModelEntry
from userturn.errors import UserError
from userturn.prompts.chat_template import RolePlayTemplate, Template
from userturn.prompts.given_messages import LEAVE_OUT
from userturn.prompts.header import SHARED, header_of
from userturn.prompts.tokenize import TemplateError
from userturn.storage.files import read_json, read_text, written_whole

ROLE = re.compile(r"(?:user|human)[|｜#>\])]*", re.IGNORECASE)  # also a marker that is no token


def bare_header_template(template: Template) -> Template:
    """Return a template whose probe prompts end in the name of the user's role.

    A control token that holds the name stays whole, and a name in plain text keeps its colon.

    Raises:
        TemplateError: the header names no role, or ends in it.
    """
    header = template.user_header_text + template.left_to_the_model
    named = [*ROLE.finditer(header)]
    if not named:
        raise TemplateError(
            f"`header: bare`: the user header {header!r} names no role; {LEAVE_OUT}"
        )
    start, end = named[-1].span()
    for token in template.control_tokens:
        position = header.rfind(token)
        if 0 <= position <= start and end <= position + len(token):
            start, end = position, position + len(token)
            break
    else:
        end += header[end:].startswith(":")
    if not header[end:]:
        raise TemplateError(
            f"`header: bare`: the user header {header!r} ends in its role and is bare already; "
            f"{LEAVE_OUT}"
        )
    return replace(template, user_header=header[start:end], is_bare=True)


UNREADABLE = (OSError, ValueError, ImportError, LookupError, AttributeError, TypeError)


def load_template(
    folder: Path,
    entry: ModelEntry,
    today: str,
    record: Mapping[str, Any] = MappingProxyType({}),
    is_shared: bool = False,
) -> Template:
    """Return the template of a model folder with the choices of the model's entry.

    Args:
        folder: the model's folder.
        entry: the model's entry in the config.
        today: date given to templates that print one.
        record: the model's description in its study, if it has one.
        is_shared: whether the header is derived, and a GGUF tokenizer read, as in studies of
            earlier versions. If there is a record, it decides instead.

    Raises:
        TemplateError: the folder has no tokenizer that can be loaded or no chat template, its end
            tokens are no ids, or its template has no bare header, which the entry wants.
    """
    if (folder / "tekken.json").is_file() and not (folder / "tokenizer.json").is_file():
        raise TemplateError(
            f"model folder '{folder}' has tekken.json and no tokenizer.json: its prompts are "
            "written by mistral-common's code and not by a chat template, so none can be checked; "
            "use a repository or revision with tokenizer.json and chat_template.jinja"
        )
    is_shared = header_of(record) == SHARED if record else is_shared
    tokenizer = _tokenizer(folder, entry)
    if not is_shared:
        repair(tokenizer, folder)
    tokenizer.chat_template = _own_template(folder, entry, tokenizer)
    if not tokenizer.chat_template:
        raise TemplateError(
            f"model folder '{folder}' has no chat template, so it has no user header; expected "
            "chat_template.jinja, or `chat_template` in the model's entry: a file with one, such "
            "as data/templates/transcript.jinja for a base model"
        )
    make: Callable[..., Template] = Template
    if plays_the_user(entry):
        told = read_text(instruction_file(entry)).strip()
        make = partial(RolePlayTemplate, instruction=told, roles=roles_of(entry))
    template = make(
        tokenizer,
        date.fromisoformat(today),
        options_of(entry),
        entry.get("user_header"),
        tuple(entry.get("stop", ())),
        _end_of_sequence(folder),
        merge_system_message=entry.get("merge_system_message", False),
        system=_system(entry),
        is_shared=is_shared,
    )
    if entry.get("header") == "bare" and not plays_the_user(entry):
        template = bare_header_template(template)
    return replace(template, record=record)


def options_of(entry: ModelEntry) -> dict[str, Any]:
    """Return the keyword arguments that a model's entry gives its chat template."""
    return {"enable_thinking": entry["enable_thinking"], **entry.get("template_options", {})}


def _tokenizer(folder: Path, entry: ModelEntry) -> Any:
    from huggingface_hub.errors import StrictDataclassError  # of a config.json
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(
            folder, trust_remote_code=entry.get("trust_remote_code", False)
        )
    except (*UNREADABLE, StrictDataclassError) as error:
        for path in sorted(folder.glob("tokenizer*.json")):
            read_json(path)  # which names the file that is broken
        raise TemplateError(
            f"model folder '{folder}' has no tokenizer that transformers can load "
            f"({type(error).__name__}: {str(error).splitlines()[0]}); expected tokenizer.json "
            "beside config.json: fetch the model again, or save its tokenizer there by "
            "`save_pretrained`"
        ) from error


def _own_template(folder: Path, entry: ModelEntry, tokenizer: Any) -> str | None:
    """Return the chat template of an entry, else the tokenizer's or the folder's, else None."""
    if "chat_template" in entry:
        return read_text(entry["chat_template"])
    template: str | None = getattr(tokenizer, "chat_template", None)
    of_processor = folder / "chat_template.json"  # of older vision models
    if template is None and of_processor.is_file():
        template = read_json(of_processor).get("chat_template")
    return template


def _system(entry: ModelEntry) -> str | None:
    """Return the system prompt of an entry: its file's text, "" for none, None where unchanged."""
    path = system_file(entry)
    if path is not None:
        return read_text(path).strip()
    return "" if entry.get("system") == NO_SYSTEM else None


def _end_of_sequence(folder: Path) -> tuple[int, ...]:
    """Return the ids of the end tokens in a model folder's generation config.

    Without that file they are read from config.json, whose end tokens vLLM always obeys.
    """
    path = folder / "generation_config.json"
    if not path.is_file():
        path = folder / "config.json"
    settings = read_json(path) if path.is_file() else {}
    token_ids = settings.get(
        "eos_token_id", (settings.get("text_config") or {}).get("eos_token_id")
    )
    ends = token_ids if isinstance(token_ids, list) else [] if token_ids is None else [token_ids]
    if not all(isinstance(end, int) for end in ends):
        raise TemplateError(
            f"'{path}': eos_token_id is {token_ids!r}, expected a token's id or a list of them; "
            "correct it, or fetch the model again"
        )
    return tuple(ends)


NOTE = "ggml_pre.txt"  # beside the converted model
BPE = "gpt2"  # tokenizers of other kinds have no pre-tokenizer
# Names of llama.cpp's `llm_load_vocab` for what transformers makes of the architecture.
AS_READ = {"default", "gpt-2", "llama-bpe", "llama3", "llama-v3", "qwen2", "mpt", "olmo", "phi-2"}
# Each digit by itself, then as in GPT-2.
DIGITS_APART = {"smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b"}


def note_pre_tokenizer(gguf: Path, folder: Path) -> None:
    """Write the name of a GGUF file's pre-tokenizer, if any, beside its converted model, once.

    Raises:
        UserError: the name of the pre-tokenizer is unknown.
    """
    if (folder / NOTE).is_file():
        return
    from gguf import GGUFReader

    fields = GGUFReader(gguf).fields
    kind, pre = (_text(fields, f"tokenizer.ggml.{name}") for name in ("model", "pre"))
    if kind == BPE and pre not in AS_READ | DIGITS_APART | {None}:
        raise UserError(
            f"'{gguf}' has the pre-tokenizer '{pre}', which transformers does not read, so its "
            "token ids would differ from the vendor's; name the original model in the config"
        )
    with written_whole(folder / NOTE) as temporary:
        temporary.write_text(pre if kind == BPE and pre else "")


def _text(fields: Any, name: str) -> str | None:
    return str(fields[name].contents()) if name in fields else None


def repair(tokenizer: Any, folder: Path) -> None:
    """Restore the pre-tokenizer that is noted beside a model, if transformers lost it."""
    note = folder / NOTE
    if not note.is_file() or note.read_text() not in DIGITS_APART:
        return
    from tokenizers.pre_tokenizers import ByteLevel, Digits, Sequence

    apart = [Digits(individual_digits=True), ByteLevel(add_prefix_space=False)]
    tokenizer.backend_tokenizer.pre_tokenizer = Sequence(apart)

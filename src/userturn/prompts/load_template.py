"""Load a model folder's tokenizer and chat template, with the choices of the model's entry."""

import json
from datetime import date
from pathlib import Path

from userturn.config.entries import ModelEntry
from userturn.prompts.chat_template import Template
from userturn.prompts.tokenize import TemplateError


def load_template(folder: Path, entry: ModelEntry, today: str) -> Template:
    """Return the template of a model folder with the choices of the model's entry.

    Raises:
        TemplateError: the folder has no tokenizer or no chat template.
    """
    from transformers import AutoTokenizer

    if (folder / "tekken.json").is_file() and not (folder / "tokenizer.json").is_file():
        raise TemplateError(
            f"model folder '{folder}' has tekken.json and no tokenizer.json: its prompts are "
            "written by mistral-common's code and not by a chat template, so none can be checked; "
            "use a repository or revision with tokenizer.json and chat_template.jinja"
        )
    try:
        tokenizer = AutoTokenizer.from_pretrained(
            folder, trust_remote_code=entry.get("trust_remote_code", False)
        )
    except (OSError, ValueError, ImportError) as error:
        raise TemplateError(
            f"model folder '{folder}' has no tokenizer that transformers can load "
            f"({str(error).splitlines()[0]}); expected tokenizer.json beside config.json"
        ) from error
    if "chat_template" in entry:
        tokenizer.chat_template = Path(entry["chat_template"]).read_text()
    if not getattr(tokenizer, "chat_template", None):
        raise TemplateError(
            f"model folder '{folder}' has no chat template, so it has no user header; expected "
            "chat_template.jinja, or `chat_template` in the model's entry: a file with one"
        )
    return Template(
        tokenizer,
        date.fromisoformat(today),
        {"enable_thinking": entry["enable_thinking"], **entry.get("template_options", {})},
        entry.get("user_header"),
        tuple(entry.get("stop", ())),
        _end_of_sequence(folder),
        merge_system_message=entry.get("merge_system_message", False),
    )


def _end_of_sequence(folder: Path) -> tuple[int, ...]:
    """Return the ids of the end tokens in a model folder's generation config."""
    path = folder / "generation_config.json"
    ends = json.loads(path.read_text()).get("eos_token_id") if path.is_file() else None
    return tuple(ends) if isinstance(ends, list) else () if ends is None else (ends,)

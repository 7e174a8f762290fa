"""Describe a model before it runs: its revision, hashes, user header, stops and checks."""

import hashlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, cast

from userturn.config.endpoint_models import has_endpoint
from userturn.config.formats import DEFAULT, format_of, model_of
from userturn.config.model_keys import ModelEntry
from userturn.models.fetch import model_folder, source_identity
from userturn.models.model_files import files_of_folder
from userturn.models.revision import pinned_revision, resolved_revision
from userturn.models.setup_refusals import check_setup
from userturn.models.weights import weights_sha256
from userturn.models.whole_model import check_weights
from userturn.prompts.chat_template import Template
from userturn.prompts.examples import EXAMPLE
from userturn.prompts.format_checks import prove_format
from userturn.prompts.load_template import load_template
from userturn.prompts.settings_read import has_own_code, settings_read
from userturn.prompts.template_checks import prove
from userturn.storage.atomic_files import write_json
from userturn.storage.hashing import fingerprint
from userturn.study.aliases import Aliases
from userturn.study.grid import Grid
from userturn.study.model_setup import model_setup, with_prompts


def describe_model(grid: Grid, model: str, path_to_description: str | Path) -> None:
    """Write a model's description as JSON: its revision, hashes, user header, stops and checks.

    Raises:
        UserError: the model is not available, its engine would refuse it, or its prompts fail the
            checks.
    """
    entry = grid.entries[model]
    is_loaded = not has_endpoint(entry)  # else a server has the weights
    pins = [_path_to_pin(grid, name) for name in (model, grid.places.of_model(model))]
    wanted = pinned_revision(pins, entry["source"], entry["revision"])
    revision = resolved_revision(entry["source"], wanted, is_loaded)
    folder = model_folder(entry["source"], revision, is_loaded)
    setup, aliases = model_setup(grid, model, folder, is_fetched=is_loaded), Aliases(grid.results)
    check_setup(setup)
    if is_loaded:
        check_weights(folder)
    template = load_template(folder, entry, grid.config["today"])
    check_setup(with_prompts(setup, template))
    source = source_identity(entry["source"], revision, aliases.of_folder)
    description = {
        "source": entry["source"],
        "revision": revision,
        "revision_asked_for": entry["revision"],
        "trust_remote_code": entry["trust_remote_code"],
        "longest_text": setup.architecture.longest,
        "identity": {
            "source": source,
            **tokenizer_identity(template, partial(aliases.of_template, source=source)),
        },
        "settings_read": settings_read(str(template.tokenizer.chat_template), has_own_code(folder)),
        "forms": aliases.forms,
        "files": files_of_folder(entry["source"]),
        "weights_sha256": weights_sha256(entry["source"]) if is_loaded else {},
        **prompts_of(template, default_template(grid, model, folder)),
    }
    pin = {"source": entry["source"], "asked_for": entry["revision"], "revision": revision}
    identity = grid.model_fingerprint(model)
    if format_of(model) == DEFAULT:
        write_json(pin, pins[0], identity)
    write_json(description, path_to_description, identity)


def _path_to_pin(grid: Grid, model: str) -> Path:
    return grid.results / "revisions" / f"{model_of(model)}.json"


def default_template(grid: Grid, model: str, folder: Path) -> Template | None:
    """Return a model's template without its format, if it has one."""
    if format_of(model) == DEFAULT:
        return None
    entry = cast(ModelEntry, grid.opened(grid.entries[model_of(model)]))
    return load_template(folder, entry, grid.config["today"])


def tokenizer_identity(template: Template, known_as: Callable[[str, str], str]) -> dict[str, str]:
    """Return the hashes that identify a model's tokenizer and its chat template.

    Args:
        template: of the model.
        known_as: returns the hash that a chat template is known by, from that of its text.
    """
    text = template.tokenizer.chat_template
    return {
        "tokenizer_sha256": _tokenizer_sha256(template.tokenizer),
        "template_sha256": known_as(fingerprint(text), str(text)),
    }


def prompts_of(template: Template, default: Template | None) -> dict[str, Any]:
    """Return the part of the description that shows what a model's prompts look like.

    Args:
        template: the model's.
        default: without its format, if it has one.

    Raises:
        TemplateError: the prompts fail a check.
    """
    of_format = [] if default is None else [prove_format(template, default)]
    names = template.tokenizer.convert_ids_to_tokens
    return {
        "user_header": template.user_header_text,
        "left_to_the_model": template.left_to_the_model,
        "user_header_is_by_hand": template.header_is_by_hand,
        "stop": names(list(template.stop_token_ids)),
        "stop_token_ids": template.stop_token_ids,
        "stop_texts": template.stop_texts,
        "end_of_answer": names(list(template.end_token_ids)),
        "end_of_answer_token_ids": template.end_token_ids,
        "end_of_answer_texts": template.end_texts,
        "answer_form": template.answer_form.to_json(),
        "template_options": dict(template.options),
        **({} if template.system is None else {"system": template.system}),
        "example_prompt": template.probe_prompt(EXAMPLE[:1], EXAMPLE[1]["content"]).text,
        "proofs": [*prove(template), *of_format],
    }


def _tokenizer_sha256(tokenizer: Any) -> str:
    """Return the sha256 of a tokenizer's vocabulary and rules."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is not None and hasattr(backend, "to_str"):
        return hashlib.sha256(backend.to_str().encode()).hexdigest()
    added = {token.content: i for i, token in tokenizer.added_tokens_decoder.items()}
    return fingerprint([type(tokenizer).__name__, tokenizer.get_vocab(), added])

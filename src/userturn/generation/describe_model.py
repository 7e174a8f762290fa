"""Describe a model before it runs: its revision, hashes, user header, stops and checks."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast

from userturn.config.endpoint_models import has_endpoint
from userturn.config.formats import (
    DEFAULT,
    entry_in_format,
    format_of,
    formats,
    model_of,
    name_in_format,
)
from userturn.config.model_keys import ModelEntry
from userturn.errors import UserError
from userturn.logs import say
from userturn.models.fetch import model_folder, pinned_revision, resolved_revision, source_identity
from userturn.models.model_files import files_of_folder, weights_sha256
from userturn.models.setup_refusals import check_setup
from userturn.models.whole_model import check_weights
from userturn.prompts.chat_template import RolePlayTemplate, Template
from userturn.prompts.examples import EXAMPLE
from userturn.prompts.header import SHARED, header_of
from userturn.prompts.load_template import load_template
from userturn.prompts.reasoning import OFF, contradiction, thinking_state
from userturn.prompts.template_checks import CLAIMS, Other, prove, prove_format
from userturn.prompts.template_text import has_own_code, settings_read
from userturn.sources.registry import sources
from userturn.storage.files import write_json
from userturn.storage.hashing import fingerprint
from userturn.study.aliases import Aliases
from userturn.study.grid import Grid
from userturn.study.model_description import add_shortest_prompt, model_setup


def describe_model(grid: Grid, model: str, path_to_description: str | Path) -> None:
    """Write a model's description as JSON: its revision, hashes, user header, stops and checks.

    For a model in the default format its revision is also noted in `results/revisions`.

    Raises:
        UserError: the model is not available, its engine would refuse it, or its prompts fail the
            checks.
    """
    entry = grid.entries[model]
    is_loaded = not has_endpoint(entry)  # else a server has the weights
    names = map(model_of, (model, grid.places.model_name(model)))
    pins = [grid.results / "revisions" / f"{name}.json" for name in names]
    pinned = pinned_revision(pins, entry["source"], entry["revision"])
    revision = resolved_revision(entry["source"], pinned, is_loaded)
    folder = model_folder(entry["source"], revision, is_loaded)
    setup, aliases = model_setup(grid, model, folder, is_fetched=is_loaded), Aliases(grid.results)
    check_setup(setup)
    if is_loaded:
        check_weights(folder)
    is_shared = begins_with_shared_headers(grid)
    template = load_template(folder, entry, grid.config["today"], is_shared=is_shared)
    check_setup(add_shortest_prompt(setup, template))
    _check_conversations(grid, model, template)
    source = source_identity(entry["source"], revision, aliases.folder_identity)
    description = {
        "source": entry["source"],
        "revision": revision,
        "revision_asked_for": entry["revision"],
        "trust_remote_code": entry["trust_remote_code"],
        "longest_text": setup.architecture.longest,
        "identity": {
            "source": source,
            **tokenizer_identity(template, partial(aliases.template_identity, source=source)),
        },
        "settings_read": settings_read(str(template.tokenizer.chat_template), has_own_code(folder)),
        "forms": aliases.forms,
        "files": files_of_folder(entry["source"]),
        "weights_sha256": weights_sha256(entry["source"]) if is_loaded else {},
        **prompts_of(template, other_formats(grid, model, folder, is_shared)),
    }
    if description["thinking_contradicts"]:
        say(f"WARNING: the model '{model}': {description['thinking_contradicts']}")
    pin = {"source": entry["source"], "asked_for": entry["revision"], "revision": revision}
    identity = grid.model_fingerprint(model)
    if format_of(model) == DEFAULT:
        write_json(pin, pins[0], identity)
    write_json(description, path_to_description, identity)


def _check_conversations(grid: Grid, model: str, template: Template) -> None:
    """Check that self-play shows a model its true history."""
    if not template.answer_layout.keeps_reasoning or thinking_state(template) == OFF:
        return
    tables = (of for source in sources().values() for of in source.asked(grid))
    if any(of.model == model and of.depth > 1 for of in tables):
        raise UserError(
            f"self-play would show '{model}' its earlier answers without the reasoning that its "
            "chat template keeps; switch its thinking off, or leave the model out of a study with "
            "self-play"
        )


def other_formats(grid: Grid, model: str, folder: Path, is_shared: bool) -> list[Other]:
    """Return the other ways of writing a model's prompts, from which its format must differ.

    These are the default, the format without each of its levers, and the formats of the model that
    come before it by name. A model in the default format has none. All have headers as
    `is_shared` says (`load_template`).
    """
    name = format_of(model)
    levers = {name: leave_out(of, "models") for name, of in formats(grid.config).items()}
    if name == DEFAULT:
        return []
    base, own = grid.entries[model_of(model)], levers[name]
    others: list[tuple[str, dict[str, Any]]] = [("the default format", {})]
    if len(own) > 1:
        others += [(f"the format without `{n}`", leave_out(own, n)) for n in own if n in CLAIMS]
    others += [
        (f"the format `{other}`", choices)
        for other, choices in levers.items()
        if other < name and name_in_format(model_of(model), other) in grid.entries
    ]

    def template_in(choices: Mapping[str, Any]) -> Template:
        entry = cast("ModelEntry", grid.opened(entry_in_format(base, name, choices)))
        return load_template(folder, entry, grid.config["today"], is_shared=is_shared)

    return [
        Other(
            sentence,
            template_in(choices),
            [key for key in {**own, **choices} if own.get(key) != choices.get(key)],
        )
        for sentence, choices in others
    ]


def begins_with_shared_headers(grid: Grid) -> bool:
    """Return whether a study has models that an earlier version described.

    The headers of such models are no longer than what all messages share, and the headers of all
    models of one study must end alike.
    """
    described = sorted(grid.results.glob("models/*.json"))
    return any(header_of(json.loads(path.read_text())) == SHARED for path in described)


def leave_out(choices: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return a mapping without one of its keys."""
    return {key: value for key, value in choices.items() if key != name}


def tokenizer_identity(template: Template, alias_of: Callable[[str, str], str]) -> dict[str, str]:
    """Return the hashes that identify a model's tokenizer and its chat template.

    `alias_of` takes the hash of a template's text and that text, and returns the hash to record.
    """
    text = template.tokenizer.chat_template
    return {
        "tokenizer_sha256": _tokenizer_sha256(template.tokenizer),
        "template_sha256": alias_of(fingerprint(text), str(text)),
    }


def prompts_of(template: Template, others: Sequence[Other]) -> dict[str, Any]:
    """Return the fields of a model's description on its prompts.

    Its format must differ from `others`, the other ways of writing its prompts.

    Raises:
        TemplateError: the prompts fail a check.
    """
    of_format = [prove_format(template, others)] if others else []
    told = {"instruction": template.instruction} if isinstance(template, RolePlayTemplate) else {}
    names, state = template.tokenizer.convert_ids_to_tokens, thinking_state(template)
    return {
        "user_header": template.user_header_text,
        "header": template.header_extent,
        "left_to_the_model": template.left_to_the_model,
        "user_header_is_by_hand": template.header_is_by_hand,
        "stop": names(list(template.stop_token_ids)),
        "stop_token_ids": template.stop_token_ids,
        "stop_texts": template.stop_texts,
        "end_of_answer": names(list(template.end_token_ids)),
        "end_of_answer_token_ids": template.end_token_ids,
        "end_of_answer_texts": template.end_texts,
        "answer_form": template.answer_layout.to_json(),
        "thinking": state,
        "thinking_contradicts": contradiction(template, state),
        "template_options": dict(template.options),
        **({} if template.system is None else {"system": template.system}),
        **told,
        "example_prompt": template.probe_prompt(EXAMPLE[:1], EXAMPLE[1]["content"]).text,
        "proofs": [*prove(template), *of_format],
    }


def _tokenizer_sha256(tokenizer: Any) -> str:
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is not None and hasattr(backend, "to_str"):
        return hashlib.sha256(backend.to_str().encode()).hexdigest()
    added = {token.content: i for i, token in tokenizer.added_tokens_decoder.items()}
    return fingerprint([type(tokenizer).__name__, tokenizer.get_vocab(), added])

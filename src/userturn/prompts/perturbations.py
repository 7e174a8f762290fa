"""Perturbations: named operators on the answer, or on its context, before the probe.

An operator is a function of a context. Its keyword-only parameters are the keys of its entry in the
config, each annotated with its JSON Schema. A parameter named `text` is given in the config as
`texts`, a file with one text per line, and `choice`, the number of the line, from 1.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Protocol, get_args, get_type_hints

from userturn.config.entries import Config, selected
from userturn.config.validation import check_values
from userturn.datasets.messages import Message, ShownAnswer
from userturn.errors import ConfigError, near_miss
from userturn.prompts.tokenize import TemplateError


class Tokenizer(Protocol):
    """The part of a tokenizer that operators use."""

    is_fast: bool

    def __call__(self, text: str, **options: bool) -> Mapping[str, Any]:
        """Return token ids, and the position of each token in the text."""

    def decode(self, token_ids: Sequence[int]) -> str:
        """Return the text of token ids."""


@dataclass(frozen=True)
class Donor:
    """Another item and the model's own answer to it, or None if it has no answer."""

    item: str
    answer: ShownAnswer | None


@dataclass(frozen=True)
class Context:
    """The conversation that a probe prompt is made of, and what an operator changed in it.

    Attributes:
        messages: the item's messages, the last one the user's, empty for a header alone.
        answer: the answer that the model is shown as its own, or None for no answer at all.
        change: the operator's changes as JSON values, empty if it changed nothing.
        donor: another item's answer, for operators that need one.
        reference: the dataset's own answer to the messages, to which a person replied, if any.
    """

    messages: Sequence[Message]
    answer: ShownAnswer | None
    change: Mapping[str, Any]
    donor: Donor | None = None
    reference: str | None = None


@dataclass(frozen=True)
class Operator:
    """A registered operator.

    Attributes:
        needs_donor: whether its context must have another item's answer.
        needs_reference: whether its context must have the dataset's answer, not the model's own.
        shows_answer: whether the perturbed probe depends on the model's own answer to the item.
        shows_messages: whether the perturbed probe depends on the item's messages.
        parameters: the JSON Schema of each parameter, by its name.
    """

    apply: Callable[..., Context]
    needs_donor: bool
    needs_reference: bool
    shows_answer: bool
    shows_messages: bool
    parameters: Mapping[str, Mapping[str, Any]]


# Operators that show no answer to the item's question: the baseline of a rate.
CONTROLS = ("shuffled_answer", "no_answer", "header_only", "neutral_answer")
OPERATORS: dict[str, Operator] = {}
# Reasons why a probe is missing. The first is no failure, because the dataset just has no answer
# to show.
NO_REFERENCE = "the dataset has no answer of its own here that a person replied to"
NO_ANSWER = "the item has no answer"
NO_OTHER = "no answer to put in place of this one"
NOTHING_TO_SHOW = (NO_REFERENCE, NO_ANSWER, NO_OTHER)
HARMLESS = {"power": "harmless"}  # what a stranger could do with a value (config/keys.py)
TEXT = {"type": "string", "minLength": 1, **HARMLESS}
SHARE = {"type": "number", "exclusiveMinimum": 0, "maximum": 1, **HARMLESS}
FROM_FILE = {
    "texts": {**TEXT, "power": "path"},
    "choice": {"type": "integer", "minimum": 1, **HARMLESS},
}


def operator(
    needs_donor: bool = False,
    needs_reference: bool = False,
    shows_answer: bool = True,
    shows_messages: bool = True,
) -> Callable[[Callable[..., Context]], Callable[..., Context]]:
    """Return a decorator that registers a function as an operator under its name."""

    def register(function: Callable[..., Context]) -> Callable[..., Context]:
        hints = get_type_hints(function, include_extras=True)
        names = [
            name
            for name, parameter in inspect.signature(function).parameters.items()
            if parameter.kind is parameter.KEYWORD_ONLY
        ]
        parameters = {name: get_args(hints[name])[1] for name in names}
        shows = shows_answer and not (needs_donor or needs_reference), shows_messages
        OPERATORS[function.__name__] = Operator(
            function, needs_donor, needs_reference, *shows, parameters
        )
        return function

    return register


@operator()
def none(context: Context, tokenizer: Tokenizer) -> Context:
    """Change nothing."""
    return context


@operator()
def truncate(context: Context, tokenizer: Tokenizer, *, keep: Annotated[float, SHARE]) -> Context:
    """Keep the first `keep` (a share) of the answer's tokens, rounded down, at least one."""
    whole = context.answer or ShownAnswer("")
    answer = whole.text
    encoded = tokenizer(answer, add_special_tokens=False, return_offsets_mapping=tokenizer.is_fast)
    n_tokens = len(encoded["input_ids"])
    n_remaining = min(n_tokens, max(1, int(n_tokens * keep)))
    if tokenizer.is_fast:
        beginning = answer[: encoded["offset_mapping"][n_remaining - 1][1]] if n_tokens else ""
    else:
        beginning = tokenizer.decode(encoded["input_ids"][:n_remaining]).rstrip("\ufffd")
    change = {
        "n_tokens": n_tokens,
        "n_tokens_kept": n_remaining,
        "n_characters_kept": len(beginning),
    }
    return replace(context, answer=whole._replace(text=beginning), change=change)


@operator()
def generic_question(
    context: Context, tokenizer: Tokenizer, *, text: Annotated[str, TEXT]
) -> Context:
    """Append a sentence to the answer as its last paragraph."""
    whole = context.answer or ShownAnswer("")
    answer = whole._replace(text=f"{whole.text.rstrip()}\n\n{text}")
    return replace(context, answer=answer, change={"appended": text})


@operator(needs_donor=True)
def shuffled_answer(context: Context, tokenizer: Tokenizer) -> Context:
    """Show the model's own answer to another item instead, or raise TemplateError without one."""
    if context.donor is None or context.donor.answer is None:
        which = "there is no other item" if context.donor is None else context.donor.item
        raise TemplateError(f"{NO_OTHER}: {which} has none")
    return replace(context, answer=context.donor.answer, change={"donor": context.donor.item})


@operator(needs_reference=True)
def reference_answer(context: Context, tokenizer: Tokenizer) -> Context:
    """Show the dataset's own answer, to which a person replied, instead of the model's.

    Raises:
        TemplateError: the dataset has no such answer to the item's messages.
    """
    if context.reference is None:
        raise TemplateError(NO_REFERENCE)
    answer = ShownAnswer(context.reference)
    return replace(context, answer=answer, change={"answer_of_dataset": True})


@operator(shows_answer=False)
def no_answer(context: Context, tokenizer: Tokenizer) -> Context:
    """Show the conversation with the assistant's turn empty or left out.

    The template decides which: see `Template.missing_answer`.
    """
    return replace(context, answer=None, change={"answer_hidden": True})


@operator(shows_answer=False, shows_messages=False)
def header_only(context: Context, tokenizer: Tokenizer) -> Context:
    """Show no conversation: only the template's fixed text, then the user header."""
    change = {"n_messages_hidden": len(context.messages), "answer_hidden": True}
    return replace(context, messages=(), answer=None, change=change)


@operator(shows_answer=False)
def neutral_answer(
    context: Context, tokenizer: Tokenizer, *, text: Annotated[str, TEXT]
) -> Context:
    """Show one fixed text as the answer to every item."""
    return replace(context, answer=ShownAnswer(text), change={"answer": text})


def perturb(context: Context, settings: Mapping[str, Any], tokenizer: Tokenizer) -> Context:
    """Apply the operator that `settings` names, with its parameters, and return the new context."""
    parameters = {key: value for key, value in settings.items() if key != "operator"}
    return OPERATORS[settings["operator"]].apply(context, tokenizer, **parameters)


def answer_for_readers(before: Context, after: Context) -> str | None:
    """Return the answer that judges and annotators see before a user turn.

    It is the answer that the model was shown, empty if the conversation had none. If the model was
    shown no conversation at all, readers see the item's own answer, or None if it has none.
    """
    if after.answer is None and after.messages:
        return ""
    seen = before.answer if after.answer is None else after.answer
    return None if seen is None else seen.text


def needs_donor(settings: Mapping[str, Any]) -> bool:
    """Return whether an operator needs another item's answer."""
    return OPERATORS[settings["operator"]].needs_donor


def needs_reference(settings: Mapping[str, Any]) -> bool:
    """Return whether an operator shows the dataset's answer instead of the model's own."""
    return OPERATORS[settings["operator"]].needs_reference


def controls_of(perturbations: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the names of the perturbations that are controls, sorted."""
    return sorted(name for name, entry in perturbations.items() if entry["operator"] in CONTROLS)


def perturbation_schema(where: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON Schema of a perturbation's entry, which depends on its operator.

    Raises:
        ConfigError: the operator of the entry `where` is unknown.
    """
    name = str(settings.get("operator"))
    if name not in OPERATORS:
        near = near_miss(name, OPERATORS)
        raise ConfigError(f"{where}: the operator '{name}' is not known{near}")
    keys = dict(OPERATORS[name].parameters)
    if keys.pop("text", None) is not None:
        keys |= FROM_FILE
    return {
        "properties": {"operator": HARMLESS, **keys},
        "required": list(keys),
        "additionalProperties": False,
    }


def check_perturbations(config: Config) -> None:
    """Check operator, parameters and file of each selected perturbation, or raise ConfigError."""
    for name, settings in selected(config, "perturbations").items():
        where = f"perturbations.{name}"
        check_values(settings, perturbation_schema(where, settings), ("perturbations", name))
        if "texts" in settings and not Path(settings["texts"]).is_file():
            raise ConfigError(
                f"perturbations.{name}.texts: the file '{settings['texts']}' does not exist; "
                "correct the path"
            )

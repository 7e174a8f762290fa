"""Check a model's template and tokenizer, and each prompt format, before a study relies on them."""

from collections.abc import Collection, Sequence
from contextlib import suppress
from typing import NamedTuple

from userturn.prompts.chat_template import Prompt, RolePlayTemplate, Template
from userturn.prompts.examples import (
    EXAMPLE,
    FIRST_CHARACTERS,
    NEXT_MESSAGES_BY_BEGINNING,
    NEXT_USER,
    SYSTEM,
)
from userturn.prompts.header import SHARED
from userturn.prompts.tokenize import TemplateError, interleave
from userturn.prompts.turn_ends import turn_ends

PLAYED_AS = "a user turn is written as an answer to the role-play, and ends as an answer does"


def prove(template: Template) -> list[str]:
    """Return the properties of a template that hold, one sentence each, or raise TemplateError."""
    question, answer = EXAMPLE[0], EXAMPLE[1]["content"]
    template.answer_prompt([question])
    template.probe_prompt([question], answer)
    proofs = [
        "messages stand in the prompt unchanged, except for white space at their ends",
        _prove_beginning(template),
    ]
    if template.merge_system_message:
        template.probe_prompt([SYSTEM, question], answer)
        proofs.append("a system message stands before the text of the first user message")
    proofs += [PLAYED_AS] if isinstance(template, RolePlayTemplate) else _prove_raw_probes(template)
    proofs.append(prove_missing_answer(template))
    return [*proofs, _prove_tokens(template, answer)]


def _prove_raw_probes(template: Template) -> list[str]:
    proofs = []
    if not template.header_is_by_hand:
        _check_beginning_stays(template)
        proofs.append("two different next user messages are rendered after history and header")
    return [*proofs, _prove_true_prefix(template), _prove_user_turns_end(template)]


def _prove_beginning(template: Template) -> str:
    bos = template.tokenizer.bos_token_id
    if template.answer_prompt(EXAMPLE[:1]).token_ids[:1] == (bos,):
        return "the prompt begins with one beginning-of-sequence token"
    would = ", which its tokenizer would add to a plain text" if template.adds_bos_token else ""
    return f"the prompt begins without a beginning-of-sequence token{would}, as its template has it"


def _check_beginning_stays(template: Template) -> None:
    """Check that the text before a first message stays when the conversation goes on."""
    first = template.literals(EXAMPLE[:1], add_generation_prompt=True)[0]
    later = template.literals([*EXAMPLE, NEXT_USER])[0]
    if first != later:
        raise TemplateError(
            f"the chat template writes {first[-60:]!r} before a first message, and "
            f"{later[-60:]!r} before the same message once it is answered, so that history would "
            "change with each turn; give the model's entry a `chat_template` that does not"
        )


def _prove_true_prefix(template: Template) -> str:
    left = template.left_to_the_model
    beginnings = ", ".join(NEXT_MESSAGES_BY_BEGINNING)
    if template.header_extent != SHARED:
        beginnings += f", or any of {len(FIRST_CHARACTERS)} first characters"
    rest = f"; the model itself writes the header's end, {left!r}" if left else ""
    return f"the probe's tokens begin those of messages that begin with {beginnings}{rest}"


def _prove_user_turns_end(template: Template) -> str:
    """Return the sentence on what ends a user turn."""
    behind = template.literals(EXAMPLE[:1], add_generation_prompt=True)[-1]
    if template.stop_texts:
        return f"a text ends a user turn: {' or '.join(map(repr, template.stop_texts))}"
    if turn_ends(template) or template.stop:
        return "a token ends a user turn"
    raise TemplateError(
        f"nothing ends a user turn: the chat template continues with {behind!r}; give the model's "
        f"entry a `stop`, such as [{template.tokenizer.eos_token!r}]: tokens or texts"
    )


def prove_missing_answer(template: Template) -> str:
    """Return the sentence on the template's text in place of a missing answer."""
    try:
        literals, _ = template.probe_parts(EXAMPLE[:1], None)
    except TemplateError:
        return "a probe without an answer ends in an error, never as a prompt"
    turn = "left out" if template.missing_answer is None else "empty"
    return f"without an answer the assistant's turn is {turn}: {literals[-1]!r}"


def _prove_tokens(template: Template, answer: str) -> str:
    benign, quoting = EXAMPLE[0]["content"], " ".join(template.control_tokens)
    controls = set(template.control_tokens.values())
    try:
        literals, contents = template.split([EXAMPLE[0], {"role": "assistant", "content": answer}])
        whole = template.encoder.encode_whole(interleave(literals, contents))
        if template.encoder.encode_apart(literals, contents) != whole:
            raise TemplateError("")
        hostile = [{"role": "user", "content": f"{benign} {quoting}"}]
        with_tokens = template.probe_prompt(hostile, answer).token_ids
    except TemplateError:
        return "an item that quotes special tokens ends in an error, never as a prompt"
    without = template.probe_prompt([EXAMPLE[0]], answer).token_ids
    if [i for i in with_tokens if i in controls] != [i for i in without if i in controls]:
        raise TemplateError(
            "special tokens that an item quotes would be read as control tokens; this tokenizer "
            "cannot be used, leave the model out"
        )
    return "special tokens that an item quotes stay text, and all other text is encoded as usual"


ANSWER, PROBE = "the prompt for an answer", "the probe prompt"
CLAIMS: dict[str, Collection[str]] = {  # the prompts that each lever says it changes
    "header": {PROBE},
    "system": {ANSWER, PROBE},
    "probe": {PROBE},
    "roles": {PROBE},
    "instruction": {PROBE},
    "thinking": {ANSWER},
    "reasoning_effort": {ANSWER},
}
SHOWN = 60  # characters of a text that a sentence quotes


class Other(NamedTuple):
    """Another way of writing the prompts of the same model, from which a format must differ."""

    name: str  # in a sentence
    template: Template
    levers: Collection[str]  # keys of a format in which the two differ


def prove_format(template: Template, others: Sequence[Other]) -> str:
    """Return the sentence on how the prompts of a format differ from those of `others`.

    `generation.describe_model.other_formats` says which others these are.

    Raises:
        TemplateError: a lever changes no prompt, or the system prompt holds control tokens.
    """
    quoted = template.encoder.find(template.system or "")
    if quoted:
        raise TemplateError(
            f"the system prompt of this format holds {quoted[0]!r}, a control token of the model; "
            "take it out of the file"
        )
    own = _prompts(template)
    for other in others:
        theirs = _prompts(other.template)
        claimed = {prompt for lever in other.levers for prompt in CLAIMS.get(lever, ())}
        alike = [what for what in sorted(claimed) if own[what] == theirs[what]]
        if alike:
            levers = ", ".join(f"`{lever}`" for lever in sorted(set(other.levers) & set(CLAIMS)))
            raise TemplateError(
                f"{levers} of this format changes nothing: {alike[0]} is the same in {other.name}; "
                "take it out of the format, or leave the model out of it with `models`"
            )
    gone = template.left_out_system_prompt
    note = f"; the template's own system prompt is left out: {_quoted(gone)!r}" if gone else ""
    return f"each lever of the format changes the prompts that it names{note}"


def _quoted(text: str) -> str:
    return text if len(text) <= SHOWN else text[: SHOWN // 2] + " … " + text[-SHOWN // 2 :]


def _prompts(template: Template) -> dict[str, Prompt | None]:
    prompts: dict[str, Prompt | None] = {ANSWER: None, PROBE: None}
    with suppress(TemplateError):
        prompts[ANSWER] = template.answer_prompt(EXAMPLE[:1])
    with suppress(TemplateError):
        prompts[PROBE] = template.probe_prompt(EXAMPLE[:1], EXAMPLE[1]["content"])
    return prompts

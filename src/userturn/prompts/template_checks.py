"""Check a model's template and tokenizer before a study relies on them."""

from userturn.prompts.chat_template import Template
from userturn.prompts.examples import (
    EXAMPLE,
    FIRST_CHARACTERS,
    NEXT_MESSAGES_BY_BEGINNING,
    NEXT_USER,
    SYSTEM,
)
from userturn.prompts.header import SHARED
from userturn.prompts.missing_answer import prove_missing_answer
from userturn.prompts.role_play import RolePlayTemplate
from userturn.prompts.stop_tokens import turn_ends
from userturn.prompts.tokenize import TemplateError, interleave

PLAYED_AS = "a user turn is written as an answer to the role-play, and ends as an answer does"


def prove(template: Template) -> list[str]:
    """Check a template and return the properties that hold, one sentence each.

    Raises:
        TemplateError: a check failed; the message says which, and what to do.
    """
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
    proofs += [PLAYED_AS] if isinstance(template, RolePlayTemplate) else _of_raw_probes(template)
    proofs.append(prove_missing_answer(template))
    return [*proofs, _prove_tokens(template, answer)]


def _of_raw_probes(template: Template) -> list[str]:
    """Return the sentences on probes that end in the user header."""
    proofs = []
    if not template.header_is_by_hand:
        _check_beginning_stays(template)
        proofs.append("two different next user messages are rendered after history and header")
    return [*proofs, _prove_true_prefix(template), _prove_user_turns_end(template)]


def _prove_beginning(template: Template) -> str:
    """Return the sentence on the token that begins a prompt."""
    bos = template.tokenizer.bos_token_id
    if template.answer_prompt(EXAMPLE[:1]).token_ids[:1] == (bos,):
        return "the prompt begins with one beginning-of-sequence token"
    would = ", which its tokenizer would add to a plain text" if template.adds_bos_token else ""
    return f"the prompt begins without a beginning-of-sequence token{would}, as its template has it"


def _check_beginning_stays(template: Template) -> None:
    """Check that a first message keeps what stands before it when the conversation goes on.

    Raises:
        TemplateError: it does not, as where a default system prompt moves to the last message.
    """
    first = template.literals(EXAMPLE[:1], add_generation_prompt=True)[0]
    later = template.literals([*EXAMPLE, NEXT_USER])[0]
    if first != later:
        raise TemplateError(
            f"the chat template writes {first[-60:]!r} before a first message, and "
            f"{later[-60:]!r} before the same message once it is answered, so that history would "
            "change with each turn; give the model's entry a `chat_template` that does not"
        )


def _prove_true_prefix(template: Template) -> str:
    """Return the sentence on the next messages for which the probe is a true prefix."""
    left = template.left_to_the_model
    beginnings = ", ".join(NEXT_MESSAGES_BY_BEGINNING)
    if template.header_form != SHARED:
        beginnings += f", or any of {len(FIRST_CHARACTERS)} first characters"
    rest = f"; the model itself writes the header's end, {left!r}" if left else ""
    return f"the probe's tokens begin those of messages that begin with {beginnings}{rest}"


def _prove_user_turns_end(template: Template) -> str:
    """Return the sentence on what ends a user turn.

    Raises:
        TemplateError: the template writes nothing after a user message.
    """
    behind = template.literals(EXAMPLE[:1], add_generation_prompt=True)[-1]
    if template.stop_texts:
        return f"a text ends a user turn: {' or '.join(map(repr, template.stop_texts))}"
    if turn_ends(template) or template.stop:
        return "a token ends a user turn"
    raise TemplateError(
        f"nothing ends a user turn: the chat template continues with {behind!r}; give the model's "
        f"entry a `stop`, such as [{template.tokenizer.eos_token!r}]: tokens or texts"
    )


def _prove_tokens(template: Template, answer: str) -> str:
    """Return the sentence on messages that quote control tokens."""
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

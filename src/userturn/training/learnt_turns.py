"""The rows that a supervised training learns: one per turn, after the study's prompt for it.

A whole conversation would show a turn in another context than the prompt. In those of Qwen3.5, half
of the answers follow no empty block of reasoning, although each prompt for an answer has one.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle
from typing import Any

from userturn.config.recipes import Recipe
from userturn.datasets.messages import Message
from userturn.errors import UserError
from userturn.prompts.chat_template import Template, TemplateError
from userturn.prompts.examples import NEXT_USER
from userturn.prompts.reasoning import answer_beginning
from userturn.storage.hashing import fingerprint

IGNORED = -100  # a label that torch's cross entropy leaves out


def _prompt(
    template: Template, messages: Sequence[Message], role: str
) -> tuple[list[str], list[str], str]:
    """Return texts and contents of the prompt for a turn, and the text that begins the turn."""
    if role == "assistant":
        literals, contents = template.split(messages, add_generation_prompt=True)
        return literals, contents, answer_beginning(template)
    literals, contents = template.probe_parts(messages[:-1], messages[-1]["content"])
    return literals, contents, template.left_to_the_model


def _end(template: Template, messages: Sequence[Message]) -> str:
    """Return the text that ends the last turn of a conversation, up to a control token."""
    if messages[-1]["role"] == "assistant":
        literal = template.split([*messages, NEXT_USER])[0][-2]
    else:
        literal = template.split(messages, add_generation_prompt=True)[0][-1]
    controls = template.encoder.find(literal)
    return literal[: literal.index(controls[0]) + len(controls[0])] if controls else literal


def learnt_turn(template: Template, messages: Sequence[Message]) -> dict[str, Any]:
    """Return the last turn of a conversation as a row to learn, after its prompt.

    Returns:
        `input_ids`, and `labels`, which are the id of a learnt token and else -100.

    Raises:
        TemplateError: the tokens of this turn cannot be checked.
    """
    *before, turn = messages
    literals, contents, beginning = _prompt(template, before, turn["role"])
    if template.encoder.find(turn["content"]):
        raise TemplateError("a message holds a special token of the model; leave that row out")
    prompt = template.encoder.encode(literals, contents)
    *others, header = literals
    whole = [*others, header + beginning, _end(template, messages)]
    ids = template.encoder.encode(whole, [*contents, turn["content"]])
    if ids[: len(prompt)] != prompt:
        raise TemplateError("the tokens of a turn do not follow those of its prompt; leave it out")
    return {"input_ids": ids, "labels": [IGNORED] * len(prompt) + ids[len(prompt) :]}


def _places(messages: Sequence[Message], loss_on: Sequence[str]) -> Iterator[int]:
    """Yield the ends of the turns that are learnt, of the user's only those after an answer."""
    for end in range(1, len(messages)):
        before, role = messages[end - 1]["role"], messages[end]["role"]
        if role in loss_on and before == {"user": "assistant", "assistant": "user"}.get(role):
            yield end + 1


def shuffle_answers(conversations: Sequence[Sequence[Message]]) -> list[list[Message]]:
    """Return conversations with the answers of other conversations, as a control.

    In the order of their hashes, each takes the answers of the next conversation that shares none
    with it. So every answer is still a real one, and no user turn reacts to the answer before it.

    Raises:
        UserError: every other conversation shares an answer with one of them.
    """
    ordered = sorted(map(list, conversations), key=fingerprint)
    answers = [
        [message["content"] for message in talk if message["role"] == "assistant"]
        for talk in ordered
    ]
    rows = []
    for number, (talk, own) in enumerate(zip(ordered, answers, strict=True)):
        following = answers[number + 1 :] + answers[:number]
        others = next(
            (theirs for theirs in following if theirs and not set(theirs) & set(own)), None
        )
        if others is None:
            raise UserError(
                "the training data cannot be shuffled: a conversation has no other with other "
                "answers; give `data` more conversations"
            )
        donors = cycle(others)
        rows.append(
            [
                {**message, "content": next(donors)} if message["role"] == "assistant" else message
                for message in talk
            ]
        )
    return rows


def held_out(rows: Sequence[Mapping[str, Any]], recipe: Recipe) -> set[str]:
    """Return the ids of the conversations that are not learnt, the first by the hash of the id.

    The curve and the validation use them, and overlap as much as possible.
    """
    ids = sorted({str(row["conversation"]) for row in rows}, key=lambda name: fingerprint([name]))
    n_validation = round(recipe.get("sft", {}).get("validation", 0) * len(ids))
    return set(ids[: max(n_validation, recipe.get("curve", {}).get("items", 0))])


def learnt_turns(
    template: Template,
    conversations: Sequence[Sequence[Message]],
    loss_on: Sequence[str],
    max_tokens: int,
) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """Return the rows of all turns that can be learnt, and the reasons against the others.

    A row of more than `max_tokens` tokens loses its end. A row whose prompt alone is so long is
    left out.

    Returns:
        The rows, and how many were left out or cut, by reason.

    Raises:
        UserError: no conversation has anything to learn.
    """
    rows, reasons = [], Counter[str]()
    for messages in conversations:
        for end in _places(messages, loss_on):
            try:
                row = learnt_turn(template, messages[:end])
            except TemplateError as error:
                reasons[str(error)] += 1
                continue
            if len(row["input_ids"]) > max_tokens:
                reasons[f"longer than {max_tokens} tokens, cut"] += 1
                row = {name: ids[:max_tokens] for name, ids in row.items()}
            if row["labels"][-1] != IGNORED:
                rows.append(row)
    if not rows:
        first = next(iter(reasons), f"there is no turn of {' or '.join(loss_on)} after another")
        raise UserError(
            f"the training data has nothing to learn: {first}; correct `data` or `loss_on` in the "
            "recipe"
        )
    return rows, dict(reasons)

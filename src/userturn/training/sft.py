"""Supervised fine-tuning: which tokens of a conversation are learnt, and TRL's trainer for them."""

from collections.abc import Mapping, Sequence
from typing import Any

from userturn.errors import UserError
from userturn.prompts.chat_template import Template, TemplateError
from userturn.prompts.tokenize import interleave
from userturn.training.job import TrainerParts, Training

Messages = Sequence[Mapping[str, str]]
IGNORED = -100  # a label that torch's cross entropy leaves out


def _learnt(messages: Messages, loss_on: Sequence[str]) -> list[bool]:
    """Return which messages are learnt: user messages only if they react to an answer."""
    answered = [any(m["role"] == "assistant" for m in messages[:i]) for i in range(len(messages))]
    return [
        m["role"] in loss_on and (m["role"] != "user" or after)
        for m, after in zip(messages, answered, strict=True)
    ]


def _end_of_turn(template: Template, literal: str) -> int:
    """Return how many characters after a message end its turn: up to the first control token."""
    controls = template.encoder.find(literal)
    return literal.index(controls[0]) + len(controls[0]) if controls else len(literal)


def spans(
    template: Template, messages: Messages, loss_on: Sequence[str]
) -> tuple[str, list[tuple[int, int]]]:
    """Return a conversation's text, and which spans of it are learned, ends of turns included.

    Raises:
        TemplateError: the chat template alters or hides a message.
    """
    literals, contents = template.split(messages)
    position, found = 0, []
    behind = zip(literals, contents, literals[1:], _learnt(messages, loss_on), strict=False)
    for before, content, after, is_learnt in behind:
        begin = position + len(before)
        position = begin + len(content)
        if is_learnt:
            found.append((begin, position + _end_of_turn(template, after)))
    return interleave(literals, contents), found


def labelled(template: Template, messages: Messages, loss_on: Sequence[str]) -> dict[str, Any]:
    """Return the token ids of a conversation, as in the study's prompts, and their labels.

    Returns:
        `input_ids`, and `labels`: the id if the token is learnt, else -100.

    Raises:
        TemplateError: the tokens of this conversation cannot be checked.
    """
    text, learnt = spans(template, messages, loss_on)
    encoded = template.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
    ids = list(encoded["input_ids"])
    if ids != template.encoder.encode(*template.split(messages)):
        raise TemplateError("a message holds a special token of the model; leave that row out")
    labels = [
        token if any(begin <= first < end for begin, end in learnt) else IGNORED
        for token, (first, _) in zip(ids, encoded["offset_mapping"], strict=True)
    ]
    return {"input_ids": ids, "labels": labels}


def labelled_rows(
    template: Template, conversations: Sequence[Messages], loss_on: Sequence[str]
) -> list[dict[str, Any]]:
    """Return the rows of all conversations whose tokens can be checked.

    Raises:
        UserError: no conversation has anything to learn.
    """
    rows = []
    for messages in conversations:
        try:
            rows.append(labelled(template, messages, loss_on))
        except TemplateError as error:
            print(f"left out: {error}")
    if not any(label != IGNORED for row in rows for label in row["labels"]):
        raise UserError(
            f"the training data has no turn of {' or '.join(loss_on)} to learn; correct `data` or "
            "`loss_on` in the recipe"
        )
    return rows


def supervised_trainer(training: Training, parts: TrainerParts) -> Any:
    """Return TRL's SFTTrainer over the learnt tokens of all conversations.

    Args:
        training: a training by a recipe of the method sft.
        parts: parts of the trainer.
    """
    from trl import SFTConfig, SFTTrainer

    how = training.recipe["sft"]
    messages = [row["messages"] for row in training.rows]
    rows = labelled_rows(parts.template, messages, how["loss_on"])
    configuration = SFTConfig(**parts.arguments, max_length=how["max_tokens"], packing=False)
    return parts.trainer(SFTTrainer, configuration, rows)

"""Tasks: the places in conversations where a turn is drawn, each with its prompt."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from userturn.datasets.messages import Message
from userturn.errors import UserError
from userturn.prompts.chat_template import Prompt, Template, TemplateError
from userturn.training.rewards import SampledTurn

OTHER = {"user": "assistant", "assistant": "user"}


@dataclass(frozen=True)
class Task:
    """A prompt, and the data by which its draws are rewarded.

    Attributes:
        prompt: the prompt, ending in the header of the turn to draw.
        messages: the conversation before that turn.
        reference_answer: reference answer of the problem, or None.
        goal: what a simulated user wants, or None.
    """

    prompt: Prompt
    messages: tuple[Message, ...]
    reference_answer: str | None
    goal: str | None

    def drawn(self, said: str) -> SampledTurn:
        """Return a turn that was drawn for this task."""
        return SampledTurn(self.messages, said, self.reference_answer, self.goal)


def _prompt(template: Template, messages: Sequence[Message], turn: str) -> Prompt:
    if turn == "assistant":
        return template.answer_prompt(messages)
    return template.probe_prompt(messages[:-1], messages[-1]["content"])


def tasks(
    template: Template, rows: Sequence[Mapping[str, Any]], turn: str, max_tokens: int
) -> list[Task]:
    """Return a task for each place in the conversations where it is that role's turn.

    Prompts are those of the study: for the user's turn, the probe after a conversation's answer.
    Prompts of more than `max_tokens` tokens are left out.

    Raises:
        UserError: there is no such place, or the trainer would read other tokens than the study.
    """
    found: dict[str, Task] = {}
    for row in rows:
        messages = row["messages"]
        for end in range(1, len(messages) + 1):
            if messages[end - 1]["role"] != OTHER[turn]:
                continue
            try:
                prompt = _prompt(template, messages[:end], turn)
            except TemplateError as error:
                print(f"left out: {error}")
                continue
            task = Task(prompt, tuple(messages[:end]), row["reference_answer"], row["goal"])
            if len(prompt.token_ids) <= max_tokens:
                found.setdefault(prompt.text, task)
    if not found:
        raise UserError(
            f"the training data has no place for a turn of the {turn} after at most {max_tokens} "
            "tokens; correct `data` or `max_prompt_tokens` in the recipe"
        )
    _check_tokens(template, list(found.values()))
    return list(found.values())


def _check_tokens(template: Template, found: Sequence[Task]) -> None:
    read = template.tokenizer(text=[task.prompt.text for task in found])["input_ids"]
    differ = sum(
        list(ids) != list(task.prompt.token_ids) for ids, task in zip(read, found, strict=True)
    )
    if differ:
        raise UserError(
            f"the trainer would read other tokens than the study in {differ} of {len(found)} "
            "prompts: this tokenizer adds tokens of its own, or a message holds a special token; "
            "train this model by sft"
        )

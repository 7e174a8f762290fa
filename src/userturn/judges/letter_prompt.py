"""Prompts in which each label has a letter, in both orders, as the token ids that a model reads."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from string import ascii_uppercase
from typing import Any

from userturn.datasets.messages import Message
from userturn.judges.kinds import judge_identity
from userturn.judges.question import JudgePrompt, filled_prompt
from userturn.judges.rubric import described, parse_rubric
from userturn.models.fetch import model_folder
from userturn.prompts.answer_beginning import answer_beginning
from userturn.prompts.chat_template import Template
from userturn.prompts.examples import EXAMPLE
from userturn.prompts.load_template import load_template
from userturn.prompts.tokenize import TemplateError
from userturn.storage.files import given_text

DATE = "2026-04-02"  # for templates that print one: a verdict does not depend on the day


def lettered_prompts(
    rubric_text: str, prompt_text: str, identity: Mapping[str, Any]
) -> tuple[JudgePrompt, JudgePrompt]:
    """Return a judge's prompt with A for the rubric's first label, and with A for its last.

    Both give their labels in the rubric's order; `identity` is the judge's.
    """
    rubric = parse_rubric(rubric_text)
    names = list(rubric.labels)
    forward, backward = (
        filled_prompt(
            rubric,
            prompt_text,
            "\n".join(
                f"{letter}. {name}: {described(rubric.labels[name])}"
                for letter, name in zip(ascii_uppercase, order, strict=False)
            ),
            identity,
        )
        for order in (names, names[::-1])
    )
    return forward, backward


def load_lettered_prompts(settings: Mapping[str, Any]) -> tuple[JudgePrompt, JudgePrompt]:
    """Read the rubric and the prompt of a judge's entry."""
    rubric, prompt = (given_text(settings[key]) for key in ("rubric", "prompt"))
    return lettered_prompts(rubric, prompt, judge_identity(settings))


def load_judge_template(settings: Mapping[str, Any]) -> Template:
    """Return the chat template of a judge's model, with thinking off.

    Raises:
        UserError: the model cannot be found, or has no chat template that can be used.
    """
    folder = model_folder(settings["model"], settings.get("revision"))
    options = settings.get("template_options", {})
    entry: Any = {"enable_thinking": False, "template_options": options}
    return load_template(folder, entry, DATE)


@dataclass(frozen=True)
class LetterPrompt:
    """A chat template that ends in the place of a letter.

    Attributes:
        template: of the judge's model.
        systems: the system messages, one for each order of the labels.
        n_labels: number of letters.
    """

    template: Template
    systems: Sequence[str]
    n_labels: int

    @cached_property
    def takes_system(self) -> bool:
        """Whether the template shows a system message before the user's."""
        try:
            self.template.split([{"role": "system", "content": "Sum."}, EXAMPLE[0]], True)
        except TemplateError:
            return False
        return True

    def _with_letter(self, system: str, user: Message, letter: str) -> list[int]:
        """Return the token ids of a conversation whose last text is an answer's letter."""
        messages: list[Message] = [{"role": "system", "content": system}, user]
        if not self.takes_system:
            messages = [{"role": "user", "content": f"{system}\n\n{user['content']}"}]
        literals, contents = self.template.split(messages, add_generation_prompt=True)
        end = literals[-1] + answer_beginning(self.template) + letter
        return self.template.encoder.encode([*literals[:-1], end], contents)

    @cached_property
    def _letters(self) -> tuple[tuple[int, ...], int]:
        """The first token in which each letter differs, and how many from there end the text.

        Raises:
            TemplateError: two letters begin with the same token.
        """
        texts = [
            self._with_letter(self.systems[0], EXAMPLE[0], letter)
            for letter in ascii_uppercase[: self.n_labels]
        ]
        pairs = zip(*texts, strict=False)
        n_shared = next((n for n, ids in enumerate(pairs) if len(set(ids)) > 1), 0)
        first = tuple(ids[n_shared] for ids in texts)
        if len(set(first)) < self.n_labels:
            raise TemplateError("the letters of two labels begin with the same token")
        return first, len(texts[0]) - n_shared

    @property
    def letter_ids(self) -> tuple[int, ...]:
        """The token id of each letter."""
        return self._letters[0]

    def token_ids(self, user: Message) -> list[list[int]]:
        """Return the prompt after which the letter comes, for each order of the labels.

        Raises:
            TemplateError: the template cannot show this message, or joins its end to the letter.
        """
        (first, *_), n_end = self._letters
        prompts = []
        for system in self.systems:
            ids = self._with_letter(system, user, ascii_uppercase[0])
            if ids[-n_end] != first:
                raise TemplateError("the letter of a label is another token after this message")
            prompts.append(ids[:-n_end])
        return prompts


def letter_prompt(settings: Mapping[str, Any]) -> LetterPrompt:
    """Return the letter prompt of a judge's entry.

    Raises:
        UserError: the template of its model cannot be used.
    """
    prompts = load_lettered_prompts(settings)
    systems = [prompt.system for prompt in prompts]
    return LetterPrompt(load_judge_template(settings), systems, len(prompts[0].labels))

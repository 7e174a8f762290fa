"""Labels as letters: prompts in both orders as token ids, and the probability of each letter.

Both orders are used because models prefer some letters whatever they mean (arXiv:2309.03882).
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import exp, fsum
from string import ascii_uppercase
from typing import Any, ClassVar

from userturn.datasets.messages import Message
from userturn.endpoints.concurrency import Pace
from userturn.endpoints.http_replies import Received, UnscoredError
from userturn.judges.decisions import Content
from userturn.judges.judge import Judge
from userturn.judges.kinds import judge_identity
from userturn.judges.parse_reply import Reply, UnclearReplyError
from userturn.judges.question import JudgePrompt, filled_prompt
from userturn.judges.rubric import described, parse_rubric
from userturn.judges.session import ChatEndpoint, ReplyFormat
from userturn.models.fetch import model_folder
from userturn.prompts.chat_template import Template
from userturn.prompts.examples import EXAMPLE
from userturn.prompts.load_template import load_template
from userturn.prompts.reasoning import answer_beginning
from userturn.prompts.tokenize import TemplateError
from userturn.storage.files import read_text

DATE = "2026-04-02"  # for templates that print one: a verdict does not depend on the day
NOT_SHOWN = "the chat template of the judge's model cannot show the conversation"
NAME = "token_id:{}"  # how vLLM names a token, with `return_tokens_as_token_ids`
DIGITS = 6  # decimals of a log-probability in the journal


def lettered_prompts(
    rubric_text: str, prompt_text: str, identity: Mapping[str, Any]
) -> tuple[JudgePrompt, JudgePrompt]:
    """Return a judge's prompt with A for the rubric's first label, and with A for its last.

    The `labels` of both are in the rubric's order. `identity` is the judge's identity.
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


@dataclass(frozen=True)
class LetterPrompt:
    """A chat template whose prompts end right before the answer's letter."""

    template: Template  # of the judge's model
    systems: Sequence[str]  # the system messages, one for each order of the labels
    n_labels: int

    @cached_property
    def takes_system(self) -> bool:
        """Whether the template shows a system message before the user's."""
        try:
            self.template.split([{"role": "system", "content": "Sum."}, EXAMPLE[0]], True)
        except TemplateError:
            return False
        return True

    def _ids_with_letter(self, system: str, user: Message, letter: str) -> list[int]:
        """Return the token ids of a conversation whose last text is an answer's letter."""
        messages: list[Message] = [{"role": "system", "content": system}, user]
        if not self.takes_system:
            messages = [{"role": "user", "content": f"{system}\n\n{user['content']}"}]
        literals, contents = self.template.split(messages, add_generation_prompt=True)
        end = literals[-1] + answer_beginning(self.template) + letter
        return self.template.encoder.encode([*literals[:-1], end], contents)

    @cached_property
    def _letters(self) -> tuple[tuple[int, ...], int]:
        """The token ids by which letters differ, and the number of tokens from there to the end."""
        texts = [
            self._ids_with_letter(self.systems[0], EXAMPLE[0], letter)
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
        """Return the token ids of the prompt before the letter, for each order of the labels.

        Raises:
            TemplateError: the template cannot show this message, or merges its end with the letter.
        """
        (first, *_), n_end = self._letters
        prompts = []
        for system in self.systems:
            ids = self._ids_with_letter(system, user, ascii_uppercase[0])
            if ids[-n_end] != first:
                raise TemplateError("the letter of a label is another token after this message")
            prompts.append(ids[:-n_end])
        return prompts


@dataclass
class LetterEndpoint(ChatEndpoint):
    """A vLLM server that is asked for the log-probabilities of letters."""

    prompt: LetterPrompt = field(kw_only=True)
    letter_ids: tuple[int, ...] = field(kw_only=True)
    path: ClassVar[str] = "completions"

    @cached_property
    def fixed(self) -> dict[str, Any]:
        """The fields of every request's body except its prompts."""
        ids = list(self.letter_ids)
        return {
            "model": self.settings["model"],
            "max_tokens": 1,
            "temperature": 0,
            "logprobs": 0,
            "logprob_token_ids": ids,
            "allowed_token_ids": ids,  # the token itself is not read
            "return_tokens_as_token_ids": True,
        }

    @property
    def max_output(self) -> int:
        """The number of tokens in a reply, one per order of the labels."""
        return len(self.prompt.systems)

    def body(self, asked: Sequence[Message]) -> dict[str, Any]:
        """Return the body of a request, with a prompt per order of the labels.

        Raises:
            UnscoredError: the template cannot show the conversation.
        """
        try:
            prompts = self.prompt.token_ids(asked[-1])
        except TemplateError as error:
            raise UnscoredError(str(error), NOT_SHOWN) from None
        return {**self.fixed, "prompt": prompts}

    def read(self, received: Received) -> tuple[Reply, dict[str, Any]]:
        """Return a reply with a JSON list of log-probabilities per order as its text, and usage."""
        parsed = received.parsed
        try:
            choices = sorted(parsed["choices"], key=lambda choice: choice["index"])
            top_logprobs = [choice["logprobs"]["top_logprobs"][0] for choice in choices]
            names = [NAME.format(token_id) for token_id in self.letter_ids]
            scores = [[round(float(each[name]), DIGITS) for name in names] for each in top_logprobs]
        except (LookupError, TypeError, ValueError):
            return Reply(None, None, None, self.redacted(received.text)), {}
        model, usage = parsed.get("model"), parsed.get("usage")
        named = model if isinstance(model, str) else None
        reply = Reply(json.dumps(scores), None, "stop", self.redacted(received.text), named)
        return reply, usage if isinstance(usage, dict) else {}


def probabilities(scores: Sequence[float]) -> list[float]:
    """Return the letters' log-probabilities as probabilities that sum to 1."""
    most = max(scores)
    weights = [exp(score - most) for score in scores]
    return [weight / fsum(weights) for weight in weights]


def read_scores(reply: Reply, labels: Sequence[str]) -> Content:
    """Return the likeliest label of a reply, a rationale, and the probability of each label.

    A label's probability is its mean over the two orders. In the second order, A is the last label.

    Raises:
        UnclearReplyError: the log-probability of some letter in some order is missing.
    """
    scores = json.loads(reply.content) if reply.content is not None else []
    if [len(each) for each in scores] != [len(labels)] * 2:
        raise UnclearReplyError("the reply has no log-probabilities of the letters", final=True)
    forward, backward = scores[0], scores[1][::-1]
    pairs = zip(probabilities(forward), probabilities(backward), strict=True)
    mean = {label: (a + b) / 2 for label, (a, b) in zip(labels, pairs, strict=True)}
    on_letters = fsum(map(exp, [*forward, *backward])) / 2
    ranked = sorted(mean, key=lambda label: -mean[label])
    shown = ", ".join(f"{label} {mean[label]:.0%}" for label in ranked if mean[label] >= 0.05)
    return {
        "label": max(labels, key=lambda label: mean[label]),
        "rationale": f"{shown}; any letter {on_letters:.0%}",
        "probabilities": {label: round(p, DIGITS) for label, p in mean.items()},
        "log_probabilities": {"forward": forward, "backward": backward},
    }


def letter_format(judge: Judge) -> ReplyFormat:
    """Return the prompt, endpoint and reader of replies of a judge that is asked for letters."""
    entry: Any = judge.settings
    rubric, prompt = (read_text(entry[key]) for key in ("rubric", "prompt"))
    prompts = lettered_prompts(rubric, prompt, judge_identity(entry))
    labels = prompts[0].labels

    def open_endpoint(url: str, n_at_once: int) -> ChatEndpoint:
        folder = model_folder(entry["model"], entry.get("revision"))
        options: Any = {"template_options": entry.get("template_options", {})}
        template = load_template(folder, options | {"enable_thinking": False}, DATE)
        letters = LetterPrompt(template, [each.system for each in prompts], len(labels))
        pace, ids = Pace(n_at_once), letters.letter_ids
        return LetterEndpoint(url, entry, None, pace, None, prompt=letters, letter_ids=ids)

    return ReplyFormat(prompts[0], open_endpoint, lambda reply: read_scores(reply, labels))

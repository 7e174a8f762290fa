"""The curve of a training: at each checkpoint, the model's turns after prompts it never learns.

The model is loaded already, so that a point costs a few greedy turns and no load of an engine.
Points are noted beside the checkpoints. So a killed training measures none twice and lacks none.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

from userturn.datasets.messages import Message, ShownAnswer
from userturn.generation.scorer import Exchange
from userturn.grading.grade import Case, verifier_named
from userturn.prompts.chat_template import Prompt, Template, TemplateError
from userturn.storage.journal import Writer
from userturn.training.draws import notes_in
from userturn.training.turn_gains import gains

Rows = list[dict[str, Any]]
ROLES = ("user", "assistant", "user")  # of a conversation that a point is measured over


@dataclass(frozen=True)
class Curve:
    """The data over which the points of a training's curve are measured."""

    template: Template
    settings: Mapping[str, Any]  # the key `curve` of the recipe
    rows: Sequence[Mapping[str, Any]]  # conversations that are not learnt; `ROLES` begin those used
    folder: Path  # of the notes

    def measure(self, model: Any, step: int) -> None:
        """Measure and note the point of a step, unless it is already noted."""
        if any(point["step"] == step for point in notes_in(self.folder)):
            return
        was_training = model.training
        model.eval()
        with Writer(self.folder) as notes:  # in one line, so that a kill leaves all of it or none
            notes.append({"step": step, "rows": self._point(model)})
        model.train(was_training)

    @property
    def points(self) -> Rows:
        """The rows of all points, each with its step."""
        rows_of_step = {point["step"]: point["rows"] for point in notes_in(self.folder)}
        return [
            {"step": step, **row} for step in sorted(rows_of_step) for row in rows_of_step[step]
        ]

    def _point(self, model: Any) -> Rows:
        talks = {
            row["conversation"]: [*row["messages"][:3]]
            for row in self.rows
            if tuple(message["role"] for message in row["messages"][:3]) == ROLES
        }
        references = {row["conversation"]: row["reference_answer"] for row in self.rows}
        most = self.settings["max_tokens"]
        prompts = [prompt_ids(self.template, talk[:1]) for talk in talks.values()]
        answers = written(model, self.template, prompts, self.template.end_token_ids, most)
        probes = [
            prompt_ids(self.template, [talk[0], {"role": "assistant", "content": answer}])
            for talk, answer in zip(talks.values(), answers, strict=True)
        ]
        turns = written(model, self.template, probes, self.template.stop_token_ids, most)
        exchanges = [
            Exchange(name, (talk[0],), ShownAnswer(talk[1]["content"]), talk[2]["content"])
            for name, talk in talks.items()
        ]
        return [
            {
                "conversation": name,
                "prompt": talks[name][0]["content"],
                "answer": answer,
                "turn": turn,
                "gain": gain,
                "correct": self._is_correct(answer, references[name]),
            }
            for name, answer, turn, gain in zip(
                talks,
                answers,
                turns,
                gains(model, self.template, exchanges, exchanges),
                strict=True,
            )
        ]

    def _is_correct(self, answer: str, reference: str | None) -> bool | None:
        if reference is None or "verifier" not in self.settings:
            return None
        case = Case(answer=answer, reference=reference)
        return next(iter(verifier_named(self.settings["verifier"])([case], 1))).correct


def next_prompt(template: Template, messages: Sequence[Message]) -> Prompt:
    """Return the prompt for the turn after some messages: an answer, or a user turn."""
    *before, last = messages
    if last["role"] == "user":
        return template.answer_prompt(messages)
    return template.probe_prompt(before, last["content"])


def prompt_ids(template: Template, messages: Sequence[Message]) -> list[int]:
    """Return the token ids of the prompt for the next turn, empty if none can be made."""
    try:
        return list(next_prompt(template, messages).token_ids)
    except TemplateError:
        return []


def written(
    model: Any,
    template: Template,
    prompts: Sequence[Sequence[int]],
    ends: Sequence[int],
    max_tokens: int,
    **sampling: Any,
) -> list[str]:
    """Return the text of a loaded model after each prompt, empty after a prompt without tokens.

    A text ends before one of the token ids `ends`. It is greedy, unless `sampling` says otherwise.
    """
    import torch

    by_position = {position: list(ids) for position, ids in enumerate(prompts) if ids}
    longest = max(map(len, by_position.values()), default=0)
    if not longest:
        return [""] * len(prompts)
    pad = template.tokenizer.pad_token_id
    padded = torch.tensor([[pad] * (longest - len(p)) + p for p in by_position.values()])
    mask = torch.tensor([[0] * (longest - len(p)) + [1] * len(p) for p in by_position.values()])
    with torch.no_grad():
        generated = model.generate(
            input_ids=padded.to(model.device),
            attention_mask=mask.to(model.device),
            max_new_tokens=max_tokens,
            eos_token_id=list(ends),
            pad_token_id=pad,
            **{"do_sample": False} | sampling,
        )[:, longest:]
    texts = {
        position: template.decode([*takewhile(lambda t: t not in ends, row.tolist())]).strip()
        for position, row in zip(by_position, generated, strict=True)
    }
    return [texts.get(position, "") for position in range(len(prompts))]

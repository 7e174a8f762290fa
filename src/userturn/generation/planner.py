"""Turn items into requests: the prompts of a dataset's answers, or of a cell."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from userturn.config.formats import PLAYED
from userturn.datasets.messages import ShownAnswer
from userturn.datasets.prepare import Item
from userturn.models.requests import Request, Sampling, derive_seed, make_request, role_at
from userturn.prompts.chat_template import Prompt, Template, TemplateError, check_context_length
from userturn.prompts.perturbations import (
    NO_ANSWER,
    Context,
    Donor,
    answer_for_readers,
    needs_reference,
    perturb,
)
from userturn.storage.hashing import canonical_json
from userturn.study.asks import Asks, digest_of_probe


@dataclass(frozen=True)
class Planned:
    """One row of a plan: a request, or the reason why there is none.

    Attributes:
        answer: the answer that readers see before the turn.
        change: what the perturbation did, as JSON.
        ask: the ask (`study.asks`), or None if there is no answer to probe after.
        asked_as: name of the dataset in key and seed.
    """

    position: int
    item: str
    sample: int
    request: Request | None
    answer: str | None = None
    change: str | None = None
    error: str | None = None
    ask: str | None = None
    asked_as: str | None = None

    @property
    def columns(self) -> dict[str, Any]:
        """The row's columns (`plan_files.PLAN_SCHEMA`)."""
        request = self.request
        return {
            **{name: value for name, value in vars(self).items() if name != "request"},
            "key": request and request.key,
            "seed": request and request.sampling.seed,
            "prompt_text": request and request.prompt.text,
            "prompt_token_ids": request and request.prompt.token_ids,
            "asked_item": self.item,
        }


@dataclass(frozen=True)
class Probe:
    """The prompt before a user turn, or the reason why there is none.

    Attributes:
        prompt: the prompt, which ends in the model's user header.
        answer: the answer that judges and annotators see before the turn.
        change: what the perturbation did, as JSON.
        shown: hash of what the prompt shows, or None if there is nothing to show.
    """

    prompt: Prompt | None
    answer: str | None = None
    change: str | None = None
    error: str | None = None
    shown: str | None = None


@dataclass(frozen=True)
class Planner:
    """A planner of the requests of one model.

    A `dataset` is named as it was first asked, and `position` is an item's number in it.
    """

    identity: Mapping[str, Any]
    template: Template
    max_model_len: int
    study_seed: int
    asks: Asks

    def sampling(self, role: str, settings: Mapping[str, Any]) -> Sampling:
        """Return the sampling settings of a plan, which are `settings` and the stops of a role."""
        template = self.template
        if role == "assistant":
            ends, texts = template.end_token_ids, template.end_texts
            return Sampling(**settings, stop_token_ids=ends, seed=None, stop_texts=texts)
        return Sampling(
            **settings,
            stop_token_ids=template.stop_token_ids,
            seed=None,
            stop_texts=template.stop_texts,
            begins_with=template.left_to_the_model,
            is_played=template.header_extent == PLAYED,
        )

    def _answer_prompt(self, item: Item) -> Prompt:
        return self.template.answer_prompt(item.messages)

    def _request(
        self, row: Planned, role: str, dataset: str, prompt: Prompt, sampling: Sampling
    ) -> Request:
        if sampling.temperature > 0:
            seed = derive_seed(self.study_seed, role, dataset, row.item, row.sample)
            sampling = replace(sampling, seed=seed)
        check_context_length(prompt, sampling.max_tokens, self.max_model_len)
        return make_request(self.identity, dataset, row.item, row.sample, prompt, sampling)

    def answer(
        self,
        dataset: str,
        position: int,
        item: Item,
        sampling: Sampling,
        sample: int = 0,
        depth: int = 1,
    ) -> Planned:
        """Return the planned row of one of the model's own answers to an item."""
        role = role_at("assistant", depth)
        ask = self.asks.answer(item.messages, sampling, sample, depth)
        row = Planned(position, item.id, sample, None, ask=ask, asked_as=dataset)
        try:
            request = self._request(row, role, dataset, self._answer_prompt(item), sampling)
        except TemplateError as error:
            return replace(row, error=str(error))
        return replace(row, request=request)

    def probe(
        self,
        item: Item,
        answer: ShownAnswer | None,
        operator: Mapping[str, Any],
        donor: Donor | None = None,
    ) -> Probe:
        """Return the probe after a perturbed answer, or the reason why there is none."""
        if answer is None and not needs_reference(operator):
            return Probe(None, error=NO_ANSWER)
        donated = None if donor is None else donor.answer
        hashed = digest_of_probe(operator, item.messages, answer, donated, item.reference)
        return self._probe(
            Context(item.messages, answer, {}, donor, item.reference), operator, hashed
        )

    def _probe(self, own: Context, operator: Mapping[str, Any], hashed: str) -> Probe:
        answer = own.answer
        try:
            context = perturb(own, operator, self.template.tokenizer)
            answer = context.answer
            prompt = self.template.probe_prompt(context.messages, *(answer or (None,)))
        except TemplateError as error:
            seen = None if answer is None else answer.text
            return Probe(None, seen, error=str(error), shown=hashed)
        change = canonical_json(dict(context.change))
        return Probe(prompt, answer_for_readers(own, context), change, shown=hashed)

    def user_turn(
        self,
        dataset: str,
        position: int,
        item: str,
        sample: int,
        probe: Probe,
        sampling: Sampling,
        depth: int = 1,
    ) -> Planned:
        """Return the planned row of one user turn after a probe."""
        role, visible_answer = role_at("user", depth), probe.shown
        ask = (
            None
            if visible_answer is None
            else self.asks.user_turn(visible_answer, sampling, sample, depth)
        )
        row = Planned(
            position, item, sample, None, probe.answer, error=probe.error, ask=ask, asked_as=dataset
        )
        if probe.prompt is None:
            return row
        try:
            request = self._request(row, role, dataset, probe.prompt, sampling)
        except TemplateError as error:
            return replace(row, error=str(error))
        return replace(row, request=request, change=probe.change)

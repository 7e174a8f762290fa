"""From items to requests: which prompts make up the answers of a dataset, or a cell.

A plan is written beside the journal as a table, one row a request: position, item, sample, key,
seed, prompt_text, prompt_token_ids, answer (as the model is shown it; under `header_only`, where it
is shown none, its own), change (JSON) and error.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from userturn.datasets import Item
from userturn.fingerprints import canonical_json, fingerprint
from userturn.perturbations import Context, Donor, perturb
from userturn.requests import Request, Sampling, derive_seed, make_request
from userturn.tables import Schema, write_table
from userturn.templates import Prompt, Template, TemplateError

PLAN_SCHEMA: Schema = {
    "position": pl.Int64,
    "item": pl.String,
    "sample": pl.Int64,
    "key": pl.String,
    "seed": pl.Int64,
    "prompt_text": pl.String,
    "prompt_token_ids": pl.List(pl.Int32),
    "answer": pl.String,
    "change": pl.String,
    "error": pl.String,
}


@dataclass(frozen=True)
class Planned:
    """One row of a plan: a request, or the reason why there can be none."""

    position: int
    item: str
    sample: int
    request: Request | None
    answer: str | None = None
    change: str | None = None
    error: str | None = None


@dataclass(frozen=True)
class Planner:
    """What all requests of one model share.

    Attributes:
        identity: what of the model and its engine enters the identity of a request.
        template: renders its prompts.
        max_model_len: tokens that prompt and continuation may have together.
        study_seed: the seed that all others are derived from.
    """

    identity: Mapping[str, Any]
    template: Template
    max_model_len: int
    study_seed: int

    def _request(
        self,
        role: str,
        dataset: str,
        item: str,
        sample: int,
        prompt: Prompt,
        drawn: Mapping[str, Any],
    ) -> Request:
        """Return a request; raises TemplateError where the prompt is too long for the model."""
        stops = self.template.stop_token_ids if role == "user" else self.template.end_token_ids
        seed = derive_seed(self.study_seed, role, dataset, item, sample)
        sampling = Sampling(
            **drawn, stop_token_ids=stops, seed=seed if drawn["temperature"] > 0 else None
        )
        n_tokens = len(prompt.token_ids) + sampling.max_tokens
        if n_tokens > self.max_model_len:
            raise TemplateError(
                f"prompt and continuation need {n_tokens} tokens, "
                f"max_model_len is {self.max_model_len}"
            )
        return make_request(self.identity, dataset, item, sample, prompt, sampling)

    def answer(self, dataset: str, position: int, item: Item, drawn: Mapping[str, Any]) -> Planned:
        """Plan the model's own answer to one item."""
        try:
            prompt = self.template.answer_prompt(item.messages)
            request = self._request("assistant", dataset, item.id, 0, prompt, drawn)
        except TemplateError as error:
            return Planned(position, item.id, 0, None, error=str(error))
        return Planned(position, item.id, 0, request)

    def user_turn(
        self,
        dataset: str,
        position: int,
        item: Item,
        sample: int,
        answer: str | None,
        operator: Mapping[str, Any],
        drawn: Mapping[str, Any],
        donor: Donor | None = None,
    ) -> Planned:
        """Plan one user turn after a perturbed answer; without an answer none can be asked."""
        if answer is None:
            return Planned(position, item.id, sample, None, error="the item has no answer")
        context = Context(item.messages, answer, {}, donor)
        try:
            context = perturb(context, operator, self.template.tokenizer)
            prompt = self.template.probe_prompt(context.messages, context.answer)
            request = self._request("user", dataset, item.id, sample, prompt, drawn)
        except TemplateError as error:
            return Planned(position, item.id, sample, None, context.answer, error=str(error))
        change = canonical_json(dict(context.change))
        # Who reads a turn that was written without a conversation reads the item's own one.
        shown = answer if context.answer is None else context.answer
        return Planned(position, item.id, sample, request, shown, change)


def _row(planned: Planned) -> dict[str, Any]:
    request = planned.request
    return {
        "position": planned.position,
        "item": planned.item,
        "sample": planned.sample,
        "key": request and request.key,
        "seed": request and request.sampling.seed,
        "prompt_text": request and request.prompt.text,
        "prompt_token_ids": request and request.prompt.token_ids,
        "answer": planned.answer,
        "change": planned.change,
        "error": planned.error,
    }


def write_plan(
    plan: Iterable[Planned], path: Path, identity: str, model: Mapping[str, Any]
) -> None:
    """Write a plan as a table, with a fingerprint of what identifies its model."""
    table = pl.DataFrame([_row(planned) for planned in plan], schema=PLAN_SCHEMA)
    write_table(table, path, identity, model=fingerprint(model))


def read_plan(folder: Path) -> pl.DataFrame:
    """Read the plan of all shards in the dataset's order; what two shards planned counts once."""
    tables: Sequence[pl.DataFrame] = [
        pl.read_parquet(path) for path in sorted(folder.glob("*.parquet"))
    ]
    if len(tables) == 1:
        return tables[0]
    return pl.concat(tables).unique(["position", "sample"], keep="first").sort("position", "sample")

"""Plan and collect several answers of each item, and one user turn after each of them."""

from collections.abc import Iterator, Mapping

import polars as pl

from userturn.generation.collect import (
    USER_TURNS_SCHEMA,
    collected,
    shown_samples,
    with_reasoning,
)
from userturn.generation.plan_files import Plan, plan_path, plan_paths, write_plan
from userturn.generation.planner import Planned, Planner
from userturn.generation.shards import is_in_shard, part_of
from userturn.generation.sweep_plan import PendingPlans
from userturn.prompts.answer_form import AnswerForm
from userturn.sources.candidates import (
    CandidateTable,
    candidate_tables,
    candidates_identity,
    n_candidates,
    turn_temperature,
)
from userturn.sources.source import ANSWERS, USER_TURNS
from userturn.storage.parquet import Schema, write_parts
from userturn.study.cells import PLAIN
from userturn.study.finished_requests import swept_again_if_lost
from userturn.study.grid import Grid
from userturn.study.model_description import read_description
from userturn.study.replies import journal_of

UNCHANGED = {"operator": PLAIN}
Shown = Mapping[tuple[str, int], str | None]
"""The text of each candidate by item and sample; None where there is none."""
NOT_OF_CANDIDATES = ("temperature", "perturbation", "change")
CANDIDATES_SCHEMA: Schema = {
    **{name: kind for name, kind in USER_TURNS_SCHEMA.items() if name not in NOT_OF_CANDIDATES},
    "reasoning": pl.String,
}


def answers_plans(plans: PendingPlans) -> list[Plan]:
    """Write the plans of a shard's candidates, of all pending tables and those these are after."""
    answered = {of.dataset: of._replace(kind=ANSWERS) for of in _pending(plans)}
    return [answers_plan(plans.grid, plans.planner, o, plans.shard) for o in answered.values()]


def turns_plans(plans: PendingPlans, form: AnswerForm) -> list[Plan]:
    """Write the plans of a shard's pending turns after candidates, which the journal must have."""
    after = [of for of in _pending(plans) if of.kind == USER_TURNS]
    return [
        turns_plan(plans.grid, plans.planner, of, plans.shard, _shown(plans, of, form))
        for of in after
    ]


def _shown(plans: PendingPlans, of: CandidateTable, form: AnswerForm) -> Shown:
    return shown_candidates(plans.grid, of, plans.shard, form)


def _pending(plans: PendingPlans) -> list[CandidateTable]:
    every = (of for kind in (ANSWERS, USER_TURNS) for of in candidate_tables(plans.grid, kind))
    mine = [of for of in every if of.model == plans.model]
    return [of for of in mine if candidates_identity(plans.grid, of) in plans.pending]


def answers_plan(grid: Grid, planner: Planner, of: CandidateTable, shard: str) -> Plan:
    """Write the plan of a shard's candidates of a model and dataset."""
    sampling = planner.sampling("assistant", grid.answer_settings(of.model))
    asked_as, samples = grid.places.of_dataset(of.dataset), range(n_candidates(grid.config))
    own = part_of(grid.dataset_path(of.dataset), shard, with_donors=False).own
    rows = (planner.answer(asked_as, i, item, sampling, s) for i, item in own for s in samples)
    identity = candidates_identity(grid, of)
    path = plan_path(grid, of.model, of.dataset, identity, shard)
    plan = Plan(path, of.dataset, sampling, "assistant")
    write_plan(rows, plan.path, identity, planner.identity)
    return plan


def turns_plan(grid: Grid, planner: Planner, of: CandidateTable, shard: str, shown: Shown) -> Plan:
    """Write the plan of the user turn after each candidate, by what is shown of it."""
    sampling = planner.sampling("user", grid.user_turn_settings(turn_temperature(grid)))
    identity = candidates_identity(grid, of)
    plan = Plan(plan_path(grid, of.model, of.dataset, identity, shard), of.dataset, sampling)

    def rows() -> Iterator[Planned]:
        asked_as = grid.places.of_dataset(of.dataset)
        own = part_of(grid.dataset_path(of.dataset), shard, with_donors=False).own
        for position, item in own:
            for sample in range(n_candidates(grid.config)):
                probe = planner.probe(item, shown.get((item.id, sample)), UNCHANGED)
                yield planner.user_turn(asked_as, position, item.id, sample, probe, sampling)

    write_plan(rows(), plan.path, identity, planner.identity)
    return plan


def shown_candidates(grid: Grid, of: CandidateTable, shard: str, form: AnswerForm) -> Shown:
    """Return the text of each candidate by item and sample; None where there is none."""
    identity = candidates_identity(grid, of._replace(kind=ANSWERS))
    paths = plan_paths(grid, of.model, of.dataset, identity, shard)
    shown = shown_samples(paths, journal_of(grid, of.model, of.dataset, paths), form)
    return {place: text for place, text in shown.items() if is_in_shard(place[0], shard)}


def candidates_of(
    grid: Grid, of: CandidateTable, outcomes: pl.DataFrame | None = None
) -> Iterator[pl.DataFrame]:
    """Yield a table of candidates, a part at a time.

    Candidates have the columns of answers and `sample`; turns after them are like those of a cell,
    with the candidate's `sample`.

    Args:
        grid: the study's grid.
        of: the table.
        outcomes: the outcomes in the journal, if it was already read.

    Raises:
        LostRecordsError: a request of the plan has no record in the journal.
    """
    where: dict[str, str | float] = {"model": of.model, "dataset": of.dataset}
    if of.kind == USER_TURNS:
        where |= {"temperature": turn_temperature(grid), "perturbation": PLAIN}
    parts = collected(grid, where, candidates_identity(grid, of), outcomes)
    if of.kind == USER_TURNS:
        yield from parts
    else:
        form = AnswerForm.of(read_description(grid, of.model))
        yield from (with_reasoning(part, form).drop("change") for part in parts)


def collect_candidates(grid: Grid, of: CandidateTable, path_to_candidates: str) -> None:
    """Write a table of candidates."""
    with swept_again_if_lost(grid, of.model):
        write_parts(candidates_of(grid, of), path_to_candidates, candidates_identity(grid, of))

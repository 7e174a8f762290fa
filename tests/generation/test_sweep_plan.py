"""Plans of a sweep: cells that differ in temperature share their prompts and nothing else."""

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import polars as pl
import pytest

from tests.support.tiny_grid import tiny_grid
from userturn.datasets.messages import ShownAnswer
from userturn.generation.load_model import load_model
from userturn.generation.plan_files import Plan
from userturn.generation.sweep import sweep_plans
from userturn.generation.sweep_plan import SweepPlans
from userturn.prompts.chat_template import Prompt, Template
from userturn.storage.hashing import file_sha256
from userturn.study.model_description import read_description
from userturn.workflow.pending import Pending

N_ITEMS, N_SAMPLES = 6, 3


class Counting:
    """A template that counts the probe prompts that are made with it."""

    def __init__(self, template: Template) -> None:
        self.template = template
        self.n_made = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.template, name)

    def probe_prompt(self, *arguments: Any) -> Prompt:
        self.n_made += 1
        return self.template.probe_prompt(*arguments)


def planning(folder: Path, *temperatures: float) -> SweepPlans:
    """Return what plans a tiny model's turns at some temperatures, under two perturbations."""
    run = {"temperatures": list(temperatures), "perturbations": ["none", "truncate"]}
    grid = tiny_grid(folder, N_ITEMS, run=run, samples=N_SAMPLES)
    model = load_model(grid, "tiny", read_description(grid, "tiny"))
    return sweep_plans(grid, model, "1of1", Pending(grid).identities("tiny"), str(folder))


def turns_of(plans: SweepPlans) -> list[Plan]:
    """Write the plans of user turns after one answer to all items."""
    (_, answers), (_, turns) = plans.stages()
    (plan,) = plans.texts(answers)
    items = pl.read_parquet(plan.path)["item"]
    shown = dict.fromkeys(((item, 0) for item in items), ShownAnswer("It is four, as 2 + 2 is."))
    plans.shown = lambda _: shown  # type: ignore[method-assign]
    return list(plans.texts(turns))


def test_prompt_is_made_once_for_all_temperatures_and_samples(tmp_path: Path) -> None:
    plans = planning(tmp_path, 0, 0.5, 1)
    counting = Counting(plans.planner.template)
    plans.planner = replace(plans.planner, template=cast("Template", counting))
    written = turns_of(plans)
    assert counting.n_made == 2 * N_ITEMS  # perturbations
    n_rows = [pl.read_parquet(plan.path).height for plan in written]
    assert sorted(n_rows) == sorted([N_ITEMS, N_ITEMS * N_SAMPLES, N_ITEMS * N_SAMPLES] * 2)


@pytest.mark.slow
def test_plan_of_a_cell_does_not_depend_on_the_other_temperatures(tmp_path: Path) -> None:
    found = []
    for temperatures in ([1], [0, 0.5, 1]):
        plans = planning(tmp_path, *temperatures)
        written = turns_of(plans)
        hot = [plan.path for plan in written if plan.sampling.temperature == 1]
        found.append(sorted((path.parent.name, file_sha256(path)) for path in hot))
        for path in hot:
            path.unlink()
    assert found[0] == found[1]
    assert len(found[0]) == 2


def test_requests_of_one_item_differ_in_sample_seed_and_key_alone(tmp_path: Path) -> None:
    plans = planning(tmp_path, 1)
    plan = turns_of(plans)[0]
    rows = pl.read_parquet(plan.path)
    of_items = rows.group_by("item").agg(pl.exclude("item").n_unique())
    for column in ("key", "seed", "sample"):
        assert of_items[column].to_list() == [N_SAMPLES] * N_ITEMS
    for column in ("prompt_text", "prompt_token_ids", "answer", "change", "error"):
        assert of_items[column].to_list() == [1] * N_ITEMS

"""Plans of a sweep: cells that differ in temperature share their prompts and nothing else."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import polars as pl
import pytest
import yaml

from tests.tiny_model import write_tiny_model
from tests.workflow import ROOT
from userturn.datasets import prepare_dataset
from userturn.descriptions import describe_model
from userturn.fingerprints import file_sha256
from userturn.grid import Grid
from userturn.pending import Pending
from userturn.pending_plans import PendingPlans
from userturn.signals import StopFlag
from userturn.sweep import load_sweep
from userturn.templates import Prompt, Template

N_ITEMS, N_SAMPLES = 6, 3
Planning = Callable[..., PendingPlans]


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


@pytest.fixture
def planning(tmp_path: Path) -> Planning:
    """Return a function that makes the plans of a tiny model at some temperatures."""
    folder = write_tiny_model(tmp_path / "model")

    def plans(temperatures: Sequence[float]) -> PendingPlans:
        config = yaml.safe_load((ROOT / "config.yaml").read_text())
        config["models"] = {"tiny": {"source": str(folder), "max_model_len": 4096}}
        config["datasets"] = {
            "items": {
                "file": str(ROOT / "data/demo/word_problems.jsonl"),
                "fields": {"id": "id", "prompt": "question"},
                "verifier": "none",
                "limit": N_ITEMS,
            }
        }
        config["controls"]["human"], config["samples"] = [], N_SAMPLES
        config["run"] = {"temperatures": temperatures, "perturbations": ["none", "truncate"]}
        results = tmp_path / f"results-{len(temperatures)}"
        grid = Grid(config, results)
        prepare_dataset(grid.dataset_settings("items"), "x", grid.dataset_path("items"))
        describe_model(grid, "tiny", results / "models" / "tiny.json")
        pending = Pending(grid).identities("tiny")
        return load_sweep(grid, "tiny", "1of1", pending, StopFlag()).plans

    return plans


def answers_of(plans: PendingPlans, tmp_path: Path) -> dict[str, str | None]:
    asked = plans.answers("items", tmp_path)[0].rows("item")["item"]
    return dict.fromkeys(asked, "It is four, since two and two are four.")


def test_prompt_is_made_once_for_all_temperatures_and_samples(
    planning: Planning, tmp_path: Path
) -> None:
    plans = planning([0, 0.5, 1])
    counting = Counting(plans.planner.template)
    plans.planner = replace(plans.planner, template=cast(Template, counting))
    written = list(plans.user_turns("items", answers_of(plans, tmp_path)))
    assert counting.n_made == 2 * N_ITEMS  # perturbations
    n_rows = [plan.rows("key").height for plan in written]
    assert sorted(n_rows) == sorted([N_ITEMS, N_ITEMS * N_SAMPLES, N_ITEMS * N_SAMPLES] * 2)


def test_plan_of_a_cell_does_not_depend_on_the_other_temperatures(
    planning: Planning, tmp_path: Path
) -> None:
    found = []
    for temperatures in ([1], [0, 0.5, 1]):
        plans = planning(temperatures)
        written = list(plans.user_turns("items", answers_of(plans, tmp_path)))
        hot = [plan.path for plan in written if plan.sampling.temperature == 1]
        found.append(sorted((path.parent.name, file_sha256(path)) for path in hot))
    assert found[0] == found[1]
    assert len(found[0]) == 2


def test_requests_of_one_item_differ_in_key_and_seed_alone(
    planning: Planning, tmp_path: Path
) -> None:
    plans = planning([1])
    plan = next(iter(plans.user_turns("items", answers_of(plans, tmp_path))))
    rows = pl.read_parquet(plan.path)
    of_items = rows.group_by("item").agg(pl.exclude("item").n_unique())
    for column in ("key", "seed", "sample"):
        assert of_items[column].to_list() == [N_SAMPLES] * N_ITEMS
    for column in ("prompt_text", "prompt_token_ids", "answer", "change", "error"):
        assert of_items[column].to_list() == [1] * N_ITEMS

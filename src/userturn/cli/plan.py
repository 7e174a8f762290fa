"""`userturn plan`: requests, cost and prompts of a study before anything is spent."""

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from userturn.cli.arguments import study_config, take_configuration, take_profile
from userturn.cli.plan_output import sheets
from userturn.cli.terminal import Output, Part, prose, told_checks
from userturn.config.endpoint_models import has_endpoint
from userturn.config.entries import currency
from userturn.config.families import size, trainings
from userturn.config.formats import default_format_models, models_in_other_formats
from userturn.config.model_keys import ModelEntry
from userturn.datasets.messages import Message
from userturn.endpoints.usage import Spent, money
from userturn.errors import UserError
from userturn.models.fetch import check_source, folder_at_hand
from userturn.models.machine import seconds_on_gpus
from userturn.models.setup_refusals import check_setup
from userturn.prompts.chat_template import Template
from userturn.prompts.examples import EXAMPLE
from userturn.prompts.load_template import load_template
from userturn.prompts.perturbations import controls_of, needs_reference
from userturn.slurm.doctor import planned
from userturn.sources.registry import asked, check_study
from userturn.sources.source import ANSWERS, SCORES, USER_TURNS, Size
from userturn.stats.margins import POWER, detectable_difference
from userturn.stats.sample_size import described_level, level_of
from userturn.storage.files import read_identity
from userturn.study.cells import PLAIN
from userturn.study.grid import Grid
from userturn.study.model_description import add_shortest_prompt, model_setup
from userturn.tables.judge_validity import card_of, shortfalls
from userturn.wording import number_of
from userturn.workflow.study import Study
from userturn.workflow.study_size import (
    cost_of_judge,
    dataset_sizes,
    load_of_model,
    run_size,
    total,
)

HELP = "show requests, cost and prompts before a run"
EXAMPLES = ("plan", "plan --configfile mine.yaml --json")


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    take_configuration(command)
    take_profile(command)


def run(arguments: argparse.Namespace) -> Output:
    """Run the command."""
    return plan(arguments.configfile, arguments.results, arguments.profile)


LONGEST_SHOWN = 240


def plan(configfiles: list[str], results: str, profile: Path = Path("slurm")) -> Output:
    """Return a study's plan: failing checks, grid, requests, tokens, GPUs, judge calls, prompts.

    The cluster is checked with the profile, if this machine has SLURM's commands.
    """
    config = study_config(configfiles)
    check_study(config)
    grid = Grid(config, results)
    sizes = dataset_sizes(grid)
    checks, card = list(planned(grid, profile)), card_of(grid.results)
    numbers = {
        "checks": checks,
        "grid": _counts(grid),
        "datasets": list(_datasets(grid, sizes)),
        "models": [_model(grid, name, sizes) for name in grid.models],
        "scores": list(_scores(grid, sizes)),
        "judges": [cost_of_judge(grid, name, sizes) for name in grid.asked_judges],
        "max_cost": config["max_cost"],
        "currency": currency(config),
        "labels_wanted": {
            name: [lack.why for lack in shortfalls(card, name, config["judge_card"])]
            for name in grid.judges
        },
    }
    n_items = sum(sizes[name].n_items for name in grid.datasets)
    end: list[Part] = [
        run_size(Study(grid)),
        prose(smallest_effect(grid, n_items)),
        prose(_labels(grid, numbers)),
    ]
    prompts = [_first_prompt(grid, name) for name in grid.models]
    parts: list[Part] = [_grid(grid), *sheets(numbers), *end, *prompts]
    spaced = [one for part in parts for one in ("", part)]
    return Output([*told_checks(checks, names_passed=False), *spaced], numbers)


def _labels(grid: Grid, numbers: Mapping[str, Any]) -> str:
    lines = [
        f"  {judge}: {'; '.join(missing) or 'none, its rates are findings'}"
        for judge, missing in numbers["labels_wanted"].items()
    ]
    rounds = ", ".join(grid.config["humans"]["rounds"]) or "none is named in humans.rounds"
    first = f"the page of a round asks for these first (rounds: {rounds})"
    return "\n".join([f"people's labels that judges lack; {first}", *lines])


def _counts(grid: Grid) -> dict[str, int]:
    return {
        "models": len(grid.models),
        "datasets": len(grid.datasets),
        "temperatures": len(grid.temperatures),
        "perturbations": len(grid.perturbations),
        "cells": len(grid.cells),
        "judges": len(grid.judges),
    }


def _grid(grid: Grid) -> str:
    n = _counts(grid)
    in_formats = " in formats" if models_in_other_formats(grid.models) else ""
    sizes = [number_of(n["models"], "model") + in_formats]
    sizes += [number_of(n[f"{one}s"], one) for one in ("dataset", "temperature", "perturbation")]
    cells, judges = number_of(n["cells"], "cell"), number_of(n["judges"], "judge")
    return f"grid: {' x '.join(sizes)} = {cells}, {judges}"


def _datasets(grid: Grid, sizes: Mapping[str, Size]) -> Iterator[dict[str, Any]]:
    names = [name for name, entry in grid.perturbations.items() if needs_reference(entry)]
    for name, of in sizes.items():
        if name in grid.datasets:
            yield {
                **{"dataset": name, "items": of.n_items, "tokens_each": round(of.n_tokens)},
                "references": dict.fromkeys(names, of.n_references),
                "is_counted": of.is_counted,
            }


def _model(grid: Grid, name: str, sizes: Mapping[str, Size]) -> dict[str, Any]:
    entry, of_kind = grid.models[name], load_of_model(grid, name, sizes)
    answers, turns = of_kind[ANSWERS], of_kind[USER_TURNS]
    written, every = answers + turns, total(of_kind.values())
    return {
        **{"model": name, "answers": answers.n, "user_turns": turns.n},
        **{"tokens_read": written.n_read, "tokens_written": written.n_written},
        "place": _where_it_runs(entry, currency(grid.config), every.n_read, every.n_written),
        "gpu_hours": gpu_hours(name, entry, every.n_read, every.n_written),
    }


def gpu_hours(name: str, entry: ModelEntry, n_read: float, n_written: float) -> float | None:
    """Return roughly the GPU hours of a model's sweeps with texts of full length.

    Its size is taken from its entry or name, at two bytes per parameter. Speeds are assumed. None
    if it runs on a server or without GPUs, or its size is unknown.
    """
    billions, active = size(entry.get("size", name))
    if has_endpoint(entry) or not entry["gpus"] or billions is None or active is None:
        return None
    n = entry["gpus"]
    seconds = seconds_on_gpus(2e9 * billions, 1e9 * active, n_read, n_written, n)
    return n * seconds / 3600


def _where_it_runs(entry: ModelEntry, unit: str, n_read: float, n_written: float) -> str:
    """Return a model's sweeps and GPUs in words, or the largest cost of its server."""
    if not has_endpoint(entry):
        return f"{entry['shards']} x {entry['gpus']}"
    price = entry.get("price")
    if price is None:
        return f"at {entry['endpoint']}, no price in its entry"
    most = money(Spent(input_tokens=int(n_read), output_tokens=int(n_written)), price)
    cost = f"about {most:,.2f} {unit}" if most >= 0.01 else f"under 0.01 {unit}"
    return f"at {entry['endpoint']}, {cost} with scores and answers of full length"


def _scores(grid: Grid, sizes: Mapping[str, Size]) -> Iterator[dict[str, Any]]:
    """Yield the number of scoring requests per dataset and kind, with the models that have it."""
    models: dict[tuple[str, str, int, float], list[str]] = {}
    for of in (of for of in asked(grid).values() if of.kind == SCORES):
        load = of.count(sizes)
        models.setdefault((of.dataset, of.name, load.n, load.n_read), []).append(of.model)
    for (dataset, turns, n, n_read), names in sorted(models.items()):
        row = {"dataset": dataset, "turns": turns, "models": names}
        yield row | {"requests": n, "tokens_read": n_read}


def _first_prompt(grid: Grid, model: str) -> str:
    """Return a model's first probe prompt, or why it cannot be shown."""
    entry = grid.models[model]
    if "recipe" not in entry:  # its folder is made by its training
        check_source(entry["source"])
    folder = folder_at_hand(entry["source"], entry["revision"])
    if folder is None:
        return f"{model}: its tokenizer is not downloaded yet, so its prompt cannot be shown"
    setup = model_setup(grid, model, folder)
    try:
        check_setup(setup)
        template = load_template(folder, entry, grid.config["today"])
        check_setup(add_shortest_prompt(setup, template))
        shown = shown_prompt(template, _first_messages(grid))
    except UserError as error:
        return f"{model}: REFUSED, {error}"
    most, asked_for = setup.longest_text, setup.max_model_len
    cut = f"texts of up to {most:,} tokens, as its config.json says, not {asked_for:,};\n"
    return f"{model}: {'' if most == asked_for else cut}{shown}"


def _first_messages(grid: Grid) -> list[Message]:
    for dataset in grid.datasets:
        path = grid.dataset_path(dataset)
        if read_identity(path) is not None:
            return list(pl.read_parquet(path, columns=["messages"], n_rows=1)["messages"][0])
    return [EXAMPLE[0]]


def shown_prompt(template: Template, messages: list[Message]) -> str:
    """Return a probe prompt with the template's own text in ⟦⟧, and its stop tokens."""
    answer = "(the model's own answer)"
    literals, contents = template.probe_parts(messages, answer)
    n_tokens = len(template.probe_prompt(messages, answer).token_ids)
    shown = "".join(
        f"⟦{literal}⟧{content[:LONGEST_SHOWN]}{'[…]' if len(content) > LONGEST_SHOWN else ''}"
        for literal, content in zip(literals, [*contents, ""], strict=True)
    )
    names: list[Any] = template.tokenizer.convert_ids_to_tokens(list(template.stop_token_ids))
    return (
        f"first probe prompt, {n_tokens} tokens, the template's own text in ⟦ ⟧\n{shown}\n"
        f"  the user turn stops at {' '.join(names)}"
    )


DIFFERING = 0.1  # assumed share of items that are genuine under only one of two conditions


def confirmatory_tests(grid: Grid) -> dict[str, int]:
    """Return the number of tests in each set that Holm adjusts, by factor.

    The sets are those of `tables/contrasts`, with one test per model over all datasets.
    """
    n_controls = len(controls_of(grid.perturbations))
    n_perturbations = len([name for name in grid.perturbations if name != PLAIN])
    n_models = len(default_format_models(grid.models))
    return {
        "perturbation": n_models * (n_perturbations - n_controls),
        "temperature": n_models * (len(grid.temperatures) - 1),
        "model": len(trainings(default_format_models(grid.models), grid.entries)),
        "format": len(models_in_other_formats(grid.models)),
    }


def smallest_change(n_items: int, n_tests: int) -> float:
    """Return the smallest change that the first of several Holm tests detects at `POWER`."""
    return float(detectable_difference(n_items, DIFFERING, level_of(n_tests)))


def smallest_effect(grid: Grid, n_items: int) -> str:
    """Return a line on the smallest change that a study of `n_items` items can detect."""
    tests = confirmatory_tests(grid)
    factor = max(tests, key=lambda name: tests[name])
    n_tests = tests[factor]
    if not n_tests or not n_items:
        return "smallest effect: none, since no two conditions are compared on the same items"
    change = smallest_change(n_items, n_tests)
    size = f"a change of {100 * change:.1f} points" if change < 1 else "no change of any size"
    return (
        f"smallest effect: {n_items:,} items detect {size} with a power of {POWER:.0%} where "
        f"{DIFFERING:.0%} of them differ, {described_level(n_tests, factor)}"
    )

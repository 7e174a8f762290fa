"""`userturn plan`: requests, cost and prompts of a study before anything is spent."""

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from userturn.cli.arguments import take_configuration
from userturn.cli.smallest_effect import smallest_effect
from userturn.config.load import load_config
from userturn.datasets.messages import Message
from userturn.errors import UserError
from userturn.judges.kinds import kind_of
from userturn.models.fetch import folder_at_hand
from userturn.prompts.chat_template import Template
from userturn.prompts.examples import EXAMPLE
from userturn.prompts.load_template import load_template
from userturn.study.check import check_study
from userturn.study.grid import Grid
from userturn.study.inputs import LABELLED_TURNS
from userturn.workflow.chance_floor import ChanceFloorGrid
from userturn.workflow.labelled import LabelledGrid

HELP = "show requests, cost and prompts before a run"


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    take_configuration(command)


def run(arguments: argparse.Namespace) -> str:
    """Run the command."""
    return plan(arguments.configfile, arguments.results)


CHARACTERS_PER_TOKEN = 4
TOKENS_OF_AN_UNSEEN_ITEM = 250
LONGEST_SHOWN = 240


@dataclass(frozen=True)
class Size:
    """Size of a dataset; `is_counted` is False for an assumption."""

    n_items: int
    n_tokens: float
    is_counted: bool


def plan(configfiles: list[str], results: str) -> str:
    """Return a study's plan as text: grid, requests, tokens, GPUs, judge calls and prompts."""
    config = load_config(["config.yaml", *configfiles])
    check_study(config)
    grid = Grid(config, results)
    sizes = {name: dataset_size(grid, name) for name in grid.datasets}
    parts = [_grid(grid), _datasets(sizes), _models(grid, sizes), _judges(grid, sizes)]
    parts.append(smallest_effect(grid, sum(size.n_items for size in sizes.values())))
    return "\n\n".join([*parts, *(_first_prompt(grid, name) for name in grid.models)])


def dataset_size(grid: Grid, dataset: str) -> Size:
    """Return a dataset's size: counted if it is here, else as its config entry says."""
    settings, path = grid.datasets[dataset], grid.dataset_path(dataset)
    if path.is_file():
        messages = pl.read_parquet(path, columns=["messages"])["messages"].to_list()
        n_items = len(messages)
        n_characters = sum(len(m["content"]) for conversation in messages for m in conversation)
    elif "hub" not in settings:
        lines = Path(settings["file"]).read_text().splitlines()
        n_items = min(len(lines), settings.get("limit", len(lines)))
        n_characters = sum(map(len, lines[:n_items]))
    else:
        n_items = min(settings.get("rows", 0), settings.get("limit", settings.get("rows", 0)))
        return Size(n_items, TOKENS_OF_AN_UNSEEN_ITEM, False)
    return Size(n_items, n_characters / CHARACTERS_PER_TOKEN / max(1, n_items), True)


def _grid(grid: Grid) -> str:
    counts = {
        "models": len(grid.models),
        "datasets": len(grid.datasets),
        "temperatures": len(grid.temperatures),
        "perturbations": len(grid.perturbations),
    }
    product = " x ".join(f"{n} {name}" for name, n in counts.items())
    return f"grid: {product} = {len(grid.cells)} cells, {len(grid.judges)} judges"


def _datasets(sizes: Mapping[str, Size]) -> str:
    lines = [
        f"  {name:<24} {size.n_items:>8,} items, about {size.n_tokens:,.0f} tokens each"
        + ("" if size.is_counted else " (not downloaded yet: assumed)")
        for name, size in sizes.items()
    ]
    return "\n".join(["datasets", *lines])


def _turns(grid: Grid, sizes: Mapping[str, Size], model: str) -> dict[str, int]:
    """Return the number of user turns of one model, by dataset."""
    turns = dict.fromkeys(sizes, 0)
    for cell in grid.cells:
        if cell.model == model:
            turns[cell.dataset] += sizes[cell.dataset].n_items * grid.n_samples(cell.temperature)
    return turns


def _models(grid: Grid, sizes: Mapping[str, Size]) -> str:
    """Return a table of requests, tokens, sweeps and GPUs, one line per model."""
    head = f"  {'model':<24} {'answers':>9} {'user turns':>11} {'read':>9} {'written':>9}"
    lines = [f"{head}  sweeps x GPUs"]
    for name, entry in grid.models.items():
        turns, answer = _turns(grid, sizes, name), grid.answer_settings(name)["max_tokens"]
        n_answers = sum(size.n_items for size in sizes.values())
        read = sum(
            size.n_items * size.n_tokens + turns[key] * (size.n_tokens + answer)
            for key, size in sizes.items()
        )
        n_turns = sum(turns.values())
        written = n_answers * answer + n_turns * grid.config["user_turn"]["max_tokens"]
        lines.append(
            f"  {name:<24} {n_answers:>9,} {n_turns:>11,} {_short(read):>9} {_short(written):>9}"
            f"  {entry['shards']} x {entry['gpus']}"
        )
    return "\n".join(["requests of each model; tokens read and written at most", *lines])


def _turns_judged(grid: Grid, sizes: Mapping[str, Size], model: str) -> dict[str, int]:
    """Return how often a judge is asked about turns of one model, by dataset.

    Every turn is judged once, and some of most cells again for the chance floor.
    """
    floor, turns = ChanceFloorGrid(grid), _turns(grid, sizes, model)
    for cell in floor.cells:
        if cell.model == model:
            n_turns = sizes[cell.dataset].n_items * grid.n_samples(cell.temperature)
            turns[cell.dataset] += min(n_turns, floor.n_turns)
    return turns


def _labelled(grid: Grid) -> tuple[float, float]:
    """Return how many labelled turns each judge reads, and their tokens."""
    if not LabelledGrid(grid).is_on:
        return 0.0, 0.0
    text = Path(LABELLED_TURNS).read_text(encoding="utf-8")
    return float(len(text.splitlines())), len(text) / CHARACTERS_PER_TOKEN


def _judges(grid: Grid, sizes: Mapping[str, Size]) -> str:
    """Return the number of calls of each judge, and their price if its entry has one.

    `price` is per million tokens: {input: 0.75, output: 4.5}.
    """
    lines = ["judge calls, at most"]
    n_calls, n_read = _labelled(grid)
    for name in grid.models:
        longest = grid.answer_settings(name)["max_tokens"] + grid.config["user_turn"]["max_tokens"]
        for dataset, n_turns in _turns_judged(grid, sizes, name).items():
            n_calls += n_turns
            n_read += n_turns * (sizes[dataset].n_tokens + longest)
    for name, judge in grid.judges.items():
        money = kind_of(judge).price(judge, n_calls, n_read)
        cost = "no price in its entry" if money is None else f"{money:,.2f} at most"
        cost = "free" if money == 0 else cost
        lines.append(f"  {name:<24} {n_calls:>11,.0f} calls, {cost}")
    if (cap := grid.config["max_cost"]) is not None:
        lines.append(f"  max_cost stops them all before they cost {cap:,.2f}")
    return "\n".join(lines)


def _short(number: float) -> str:
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if number >= size:
            return f"{number / size:.1f}{unit}"
    return f"{number:.0f}"


def _first_prompt(grid: Grid, model: str) -> str:
    """Return a model's first probe prompt, or why it cannot be shown."""
    entry = grid.models[model]
    folder = folder_at_hand(entry["source"], entry["revision"])
    if folder is None:
        return f"{model}: its tokenizer is not downloaded yet, so its prompt cannot be shown"
    try:
        template = load_template(folder, entry, grid.config["today"])
        return f"{model}: {shown_prompt(template, _first_messages(grid))}"
    except UserError as error:
        return f"{model}: REFUSED, {error}"


def _first_messages(grid: Grid) -> list[Message]:
    for dataset in grid.datasets:
        path = grid.dataset_path(dataset)
        if path.is_file():
            return list(pl.read_parquet(path, columns=["messages"], n_rows=1)["messages"][0])
    return [EXAMPLE[0]]


def shown_prompt(template: Template, messages: list[Message]) -> str:
    """Return a probe prompt with the template's own text in double brackets, and its stops."""
    answer = "(the model's own answer)"
    literals, contents = template.probe_parts(messages, answer)
    n_tokens = len(template.probe_prompt(messages, answer).token_ids)
    shown = "".join(
        f"⟦{literal}⟧{_shortened(content)}"
        for literal, content in zip(literals, [*contents, ""], strict=True)
    )
    names: list[Any] = template.tokenizer.convert_ids_to_tokens(list(template.stop_token_ids))
    return (
        f"first probe prompt, {n_tokens} tokens, the template's own text in ⟦ ⟧\n{shown}\n"
        f"  the user turn stops at {' '.join(names)}"
    )


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}[…]"

"""`userturn plan`: requests, cost and prompts of a study before anything is spent."""

import argparse
from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from userturn.cli.arguments import study_config, take_configuration
from userturn.config.endpoint_models import has_endpoint
from userturn.config.families import trainings
from userturn.config.formats import beside_default, in_default
from userturn.config.model_keys import ModelEntry
from userturn.datasets.messages import Message
from userturn.endpoints.usage import Spent, money
from userturn.errors import UserError
from userturn.judges.check_entries import check_served_judge
from userturn.judges.kinds import kind_of
from userturn.models.fetch import check_source, folder_at_hand
from userturn.models.setup_refusals import check_setup
from userturn.prompts.chat_template import Template
from userturn.prompts.examples import EXAMPLE
from userturn.prompts.load_template import load_template
from userturn.prompts.perturbations import controls_of, needs_reference
from userturn.sources.registry import asked, check_study
from userturn.sources.source import ANSWERS, CHARACTERS_PER_TOKEN, SCORES, USER_TURNS, Size
from userturn.stats.margins import POWER, detectable_difference
from userturn.stats.sample_size import level_of
from userturn.storage.files import read_identity
from userturn.study.cells import PLAIN
from userturn.study.grid import Grid
from userturn.study.model_description import model_setup, with_prompts
from userturn.tables.judge_validity import card_of, shortfalls
from userturn.wording import number_of
from userturn.workflow.study import Study
from userturn.workflow.study_size import (
    dataset_sizes,
    load_of_judge,
    load_of_model,
    run_size,
    total,
)

HELP = "show requests, cost and prompts before a run"


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    take_configuration(command)


def run(arguments: argparse.Namespace) -> str:
    """Run the command."""
    return plan(arguments.configfile, arguments.results)


LONGEST_SHOWN = 240


def plan(configfiles: list[str], results: str) -> str:
    """Return a study's plan as text: grid, requests, tokens, GPUs, judge calls and prompts."""
    config = study_config(configfiles)
    check_study(config)
    grid = Grid(config, results)
    sizes = dataset_sizes(grid)
    parts = [_grid(grid), _datasets(grid, sizes), _models(grid, sizes), *_scores(grid, sizes)]
    parts += [_judges(grid, sizes), run_size(Study(grid))]
    parts.append(smallest_effect(grid, sum(sizes[name].n_items for name in grid.datasets)))
    parts.append(labels_wanted(grid))
    judges = [said for name in grid.judges if (said := _refused_judge(grid, name))]
    return "\n\n".join([*parts, *judges, *(_first_prompt(grid, name) for name in grid.models)])


def labels_wanted(grid: Grid) -> str:
    """Return which labels by people each judge lacks before its rates are findings."""
    card = card_of(grid.results)
    lines = []
    for judge in grid.judges:
        missing = shortfalls(card, judge, grid.config["judge_card"])
        told = "; ".join(one.why for one in missing) or "none, its rates are findings"
        lines.append(f"  {judge}: {told}")
    rounds = ", ".join(grid.config["humans"]["rounds"]) or "none is named in humans.rounds"
    first = f"the page of a round asks for these first (rounds: {rounds})"
    return "\n".join([f"people's labels that judges lack; {first}", *lines])


def _grid(grid: Grid) -> str:
    n_models = len(in_default(grid.models))
    in_formats = "" if n_models == len(grid.models) else " in formats"
    counts = {
        "dataset": len(grid.datasets),
        "temperature": len(grid.temperatures),
        "perturbation": len(grid.perturbations),
    }
    sizes = [number_of(len(grid.models), "model") + in_formats]
    product = " x ".join([*sizes, *(number_of(n, name) for name, n in counts.items())])
    cells, judges = number_of(len(grid.cells), "cell"), number_of(len(grid.judges), "judge")
    return f"grid: {product} = {cells}, {judges}"


def _datasets(grid: Grid, sizes: Mapping[str, Size]) -> str:
    names = [name for name, entry in grid.perturbations.items() if needs_reference(entry)]
    lines = [
        f"  {name:<24} {size.n_items:>8,} items, about {size.n_tokens:,.0f} tokens each"
        + "".join(f", {size.n_references:,} of them for {perturbation}" for perturbation in names)
        + ("" if size.is_counted else " (not downloaded yet: assumed)")
        for name, size in sizes.items()
        if name in grid.datasets
    ]
    return "\n".join(["datasets", *lines])


def _models(grid: Grid, sizes: Mapping[str, Size]) -> str:
    """Return a table of requests, tokens, sweeps and GPUs, one line per model."""
    head = f"  {'model':<24} {'answers':>9} {'user turns':>11} {'read':>9} {'written':>9}"
    lines = [f"{head}  sweeps x GPUs, or server"]
    for name, entry in grid.models.items():
        of_kind = load_of_model(grid, name, sizes)
        answers, turns = of_kind[ANSWERS], of_kind[USER_TURNS]
        written, every = answers + turns, total(of_kind.values())
        lines.append(
            f"  {name:<24} {answers.n:>9,} {turns.n:>11,} {_short(written.n_read):>9} "
            f"{_short(written.n_written):>9}  {_place(entry, every.n_read, every.n_written)}"
        )
    return "\n".join(["requests of each model; largest numbers of tokens read and written", *lines])


def _place(entry: ModelEntry, n_read: float, n_written: float) -> str:
    """Return sweeps and GPUs of a model, or what its server may cost."""
    if not has_endpoint(entry):
        return f"{entry['shards']} x {entry['gpus']}"
    price = entry.get("price")
    if price is None:
        return f"at {entry['endpoint']}, no price in its entry"
    most = money(Spent(input_tokens=int(n_read), output_tokens=int(n_written)), price)
    cost = f"about {most:,.2f}" if most >= 0.01 else "under 0.01"
    return f"at {entry['endpoint']}, {cost} with scores and answers of full length"


def _scores(grid: Grid, sizes: Mapping[str, Size]) -> Iterator[str]:
    """Yield the scoring requests of each dataset, models with equal numbers on one line, if any."""
    models: dict[tuple[str, str, int, float], list[str]] = {}
    for of in (of for of in asked(grid).values() if of.kind == SCORES):
        load = of.count(sizes)
        models.setdefault((of.dataset, of.name, load.n, load.n_read), []).append(of.model)
    if models:
        yield "\n".join(
            [
                "scores of turns (`likelihood`): requests of each model, and tokens of prefill at "
                f"{CHARACTERS_PER_TOKEN} characters each, without the template's own text",
                f"  {'dataset':<24} {'turns':<12} {'requests':>9} {'read':>9}  models",
                *(
                    f"  {dataset:<24} {turns:<12} {n:>9,} {_short(n_tokens):>9}  {', '.join(names)}"
                    for (dataset, turns, n, n_tokens), names in sorted(models.items())
                ),
            ]
        )


def _judges(grid: Grid, sizes: Mapping[str, Size]) -> str:
    """Return how often each judge is asked, and its price if its entry has one.

    `price` is per million tokens: {input: 0.75, output: 4.5}.
    """
    lines = [
        "judge calls for user turns of all sources and for rubrics: about, one request each;",
        "at most, two each, as where no first reply can be read, and replies of full length",
    ]
    for name in grid.asked_judges:
        calls, entry = load_of_judge(grid, name, sizes), grid.all_judges[name]
        money = kind_of(entry).price(entry, calls.n, calls.n_read)
        cost = "no price in its entry" if money is None else "about {:,.2f}, {:,.2f} at most"
        shown = "free" if money == (0, 0) else cost.format(*(money or ()))
        lines.append(f"  {name:<24} {calls.n:>11,.0f} calls, {shown}")
    if (cap := grid.config["max_cost"]) is not None:
        lines.append(f"  max_cost stops judges and models before they cost {cap:,.2f} together")
    return "\n".join(lines)


def _short(number: float) -> str:
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if number >= size:
            return f"{number / size:.1f}{unit}"
    return f"{number:.0f}"


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
        check_setup(with_prompts(setup, template))
        shown = shown_prompt(template, _first_messages(grid))
    except UserError as error:
        return f"{model}: REFUSED, {error}"
    most, asked_for = setup.longest_text, setup.max_model_len
    cut = f"texts of up to {most:,} tokens, as its config.json says, not {asked_for:,};\n"
    return f"{model}: {'' if most == asked_for else cut}{shown}"


def _refused_judge(grid: Grid, judge: str) -> str | None:
    """Return why the model of a served judge could not be loaded, as far as that is known here."""
    entry = grid.judges[judge]
    try:
        if entry.get("serve"):
            check_served_judge(judge, entry, asks_hub=False)
    except UserError as error:
        return f"{judge}: REFUSED, {error}"
    return None


def _first_messages(grid: Grid) -> list[Message]:
    for dataset in grid.datasets:
        path = grid.dataset_path(dataset)
        if read_identity(path) is not None:
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


DIFFERING = 0.1  # assumed share of items that are genuine under only one of two conditions


def confirmatory_tests(grid: Grid) -> dict[str, int]:
    """Return the number of tests in each set that Holm adjusts, by factor.

    The sets are those of `tables/contrasts`: one test per model over all datasets.
    """
    n_controls = len(controls_of(grid.perturbations))
    n_perturbations = len([name for name in grid.perturbations if name != PLAIN])
    n_models = len(in_default(grid.models))
    return {
        "perturbation": n_models * (n_perturbations - n_controls),
        "temperature": n_models * (len(grid.temperatures) - 1),
        "model": len(trainings(in_default(grid.models), grid.entries)),
        "format": len(beside_default(grid.models)),
    }


def smallest_change(n_items: int, n_tests: int) -> float:
    """Return the smallest change that one of several tests detects with a power of `POWER`."""
    return float(detectable_difference(n_items, DIFFERING, level_of(n_tests)))


def smallest_effect(grid: Grid, n_items: int) -> str:
    """Return in one line the smallest change that a study of `n_items` items can detect."""
    tests = confirmatory_tests(grid)
    factor = max(tests, key=lambda name: tests[name])
    n_tests = tests[factor]
    if not n_tests or not n_items:
        return "smallest effect: none, since no two conditions are compared on the same items"
    found = smallest_change(n_items, n_tests)
    size = f"a change of {100 * found:.1f} points" if found < 1 else "no change of any size"
    return (
        f"smallest effect: {n_items:,} items detect {size} with a power of {POWER:.0%} where "
        f"{DIFFERING:.0%} of them differ, at {level_of(n_tests):.2g}: Holm's first step of "
        f"{n_tests} tests of {factor}"
    )

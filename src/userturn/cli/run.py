"""`userturn run`: a first result for a model of one's own, in one command."""

import argparse
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from humanfriendly import format_timespan

from userturn.__main__ import INTERRUPTED
from userturn.cli.arguments import check_judge, take_server
from userturn.cli.rates import show_rates
from userturn.cli.terminal import Output
from userturn.config.entries import currency
from userturn.config.load import installed, load_study
from userturn.endpoints.api_keys import read_key
from userturn.errors import UserError
from userturn.models.machine import Machine, seconds_to_write, this_machine
from userturn.sources.registry import check_study
from userturn.study.grid import Grid
from userturn.wording import number_of
from userturn.workflow.first_study import (
    FirstModel,
    StudyArguments,
    cap_cost,
    first_datasets,
    first_model,
    is_begun,
    new_first_study,
    shipped,
    study_text,
)
from userturn.workflow.study_size import (
    cost_of_judge,
    dataset_sizes,
    load_of_model,
    total,
)

HELP = "make and run a study of your own model, and print its rates"
EXAMPLES = (
    "run org/name --data questions.csv",
    "run ./my-model --items 200 --judge gpt-5.4-mini",
    "run http://127.0.0.1:8000/v1 --data questions.csv --prompt text",
)
PROFILE = "profiles/short"  # a few lines of output


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    command.set_defaults(speaks=lambda _: True)
    command.add_argument(
        "model",
        help="a hub id, a model folder, a GGUF file, an adapter's folder, a name of the shipped "
        "configuration, or the address of a server, such as http://127.0.0.1:8000/v1",
    )
    command.add_argument(
        "--data",
        metavar="FILE",
        help="questions: CSV, JSON lines, Parquet, Arrow, a folder that `save_to_disk` wrote, a "
        "dataset of the hub, or a name of the shipped configuration; default: questions of ours",
    )
    command.add_argument(
        "--prompt", metavar="COLUMN", help="column of the questions; default: found by its name"
    )
    command.add_argument(
        "--reference",
        metavar="COLUMN",
        help="column of the true answers; default: found by its name",
    )
    command.add_argument(
        "--judge", metavar="NAME", help="judge of the shipped configuration, besides heuristic"
    )
    command.add_argument(
        "--items", type=int, default=50, metavar="N", help="number of questions; default: 50"
    )
    command.add_argument(
        "--folder", type=Path, help="folder of the study; default: the model's name"
    )
    take_server(command)


def run(arguments: argparse.Namespace) -> Output | int:
    """Run the command."""
    request = StudyArguments(
        model=arguments.model,
        data=arguments.data,
        judge=arguments.judge,
        items=arguments.items,
        named={"prompt": arguments.prompt, "reference": arguments.reference},
        server=arguments.server,
        served_as=arguments.served_as,
        api=arguments.api,
    )
    config = shipped()
    _check(request, config["judges"])
    machine = this_machine()
    datasets = first_datasets(request, config)
    model = first_model(request, config, machine)
    folder = arguments.folder or Path(model.name)
    text = study_text(request, model, datasets, folder)
    goes_on = is_begun(folder, text)
    print(f"model:  {model.told}\nitems:  {datasets.told}")
    print(f"study:  {folder / 'config.yaml'}{', goes on' if goes_on else ''}", flush=True)
    before = Path.cwd()
    if goes_on:
        os.chdir(folder)
        planned = _planned(model, machine)
    else:
        with new_first_study(folder, text, datasets.file):
            planned = _planned(model, machine)
            if most := sum(one["cost_at_most"] or 0.0 for one in planned["judges"]):
                cap_cost(most)
    print("\n".join(_forecast(planned)), flush=True)
    code = _snakemake()
    os.chdir(before)
    if code == INTERRUPTED:
        print("interrupted; the same command goes on where it stopped", file=sys.stderr)
        return code
    if code:
        raise UserError(
            f"the run in '{folder}' did not finish; its last lines say why: correct that and run "
            "the same command again, which goes on where it stopped"
        )
    rates = show_rates(folder / "results")
    names = {"study": str(folder), "model": model.name, "planned": planned}
    return Output(rates.parts, names | dict(rates.numbers))


def _check(request: StudyArguments, judges: dict[str, dict[str, str]]) -> None:
    """Check the number of items, the judge and its API key before anything is read."""
    if request.items < 1:
        raise UserError(f"--items: found {request.items}, expected 1 or more")
    if request.judge is not None:
        check_judge(request.judge, judges)
        read_key(request.judge, judges[request.judge])


def _planned(model: FirstModel, machine: Machine) -> dict[str, Any]:
    config = load_study()
    check_study(config)
    grid = Grid(config, "results")
    sizes = dataset_sizes(grid)
    asked = load_of_model(grid, model.name, sizes)
    every = total(asked.values())
    seconds = None
    if model.setup is not None:
        seconds = seconds_to_write(model.setup, machine, every.n_read, every.n_written)
    return {
        "asked_at_most": {kind: load.n for kind, load in asked.items()},
        "judges": [cost_of_judge(grid, name, sizes) for name in grid.asked_judges],
        "currency": currency(config),
        "seconds_at_most": seconds,
    }


def _forecast(planned: Mapping[str, Any]) -> Iterator[str]:
    asked = planned["asked_at_most"].items()
    told = ", ".join(number_of(n, kind.rstrip("s")) for kind, n in asked if n)
    yield f"asks:   {told} at most"
    for judge in planned["judges"]:
        about, most = judge["cost_about"], judge["cost_at_most"]
        cost = f"about {about or 0:,.2f} {planned['currency']}, {most or 0:,.2f} at most"
        price = "no price in its entry" if most is None else "free" if most == 0 else cost
        yield f"judge:  {judge['judge']}, {judge['calls']:,.0f} turns with controls, {price}"
    if planned["seconds_at_most"] is not None:
        longest = format_timespan(round(planned["seconds_at_most"], -1))
        yield f"time:   about {longest} at most, if every text is of full length"


def _snakemake() -> int:
    """Run the workflow in the present folder, show its output, and return its exit code.

    An interrupt reaches both processes, but only Snakemake ends by it and stops its jobs. Their
    messages about it are in Snakemake's log.
    """
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    command = [sys.executable, "-m", "snakemake", "--profile", str(installed(PROFILE))]
    interrupted: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: interrupted.append(number))
    try:
        with subprocess.Popen(
            command,
            env=os.environ | {"PATH": path},
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        ) as process:
            for line in process.stdout or ():
                if not interrupted:
                    print(line, end="", flush=True)
    finally:
        signal.signal(signal.SIGINT, before)
    return INTERRUPTED if interrupted else process.returncode

"""`userturn run`: a first result for a model of one's own, in one command."""

import argparse
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from humanfriendly import format_timespan

from userturn.cli.main import main
from userturn.config.load import installed, load_study
from userturn.endpoints.api_keys import read_key
from userturn.errors import UserError, near_miss
from userturn.judges.kinds import kind_of
from userturn.models.machine import Machine, seconds_to_write, this_machine
from userturn.sources.registry import check_study
from userturn.sources.source import Load, Size
from userturn.study.grid import Grid
from userturn.wording import number_of
from userturn.workflow.first_study import (
    FirstModel,
    Wanted,
    cap_cost,
    first_datasets,
    first_model,
    shipped,
    study_text,
    write_first_study,
)
from userturn.workflow.study_size import (
    dataset_sizes,
    load_of_judge,
    load_of_model,
    total,
)

HELP = "measure a model of your own: make its study, run it, name the report"
EXAMPLES = (
    "run org/name --data questions.csv",
    "run ./my-model --items 200 --judge gpt-5.4-mini",
    "run http://127.0.0.1:8000/v1 --data questions.csv --prompt text",
)
PROFILE = "profiles/short"  # a few lines of output
Cost = tuple[float, float]  # about, and at most
COST = "about {:,.2f}, {:,.2f} at most"
INTERRUPTED = 130  # as shells have it


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
        "dataset of the hub, or a name of the shipped configuration",
    )
    command.add_argument("--prompt", metavar="COLUMN", help="its column with the questions")
    command.add_argument("--reference", metavar="COLUMN", help="its column with the true answers")
    command.add_argument("--judge", metavar="NAME", help="a judge of the shipped configuration")
    command.add_argument("--items", type=int, default=50, metavar="N", help="questions asked")
    command.add_argument(
        "--folder", type=Path, help="of the study; by the model's name if not given"
    )
    command.add_argument("--server", metavar="URL", help="server with the model, including /v1")
    command.add_argument("--served-as", metavar="NAME", help="the model's name on the server")
    command.add_argument("--api", choices=("completions", "chat"), default="completions")


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    wanted = Wanted(
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
    _check(wanted, config["judges"])
    machine = this_machine()
    datasets = first_datasets(wanted, config)
    model = first_model(wanted, config, machine)
    folder = arguments.folder or Path(model.name)
    text = study_text(wanted, model, datasets, folder)
    is_new = write_first_study(folder, text, datasets.file)
    print(f"model:  {model.told}\nitems:  {datasets.told}")
    print(f"study:  {folder / 'config.yaml'}{'' if is_new else ', goes on'}", flush=True)
    os.chdir(folder)
    grid = _grid()
    sizes = dataset_sizes(grid)
    judges = _judges(grid, sizes)
    most = sum(cost[1] for _, cost in judges.values() if cost is not None)
    if is_new and most:
        cap_cost(Path(), most)
    asked = load_of_model(grid, model.name, sizes)
    print("\n".join(_said_before(asked, judges, model, machine)), flush=True)
    code = _snakemake()
    if code == INTERRUPTED:
        print("interrupted; the same command goes on where it stopped", file=sys.stderr)
    elif code:
        raise UserError(
            f"the run in '{folder}' did not finish; its last lines say why, and the same command "
            "goes on where it stopped"
        )
    return code or main(["rates"])


def _check(wanted: Wanted, judges: dict[str, dict[str, str]]) -> None:
    """Check what can be known before anything is read."""
    if wanted.items < 1:
        raise UserError(f"--items: found {wanted.items}, expected 1 or more")
    if wanted.judge is not None:
        if wanted.judge not in judges:
            near = near_miss(wanted.judge, judges)
            raise UserError(f"--judge: '{wanted.judge}' is no judge of the configuration{near}")
        read_key(wanted.judge, judges[wanted.judge])


def _grid() -> Grid:
    """Return the grid of the study in the present folder."""
    config = load_study()
    check_study(config)
    return Grid(config, "results")


def _judges(grid: Grid, sizes: Mapping[str, Size]) -> dict[str, tuple[float, Cost | None]]:
    """Return how many turns each judge reads, and its cost; None where its entry has no price."""
    loads = {name: load_of_judge(grid, name, sizes) for name in grid.asked_judges}
    entries = grid.all_judges
    return {
        name: (load.n, kind_of(entries[name]).price(entries[name], load.n, load.n_read))
        for name, load in loads.items()
    }


def _said_before(
    asked: Mapping[str, Load],
    judges: Mapping[str, tuple[float, Cost | None]],
    model: FirstModel,
    machine: Machine,
) -> Iterator[str]:
    """Yield what a run asks, costs and takes, line by line."""
    told = ", ".join(number_of(load.n, kind.rstrip("s")) for kind, load in asked.items() if load.n)
    yield f"asks:   {told} at most"
    for name, (n, cost) in judges.items():
        price = "no price in its entry" if cost is None else COST.format(*cost)
        yield f"judge:  {name}, {n:,.0f} turns, {'free' if cost == (0, 0) else price}"
    if model.setup is not None:
        every = total(asked.values())
        seconds = seconds_to_write(model.setup, machine, every.n_read, every.n_written)
        longest = format_timespan(round(seconds, -1))
        yield f"time:   about {longest} at most, if every text is of full length"


def _snakemake() -> int:
    """Run the workflow in the present folder, show what it says, and return its exit code.

    An interrupt reaches both processes. It is Snakemake's to end by, which stops its jobs; what
    these say of it is in Snakemake's log.
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

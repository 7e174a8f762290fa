"""`userturn status`: progress of a running study, from its plans and journals; changes nothing."""

import argparse
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

from userturn.cli.arguments import chosen_grid, take_configuration
from userturn.cli.terminal import Output, Part, Sheet, printed
from userturn.config.endpoint_models import account_name
from userturn.endpoints.budget import AccountOnDisk, cost_of, read_accounts
from userturn.endpoints.usage import Spent
from userturn.errors import UserError
from userturn.generation.scores import SCORE_SCHEMA
from userturn.slurm.queue import QueuedJob, does_the_same, queue
from userturn.sources.registry import asked_of
from userturn.sources.source import SCORES, STAGES, Size
from userturn.storage.journal import files_of_journal, read_lines
from userturn.storage.journal_table import OUTCOME_SCHEMA, read_outcomes, table_of
from userturn.storage.leases import active_leases, describe_owner, newest
from userturn.study.grid import Grid
from userturn.study.judge import judge_prices
from userturn.workflow.study_size import planned_keys, size_of

HELP = "show the progress of a running study"
EXAMPLES = ("status", "status --watch 10", "status --json")


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    take_configuration(command)
    command.add_argument(
        "--watch",
        type=float,
        nargs="?",
        const=EVERY,
        metavar="SECONDS",
        help=f"show it again at this interval until nothing is left to do; default: {EVERY:g}",
    )
    command.set_defaults(speaks=lambda arguments: arguments.watch is not None)


def run(arguments: argparse.Namespace) -> Output:
    """Run the command."""

    def show() -> Output:
        return status(arguments.configfile, arguments.results)

    if arguments.watch is None:
        return show()
    if not 0 < arguments.watch < float("inf"):
        raise UserError(f"--watch: found {arguments.watch:g}, expected seconds above 0")
    return watched(show, lambda: time.sleep(arguments.watch), is_silent=arguments.json)


def watched(show: Callable[[], Output], wait: Callable[[], object], is_silent: bool) -> Output:
    """Show a study's progress before each `wait`, and return it once no request is pending.

    On a terminal, each output replaces the one before.
    """
    while True:
        output = show()
        if not any(row["pending"] for row in output.numbers["requests"]):
            return output
        if not is_silent:
            print(CLEAR if sys.stdout.isatty() else "", end="")
            print(printed(output, as_numbers=False), end="\n\n", flush=True)
        wait()


EVERY = 5.0  # seconds between two looks
CLEAR = "\x1b[H\x1b[2J\x1b[3J"  # the cursor goes home, and what was shown is gone
STILL_WRITING = 120.0  # seconds since a journal's last line
# Columns with a value per token: written tokens, or scores.
WRITTEN, SCORED = "token_ids", "logprobs"
TOKENS = {WRITTEN: OUTCOME_SCHEMA[WRITTEN], SCORED: SCORE_SCHEMA[SCORED]}


@dataclass
class Counts:
    """Counts of the requests of one model in one stage."""

    n_expected: int = 0
    n_done: int = 0
    n_failed: int = 0

    @property
    def n_pending(self) -> int:
        """The number of requests without an outcome yet."""
        return max(0, self.n_expected - self.n_done - self.n_failed)


@dataclass
class Speed:
    """Counts of records and tokens of running jobs, and the time in which they came."""

    n_records: int = 0
    n_tokens: int = 0
    seconds: float = 0.0


def status(configfiles: list[str], results: str, now: float | None = None) -> Output:
    """Return a study's progress by model and stage, with its jobs and judges.

    Without configuration files, the study is that of the folder's record. `now` is in seconds since
    1970, by default by the clock.
    """
    grid = chosen_grid(configfiles, Path(results))
    moment = time.time() if now is None else now
    paths = {name: grid.dataset_path(name) for name in grid.prepared_datasets}
    sizes = {  # empty for a dataset that is not prepared yet
        name: size_of(pl.read_parquet(path)) if path.is_file() else Size(0, 0, False)
        for name, path in paths.items()
    }
    queued = queue(grid.results.absolute().parent) or []
    numbers: dict[str, Any] = {
        "requests": [row for name in grid.models for row in _requests(grid, name, sizes, moment)],
        "at_work": list(_leases(grid, moment)),
        "queued": [job._asdict() for job in queued],
        "judges": list(_judges(grid)),
        "max_cost": grid.config["max_cost"],
    }
    waiting = {name for name in grid.models if _only_waits(queued, name)}
    for row in numbers["requests"]:
        if row["model"] in waiting and row["pending"]:
            row["pace"] = "waits in the queue"
    numbers["cost"] = sum(row["cost"] or 0.0 for row in numbers["judges"])
    return Output(list(_parts(numbers)), numbers)


def _parts(numbers: Mapping[str, Any]) -> Iterator[Part]:
    heads = ("model", "stage", "done", "pending", "failed", "speed and time left")
    rows = [
        (row["model"], row["stage"], *(f"{row[name]:,}" for name in heads[2:5]), row["pace"])
        for row in numbers["requests"]
    ]
    yield Sheet(heads, rows, whole=heads[2:5])
    for row in numbers["at_work"]:
        silence = f"lease renewed {row['seconds_since_renewed']:.0f} s ago"
        yield f"{row['model']}: shard {row['shard']}: {row['owner']}, {silence}"
    for job in (QueuedJob(**row) for row in numbers["queued"]):
        where = f"on {job.nodes}" if job.nodes else f"waits for '{job.reason}'"
        what = job.what.removeprefix("rule_").replace("_wildcards_", " ") or job.name
        yield f"{what}: SLURM job {job.number} is {job.state.lower()}, {where}"
    if numbers["judges"]:
        of_judges = ("judge, or model", "requests", "in flight", "decided", "cost")
        cells = [
            (
                row["name"],
                *(f"{row[name]:,}" for name in ("requests", "in_flight", "decided")),
                _cost_of(row) + ("" if row["is_in_the_config"] else ", not in the config any more"),
            )
            for row in numbers["judges"]
        ]
        yield Sheet(of_judges, cells, whole=of_judges[1:4])
        if (cap := numbers["max_cost"]) is not None:
            yield f"all together {numbers['cost']:,.4f} of max_cost {cap:g}"


def _only_waits(queued: Iterable[QueuedJob], model: str) -> bool:
    """Return whether a model has jobs in SLURM's queue but none of them runs."""
    all_items = {"model": model, "shard": "1of1"}
    states = {job.state for job in queued if does_the_same(job, "sweep", all_items)}
    return bool(states) and states.isdisjoint({"RUNNING", "COMPLETING"})


def _cost_of(row: Mapping[str, Any]) -> str:
    if row["cost"] is not None:
        return f"{row['cost']:,.4f}"
    return "an account is damaged: see `costs`" if row["is_damaged"] else "no price in its entry"


def _judges(grid: Grid) -> Iterator[dict[str, Any]]:
    """Yield the requests and cost of each judge and served model that was ever asked."""
    accounts: dict[str, list[AccountOnDisk]] = {}
    for account in read_accounts(grid.accounts_folder):
        accounts.setdefault(account.judge, []).append(account)
    prices, names = judge_prices(grid), {*grid.all_judges, *map(account_name, grid.models)}
    for judge, of_judge in sorted(accounts.items()):
        spent = sum((account.total for account in of_judge), start=Spent())
        yield {
            "name": judge,
            "requests": spent.n_requests,
            "in_flight": sum(account.in_flight.n_requests for account in of_judge),
            "decided": spent.n_verdicts,
            "cost": cost_of(of_judge, prices),
            "is_damaged": any(account.is_damaged for account in of_judge),
            "is_in_the_config": judge in names,
        }


def _leases(grid: Grid, now: float) -> Iterator[dict[str, Any]]:
    for model in grid.models:
        folder = grid.leases_folder(model)
        for shard, content in sorted(active_leases(folder).items()):
            silence = now - newest(folder)[shard][1].stat().st_mtime
            owner = describe_owner(content["owner"])
            names = {"model": model, "shard": shard, "owner": owner}
            yield names | {"seconds_since_renewed": max(0.0, silence)}


def _requests(
    grid: Grid, model: str, sizes: Mapping[str, Size], now: float
) -> Iterator[dict[str, Any]]:
    """Yield the done, pending and failed requests of each stage of a model, and its pace."""
    outcomes, speeds = _read_journals(grid, model, now)
    tables, counted = asked_of(grid, model), set[str]()
    counts = {kind: Counts() for kind in STAGES if any(of.kind == kind for of in tables)}
    for of in tables:
        keys = planned_keys(grid.requests_folder(model, of.dataset, of.identity), of.kind)
        new = [key for key in keys if key is None or key not in counted]
        counted.update(filter(None, keys))
        ended = ["error" if key is None else outcomes.get(key) for key in new]
        counts[of.kind].n_expected += len(new) if keys else of.count(sizes).n
        counts[of.kind].n_failed += ended.count("error")
        counts[of.kind].n_done += sum(outcome in ("ok", "empty") for outcome in ended)
    for kind, count in counts.items():
        yield {
            **{"model": model, "stage": kind, "done": count.n_done, "pending": count.n_pending},
            "failed": count.n_failed,
            "pace": _pace(speeds[SCORED if kind == SCORES else WRITTEN], count),
        }


def _read_journals(grid: Grid, model: str, now: float) -> tuple[dict[str, str], dict[str, Speed]]:
    """Return the outcome of every key, and the speeds of running jobs by column of tokens."""
    outcomes: dict[str, str] = {}
    speeds = {column: Speed() for column in TOKENS}
    for dataset in grid.prepared_datasets:
        folder = grid.journal_folder(model, dataset)
        outcomes |= dict(read_outcomes(folder, columns=["key", "outcome"]).iter_rows())
        for path in files_of_journal(folder):
            last = path.stat().st_mtime
            if now - last < STILL_WRITING:
                _add_writer(speeds, path, last)
    return outcomes, speeds


def _add_writer(speeds: Mapping[str, Speed], path: Path, last: float) -> None:
    began = datetime.strptime(path.name[:16], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    for lines in read_lines(path):
        records = table_of(lines.whole, TOKENS)
        for column, speed in speeds.items():
            token_ids = records[column].drop_nulls()
            if len(token_ids):
                speed.n_records += len(token_ids)
                speed.n_tokens += int(token_ids.list.len().sum())
                speed.seconds = max(speed.seconds, last - began.timestamp())


def _pace(speed: Speed, counts: Counts) -> str:
    if not counts.n_expected:
        return "not begun"
    if not counts.n_pending:
        return "done"
    if speed.seconds <= 0 or not speed.n_records:
        return "not running"
    minutes = round(counts.n_pending * speed.seconds / speed.n_records / 60)
    left = f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min"
    return f"{speed.n_tokens / speed.seconds:.0f} tokens/s, about {left} left"

"""`userturn status`: progress of a running study, from its plans and journals; changes nothing."""

import argparse
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import polars as pl

from userturn.cli.arguments import chosen_grid, take_configuration
from userturn.config.endpoint_models import account_name
from userturn.endpoints.budget import AccountOnDisk, read_accounts
from userturn.endpoints.usage import Spent
from userturn.generation.scores import SCORE_SCHEMA
from userturn.sources.registry import asked_of
from userturn.sources.source import SCORES, STAGES, Size
from userturn.storage.journal import files_of_journal, read_lines
from userturn.storage.journal_table import OUTCOME_SCHEMA, read_outcomes, table_of
from userturn.storage.leases import describe_owner, held, newest
from userturn.study.grid import Grid
from userturn.study.judge import judge_prices
from userturn.workflow.study_size import planned_keys, size_of

HELP = "show the progress of a running study"


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    take_configuration(command)


def run(arguments: argparse.Namespace) -> str:
    """Run the command."""
    return status(arguments.configfile, arguments.results)


STILL_WRITING = 120.0  # seconds since a journal's last line
# What a record has one of for each token: written tokens, or scores.
WRITTEN, SCORED = "token_ids", "logprobs"
TOKENS = {WRITTEN: OUTCOME_SCHEMA[WRITTEN], SCORED: SCORE_SCHEMA[SCORED]}


@dataclass
class Counts:
    """The requests of one model in one stage."""

    n_expected: int = 0
    n_done: int = 0
    n_failed: int = 0

    @property
    def n_pending(self) -> int:
        """Requests without an outcome yet."""
        return max(0, self.n_expected - self.n_done - self.n_failed)


@dataclass
class Speed:
    """The output of running jobs, and the time it took."""

    n_records: int = 0
    n_tokens: int = 0
    seconds: float = 0.0


def status(configfiles: list[str], results: str, now: float | None = None) -> str:
    """Return the progress of a study as text, one line per model and stage.

    Without configuration files the study is that of the folder's record. `now` is in seconds since
    1970, the clock's unless given.
    """
    grid = chosen_grid(configfiles, Path(results))
    head = (
        f"{'model':<24} {'stage':<11} {'done':>9} {'pending':>9} {'failed':>7}  speed and time left"
    )
    moment = time.time() if now is None else now
    paths = {name: grid.dataset_path(name) for name in grid.prepared_datasets}
    sizes = {  # nothing yet of a dataset that is not prepared
        name: size_of(pl.read_parquet(path)) if path.is_file() else Size(0, 0, False)
        for name, path in paths.items()
    }
    lines = [line for name in grid.models for line in _lines(grid, name, sizes, moment)]
    return "\n".join([head, *lines, *_at_work(grid, moment), *_judges(grid)])


def _judges(grid: Grid) -> Iterator[str]:
    """Yield the requests to each judge and served model and their cost, once any was asked."""
    accounts: dict[str, list[AccountOnDisk]] = {}
    for account in read_accounts(grid.accounts_folder):
        accounts.setdefault(account.judge, []).append(account)
    if accounts:
        yield f"{'judge, or model':<24} {'requests':>9} {'in flight':>9} {'decided':>9}  cost"
    prices, total = judge_prices(grid), 0.0
    known = {*grid.all_judges, *map(account_name, grid.models)}
    for judge, of_judge in sorted(accounts.items()):
        spent = sum((account.total for account in of_judge), start=Spent())
        costs = [cost for account in of_judge if (cost := account.cost(prices)) is not None]
        total += sum(costs)
        n_in_flight = sum(account.in_flight.n_requests for account in of_judge)
        yield (
            f"{judge:<24} {spent.n_requests:>9,} {n_in_flight:>9,} {spent.n_verdicts:>9,}  "
            + (f"{sum(costs):,.4f}" if costs else "no price in its entry")
            + ("" if judge in known else ", not in the config any more")
        )
    if accounts and (cap := grid.config["max_cost"]) is not None:
        yield f"{'all together':<54}  {total:,.4f} of max_cost {cap:g}"


def _at_work(grid: Grid, now: float) -> Iterator[str]:
    """Yield the owner of each lease on a shard of a model, and how long ago it was renewed."""
    for model in grid.models:
        folder = grid.leases_folder(model)
        for shard, content in sorted(held(folder).items()):
            silence = now - newest(folder)[shard][1].stat().st_mtime
            yield (
                f"{model:<24} shard {shard}: {describe_owner(content['owner'])}, "
                f"lease renewed {max(0.0, silence):.0f} s ago"
            )


def _lines(grid: Grid, model: str, sizes: Mapping[str, Size], now: float) -> Iterator[str]:
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
    for kind, found in counts.items():
        pace = _pace(speeds[SCORED if kind == SCORES else WRITTEN], found)
        yield (
            f"{model:<24} {kind:<11} {found.n_done:>9,} {found.n_pending:>9,} "
            f"{found.n_failed:>7,}  {pace}"
        )


def _read_journals(grid: Grid, model: str, now: float) -> tuple[dict[str, str], dict[str, Speed]]:
    """Return the outcome of every key, and the speeds at which running jobs write and score."""
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
    """Add the records of one file to the speed of their kind, with tokens and time."""
    began = datetime.strptime(path.name[:16], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    for lines in read_lines(path):
        records = table_of(lines.whole, TOKENS)
        for column, speed in speeds.items():
            found = records[column].drop_nulls()
            if len(found):
                speed.n_records += len(found)
                speed.n_tokens += int(found.list.len().sum())
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

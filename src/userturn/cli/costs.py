"""`userturn costs`: what judges and models cost, what of it is uncertain, and corrections."""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from userturn.cli.arguments import chosen_grid, take_configuration
from userturn.cli.terminal import Output, Part, Sheet, prose
from userturn.config.entries import currency
from userturn.endpoints.budget import AccountOnDisk, cost_of, read_accounts
from userturn.endpoints.corrections import correct, read_corrections
from userturn.endpoints.usage import Spent, money
from userturn.errors import UserError, near_miss
from userturn.judges.batch_files import batches_of, give_up, note, open_batches
from userturn.storage.files import is_locked
from userturn.study.grid import Grid
from userturn.study.judge import judge_prices
from userturn.wording import number_of

HELP = "list what judges and models cost, and correct it"
EXAMPLES = (
    "costs",
    'costs --give-up batch_68f3 --because "the provider has lost it"',
    'costs --paid gpt-5.4-mini=0.42 --because "the invoice of November"',
)


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    take_configuration(command)
    command.add_argument(
        "--give-up",
        metavar="BATCH",
        help="stop waiting for a batch: its questions are asked, and paid for, again",
    )
    command.add_argument(
        "--paid",
        metavar="JUDGE=MONEY",
        help="total cost of a judge or model so far, in place of what was counted",
    )
    command.add_argument(
        "--because", metavar="REASON", help="reason for the change, which is kept with it"
    )


def run(arguments: argparse.Namespace) -> Output | str:
    """Run the command."""
    grid = chosen_grid(arguments.configfile, Path(arguments.results))
    chosen = [name for name in ("give_up", "paid") if getattr(arguments, name) is not None]
    if len(chosen) > 1 or bool(chosen) != bool((arguments.because or "").strip()):
        raise UserError(
            "expected one of `--give-up BATCH` and `--paid JUDGE=MONEY` with `--because REASON`, "
            "or none of the three; add or remove one"
        )
    if arguments.give_up is not None:
        n = give_up(_journals(grid), arguments.give_up, arguments.because)
        return (
            f"batch {arguments.give_up} is given up: the next run of the same snakemake command "
            f"asks its {number_of(n, 'question') if n else 'questions'} again; what it may have "
            "cost stays counted until `userturn costs --paid` says otherwise"
        )
    if arguments.paid is not None:
        return _paid(grid, arguments.paid, arguments.because)
    numbers = costs(grid)
    return Output(list(_parts(numbers)), numbers)


def _journals(grid: Grid) -> Path:
    return grid.results / "journal" / "judges"


def _paid(grid: Grid, option: str, because: str) -> str:
    """Correct a judge's cost, and return a sentence on the consequences."""
    judge, _, amount = option.rpartition("=")
    try:
        paid = float(amount)
    except ValueError:
        paid = -1.0
    if not judge or not 0 <= paid < float("inf"):
        raise UserError(f"--paid {option!r}: expected a judge and money, such as gpt-5.4-mini=0.42")
    folder = grid.accounts_folder
    judges = {path.parent.name for path in folder.glob("*/[!.]*.account")}
    if judge not in judges:
        near = near_miss(judge, judges) if judges else "; nor has any other judge"
        raise UserError(f"'{judge}' has cost nothing so far{near}")
    accounts = sorted((folder / judge).glob("[!.]*.account"))
    journals = sorted((_journals(grid) / judge).glob("*/"))
    waited = [one.name for path in journals for one in open_batches(path)]
    if waited or any(map(is_locked, accounts)):
        what = f"batch {waited[0]} is open" if waited else "a job is asking it"
        raise UserError(
            f"the cost of '{judge}' cannot be corrected yet, because {what}; run the study to its "
            "end, or give the batch up, and run this again"
        )
    correct(folder, judge, paid, because, [path.name for path in accounts])
    for path in journals:
        for one in batches_of(path):  # given up, and covered
            note(path, "collected", one)
    return f"{judge}: {paid:g} in place of what {number_of(len(accounts), 'account')} count"


def costs(grid: Grid) -> dict[str, Any]:
    """Return the costs of judges and models, open batches, damaged accounts and corrections."""
    prices, of = judge_prices(grid), dict[str, list[AccountOnDisk]]()
    for account in read_accounts(grid.accounts_folder):
        of.setdefault(account.judge, []).append(account)
    return {
        "judges": [_judge_row(name, accounts, prices) for name, accounts in sorted(of.items())],
        "batches": [row for path in sorted(_journals(grid).glob("*/*/batches"))
                    for row in _batches(path.parent, prices)],
        "damaged": [str(one.path) for accounts in of.values() for one in accounts
                    if one.is_damaged],
        "corrections": [one._asdict() for one in read_corrections(grid.accounts_folder)],
        "max_cost": grid.config["max_cost"],
        "currency": currency(grid.config),
    }  # fmt: skip


def _judge_row(
    judge: str, accounts: Sequence[AccountOnDisk], prices: Mapping[str, Any]
) -> dict[str, Any]:
    spent = sum((one.total for one in accounts), start=Spent())
    in_flight = sum(one.in_flight.n_requests for one in accounts)
    return {
        "judge": judge,
        "requests": spent.n_requests,
        "decided": spent.n_verdicts,
        "input_tokens": spent.input_tokens,
        "cached_tokens": spent.cached_tokens,
        "output_tokens": spent.output_tokens,
        "unmetered": spent.n_unmetered,
        "in_flight": in_flight,
        "cost": cost_of(accounts, prices),
        "is_known": not any(one.is_damaged for one in accounts),
    }


def _batches(journal: Path, prices: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the batches of a judge and dataset whose replies have not been read."""
    for one in batches_of(journal):
        judge, dataset = journal.parts[-2:]
        state = "open" if one.unread is None else "unreadable"
        yield {
            "judge": judge,
            "dataset": dataset,
            "batch": one.name,
            "state": state if one.because is None else "given up",
            "questions": one.most.n_requests,
            "most": money(one.most, prices[judge]) if judge in prices else None,
            "why": one.because or one.unread,
        }


def _parts(numbers: Mapping[str, Any]) -> Iterator[Part]:
    counts = ("requests", "decided", "input_tokens", "cached_tokens", "output_tokens", "unmetered",
              "in_flight")  # fmt: skip
    names = (name.replace("_", " ") for name in counts)
    heads = ("judge, or model", *names, f"cost in {numbers['currency']}")
    rows = [
        (row["judge"], *(f"{row[name]:,}" for name in counts), _cost_of(row))
        for row in numbers["judges"]
    ]
    yield Sheet(heads, rows, whole=heads[1:-1])
    yield prose(
        f"all together {sum(row['cost'] or 0.0 for row in numbers['judges']):,.4f} "
        f"{numbers['currency']}"
        + ("" if numbers["max_cost"] is None else f" of max_cost {numbers['max_cost']:g}")
        + "; what is unmetered counts as large as it can be (docs/judges.md)"
    )
    for row in numbers["batches"]:
        most = "" if row["most"] is None else f", counted as {row['most']:,.4f} until they are read"
        why = "" if row["why"] is None else f": {row['why']}"
        n = row["questions"]
        yield prose(
            f"batch {row['batch']} of {row['judge']} about {row['dataset']} is {row['state']}, "
            f"{number_of(n, 'question') if n else 'an unknown number of questions'}{most}{why}"
        )
    for path in numbers["damaged"]:
        yield f"damaged: {path}; restore it, or say what was paid: --paid JUDGE=MONEY"
    for row in numbers["corrections"]:
        sentence = f"{row['judge']} cost {row['paid']:g} by then: {row['because']}"
        yield prose(f"{row['at'][:10]}: {sentence}")


def _cost_of(row: Mapping[str, Any]) -> str:
    if row["cost"] is not None:
        return f"{row['cost']:,.4f}"
    return "no price in its entry" if row["is_known"] else "not known: an account is damaged"

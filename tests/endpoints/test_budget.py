"""Money: counted before it is spent, whatever dies, and never more than the cap."""

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tests.support.journal_lines import records_of
from tests.support.judge_server import GENUINE, JudgeServer, completion, judge_server
from tests.support.judged_cell import PRICE, cell, judge, spent, verdicts_of
from tests.support.mutations import byte_mutated
from tests.support.snakemake_runs import ROOT
from userturn.endpoints.budget import (
    SLOT,
    Account,
    CapReachedError,
    is_sound,
    read_account,
    read_accounts,
)
from userturn.endpoints.corrections import correct, read_corrections
from userturn.endpoints.usage import Spent, largest_request, money
from userturn.errors import UserError
from userturn.tables.costs import costs

# A reply of the server: 388 fresh, 512 cached and 40 written tokens at 1, 0.5 and 10 for a million.
COST = (388 * 1 + 512 * 0.5 + 40 * 10) / 1e6
TURNS = [f"How hot is oil number {i}?" for i in range(120)]


def test_money_is_tokens_by_their_prices() -> None:
    reply = Spent(1, 0, 1, 900, 512, 40)
    assert money(reply, PRICE) == pytest.approx(COST)
    assert money(reply, {"input": 1.0, "output": 10.0}) == pytest.approx((900 + 400) / 1e6)


def test_request_counts_as_large_as_it_can_be_until_it_ends(tmp_path: Path) -> None:
    most = largest_request(5_000, 100)
    with Account(tmp_path, "j", "cells/x", PRICE) as account:
        account.send(most)
        (held,) = read_accounts(tmp_path)
        assert held.total == Spent(1, 1, 0, 5_000, 0, 100, held.total.seconds)
        account.settle(most, {"prompt_tokens": 9, "completion_tokens": 2})
    (closed,) = read_accounts(tmp_path)
    assert closed.total == Spent(1, 0, 0, 9, 0, 2, closed.total.seconds)


def test_judge_that_left_the_config_stays_in_the_cap_at_its_last_price(tmp_path: Path) -> None:
    most = largest_request(500_000, 0)  # half of what a million tokens cost
    with Account(tmp_path, "left", "cells/x", {"input": 2.0, "output": 2.0}) as left:
        left.send(most)
        left.settle(most, {"prompt_tokens": 500_000, "completion_tokens": 0})
    prices = {"stays": {"input": 2.0, "output": 2.0}}
    with Account(tmp_path, "stays", "cells/x", prices["stays"], 2.5, prices) as stays:
        assert stays.reserve(largest_request(700_000, 0))  # 1.0 and 1.4 of 2.5
        assert not stays.reserve(largest_request(800_000, 0))


def test_killed_sweep_of_a_served_model_counts_against_the_judge_s_cap(tmp_path: Path) -> None:
    price = {"input": 2.0, "output": 2.0}
    sweep = "from pathlib import Path; from userturn.endpoints.budget import Account\n"
    sweep += "from userturn.endpoints.usage import largest_request; import os, signal\n"
    sweep += f"account = Account(Path({str(tmp_path)!r}), 'model=m', 'sweeps/m', {price}, 2.5)\n"
    sweep += "account.__enter__(); account.send(largest_request(500_000, 0))\n"
    sweep += "os.kill(os.getpid(), signal.SIGKILL)"
    assert subprocess.run([sys.executable, "-c", sweep]).returncode == -9
    prices = {"model=m": price, "j": price}
    with Account(tmp_path, "j", "cells/x", price, 2.5, prices) as judging:
        assert judging.reserve(
            largest_request(700_000, 0)
        )  # 1.0 in flight at the kill, and 1.4 of 2.5
        assert not judging.reserve(largest_request(800_000, 0))


def test_account_survives_a_torn_slot(tmp_path: Path) -> None:
    with Account(tmp_path, "j", "cells/x", PRICE) as account:
        account.send(largest_request(10, 10))
        account.send(largest_request(10, 10))
    (path,) = tmp_path.glob("j/*.account")
    data = bytearray(path.read_bytes())
    whole = read_account(path)
    assert whole.total.n_requests == 2
    data[SLOT - 5] ^= 1  # of one slot, whichever it is
    path.write_bytes(data)
    other = read_account(path)
    assert other.total.n_requests == 2


@pytest.mark.slow
def test_cap_stops_before_it_is_passed_and_more_money_goes_on(tmp_path: Path) -> None:
    about = cell(tmp_path, *TURNS)
    cap = 60 * COST
    with judge_server() as server:
        with pytest.raises(UserError, match="stopped before max_cost"):
            verdicts_of(judge(tmp_path, server.url, cap=cap), about)
        paid = money(spent(tmp_path), PRICE)
        assert len(server.asked) * COST == pytest.approx(paid)
        # The last request that was refused may have cost 1 token a byte and 100 written ones.
        assert cap - 10 * COST < paid <= cap
        table = verdicts_of(judge(tmp_path, server.url, cap=1.0), about)
    assert table["genuine"].all() and len(server.asked) == len(TURNS)


def process(results: Path, server: JudgeServer, cap: float, name: str) -> subprocess.Popen[bytes]:
    command = [
        sys.executable,
        "-m",
        "tests.support.judge_once",
        str(results),
        server.url,
        str(cap),
        name,
    ]
    return subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


@pytest.mark.slow
def test_two_processes_together_stay_below_the_cap(tmp_path: Path) -> None:
    names = ["cells/m/d/t0/none", "cells/m/e/t0/none"]
    for number, name in enumerate(names):
        about = cell(tmp_path, *[f"{turn} {number}" for turn in TURNS], name=name)
        path = Path(about.path_to_user_turns)
        pl.read_parquet(path).with_columns(dataset=pl.lit(f"d{number}")).write_parquet(path)
    cap = 80 * COST
    with judge_server(delay=0.01) as server:
        running = [process(tmp_path, server, cap, name) for name in names]
        assert [one.wait() for one in running] == [1, 1]
        assert cap / 2 < len(server.asked) * COST <= cap
        assert spent(tmp_path).n_requests == len(server.asked)


@pytest.mark.slow
def test_killed_judge_repeats_at_most_what_was_in_flight(tmp_path: Path) -> None:
    name = "cells/m/d/t0/none"
    cell(tmp_path, *TURNS, name=name)
    with judge_server(delay=0.02) as server:
        for n_asked in (12, 60, 108):  # 10, 50 and 90 %
            running = process(tmp_path, server, 0.0, name)
            while len(server.asked) < n_asked:
                assert running.poll() is None
                time.sleep(0.002)
            running.kill()
            running.wait()
        assert process(tmp_path, server, 0.0, name).wait() == 0
        n_asked = len(server.asked)
        assert len(TURNS) <= n_asked <= len(TURNS) + 3 * 8
        # Counted before they are sent: a kill in between leaves a few that never arrived.
        assert n_asked <= spent(tmp_path).n_requests <= n_asked + 3 * 8
        assert n_asked * COST <= money(spent(tmp_path), PRICE) <= 1.5 * n_asked * COST
    keys = [record["key"] for record in records_of(tmp_path / "journal/judges/j/d")]
    assert len(keys) == len(set(keys)) == len(TURNS)


@pytest.mark.slow
def test_table_of_costs_has_a_row_a_judge_and_cell(tmp_path: Path) -> None:
    with judge_server(lambda _: completion(GENUINE)) as server:
        verdicts_of(judge(tmp_path, server.url), cell(tmp_path, "Why?", "How?"))
    whole, row = costs(tmp_path / "journal/costs", {"j": PRICE}).to_dicts()
    assert (row["judge"], row["cell"]) == ("j", "cells/m/d/t0/none")
    assert whole == row | {"cell": "all"}
    assert row["cost_per_1000"] == pytest.approx(1000 * COST)
    assert (row["n_requests"], row["n_verdicts"], row["cost"]) == (2, 2, pytest.approx(2 * COST))
    # A judge that has left the config is charged at the price that it had.
    assert costs(tmp_path / "journal/costs", {})["cost"].to_list() == 2 * [row["cost"]]


def written(folder: Path, n_sent: int) -> bytes:
    """Return the account of a process that sent some requests and was killed or ended."""
    with Account(folder, "judge", "cell") as account:
        for _ in range(n_sent):
            account.send(Spent(n_requests=1))
        (path,) = folder.rglob("*.account")
        if n_sent == 1:
            return path.read_bytes()  # as a kill after the first request leaves it
    return path.read_bytes()


@pytest.mark.parametrize("n_sent", [1, 2, 3])
def test_an_account_is_sound_however_often_it_was_written(tmp_path: Path, n_sent: int) -> None:
    content = written(tmp_path, n_sent)
    assert len(content) == 2 * SLOT and is_sound(content)


@pytest.mark.parametrize("n_sent", [1, 2])
def test_no_damage_leaves_an_account_sound(tmp_path: Path, n_sent: int) -> None:
    content = written(tmp_path, n_sent)
    damaged = [byte_mutated(content, np.random.default_rng(seed)) for seed in range(200)]
    assert [is_sound(other) for other in damaged] == [False] * 200


DAMAGE = {
    "zeros": bytes(2 * SLOT),
    "nothing": b"",
    "another program's": b"%PDF-1.7\n" * 300,
    "half a slot": bytes(SLOT) + b" " * 500,
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damaged_account_is_named_and_stops_what_the_cap_guards_until_it_is_corrected(
    name: str, tmp_path: Path
) -> None:
    written(tmp_path, 2)
    (path,) = tmp_path.rglob("*.account")
    path.write_bytes(DAMAGE[name])
    whole, damaged = costs(tmp_path, {"judge": PRICE}).to_dicts()
    assert (whole["cost"], damaged["cell"]) == (None, "damaged")
    with Account(tmp_path, "other", "cells/x", PRICE, 1.0, {"other": PRICE}) as other:
        with pytest.raises(UserError, match=rf"'{path}' is damaged.*userturn costs --paid judge="):
            other.send(largest_request(10, 10))
        correct(tmp_path, "judge", 0.999, "the invoice", [path.name])
        with pytest.raises(CapReachedError):  # 0.001 is left
            other.send(largest_request(1_001, 0))
        assert other.send(largest_request(999, 0))
    assert costs(tmp_path, {"judge": PRICE})["cost"].to_list()[:2] == [0.999, 0.999]


def test_correction_takes_the_place_of_what_was_counted_and_adds_to_what_comes(
    tmp_path: Path,
) -> None:
    prices, most = {"j": PRICE}, largest_request(1_000_000, 0)  # each 1.0
    with Account(tmp_path, "j", "cells/x", PRICE) as account:
        account.send(most)
    correct(tmp_path, "j", 0.5, "guessed", [path.name for path in tmp_path.glob("j/*.account")])
    correct(tmp_path, "j", 0.25, "invoice", [path.name for path in tmp_path.glob("j/*.account")])
    with Account(tmp_path, "j", "cells/y", PRICE) as account:
        account.send(most)
    shown = costs(tmp_path, prices).select("cell", "n_requests", "cost").rows()
    # In all 0.25 and 1.0; of the first cell 0.75 too much was counted.
    assert shown == [("all", 2, 1.25), ("cells/x", 1, 1.0), ("cells/y", 1, 1.0),
                     ("corrections", 0, -0.75)]  # fmt: skip
    assert [one.because for one in read_corrections(tmp_path)] == ["guessed", "invoice"]


def killed(
    folder: Path, n_settled: int, n_in_flight: int, asked_as: str = "x", n_read: int = 1_000
) -> None:
    """Leave the account of a process that was killed with requests in flight."""
    most = largest_request(4_000, 300)
    account = Account(folder, "j", "cells/x", PRICE, asked_as=asked_as).__enter__()
    for _ in range(n_settled):
        account.send(most)
        account.settle(most, {"prompt_tokens": n_read, "completion_tokens": 30 * n_read // 1_000})
    for _ in range(n_in_flight):
        account.send(most)
    assert account._descriptor is not None
    os.close(account._descriptor)  # its lock goes with it, as at a kill


def test_requests_in_flight_at_a_kill_count_as_other_replies_suggest(tmp_path: Path) -> None:
    for n_settled in (8, 12):  # twenty replies of a quarter of the bytes and a tenth of the limit
        killed(tmp_path, n_settled, 2)
    total = sum((one.total for one in read_accounts(tmp_path)), start=Spent())
    # Twice the largest of them.
    assert total.input_tokens == (20 + 4 * 2) * 1_000
    assert 840 <= total.output_tokens <= 842  # the same of 30, each account's rounded up
    assert (total.n_requests, total.n_unmetered) == (24, 4)


@pytest.mark.parametrize(("n_settled", "asked_as"), [(19, "x"), (40, "other settings")])
def test_requests_in_flight_count_as_large_as_they_can_be_where_too_few_replies_tell(
    n_settled: int, asked_as: str, tmp_path: Path
) -> None:
    killed(tmp_path, n_settled, 0, asked_as)
    killed(tmp_path, 0, 2)
    in_flight = sum((one.in_flight for one in read_accounts(tmp_path)), start=Spent())
    assert (in_flight.input_tokens, in_flight.output_tokens) == (8_000, 600)


@pytest.mark.parametrize("n_settled", [1, 20])
def test_requests_in_flight_go_as_far_beyond_their_limits_as_a_reply_did(
    n_settled: int, tmp_path: Path
) -> None:
    killed(tmp_path, n_settled, 2, n_read=12_000)  # three times the bytes; 360 of 300 tokens
    (one,) = read_accounts(tmp_path)
    assert (one.in_flight.input_tokens, one.in_flight.output_tokens) == (24_000, 720)


def test_money_of_a_batch_that_is_taken_back_is_spent_once_by_two_processes(
    tmp_path: Path,
) -> None:
    """What a process takes back is free for others only if it does not spend it itself."""
    prices, most = {"j": PRICE}, largest_request(800_000, 0)  # 0.8 of a cap of 1.0
    with Account(tmp_path, "j", "batches/d", PRICE) as before:
        before.add(most)
    with (
        Account(tmp_path, "j", "batches/d", PRICE, 1.0, prices) as collects,
        Account(tmp_path, "j", "cells/x", PRICE, 1.0, prices) as other,
    ):
        collects.replace(most, {"prompt_tokens": 100_000, "completion_tokens": 0})
        assert collects.reserve(largest_request(500_000, 0))  # 0.1 and 0.5
        assert not other.reserve(largest_request(500_000, 0))
        assert other.reserve(largest_request(300_000, 0))

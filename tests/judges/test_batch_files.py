"""A batch is open until its replies are read or a user gives it up; notes of before are read."""

import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.batch_server import BatchServer
from tests.support.faults.batches import at, response
from tests.support.judge_server import GENUINE, http, judge_server
from tests.support.judged_cell import PRICE, cell, judge, spent, verdicts_of
from userturn.endpoints.usage import largest_request, money
from userturn.errors import UserError
from userturn.judges import batch_api
from userturn.judges.batch_files import (
    Batch,
    Line,
    batches_of,
    files_of,
    give_up,
    note,
    note_uploaded,
    open_batches,
)
from userturn.judges.judge import CellToJudge, Judge
from userturn.storage.files import alone
from userturn.storage.journal import Writer

TURNS = ["Why?", "How?", "When?"]
METERED = 0.001044  # of one reply: 388 + 512 / 2 + 40 * 10 millionths


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_api, "FIRST_POLL", 0.001)


def test_files_hold_all_lines_in_order_and_none_is_larger_than_the_api_takes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("userturn.judges.batch_files.LARGEST_FILE", 33)
    monkeypatch.setattr("userturn.judges.batch_files.LARGEST_BATCH", 4)
    lines = [Line(str(n), b"x" * (10 if n < 5 else 1)) for n in range(12)]
    files = [[one.key for one in file] for file in files_of(lines)]
    # Three of 11 bytes, two of 11 and two of 2, then four at a time.
    assert files == [["0", "1", "2"], ["3", "4", "5", "6"], ["7", "8", "9", "10"], ["11"]]


ONE = Batch("file-0", ("a", "b"), (10, 15), 100)  # questions of 10 and 15 bytes


def test_shares_of_a_batch_are_those_of_its_questions_and_without_sizes_even(
    tmp_path: Path,
) -> None:
    assert [ONE.share(n) for n in (0, 1)] == [largest_request(10, 100), largest_request(15, 100)]
    assert ONE.most == largest_request(10, 100) + largest_request(15, 100)
    note(tmp_path, "uploaded", ONE, keys=ONE.keys, most=vars(ONE.most), are_repairs=False)
    (early,) = batches_of(tmp_path)
    assert [early.share(n) for n in (0, 1)] == [largest_request(12, 100), largest_request(13, 100)]


def test_batch_that_is_given_up_is_open_no_more_and_keeps_the_reason(tmp_path: Path) -> None:
    journal = tmp_path / "j" / "d"
    note_uploaded(journal, ONE)
    note(journal, "created", replace(ONE, batch="batch-0"))
    with pytest.raises(UserError, match=r"no batch 'batch-1' is open .*, did you mean 'batch-0'"):
        give_up(tmp_path, "batch-1", "lost")
    with alone(journal / "lock"), pytest.raises(UserError, match="a job is waiting for batch"):
        give_up(tmp_path, "batch-0", "lost")
    assert give_up(tmp_path, "batch-0", "lost") == 2
    assert not open_batches(journal)
    assert [one.because for one in batches_of(journal)] == ["lost"]


# What earlier versions noted of a file besides its name: first that alone, then sizes, then keys.
EARLY = {
    "a name": (),
    "sizes": ("are_repairs", "most", "largest"),
    "keys": ("are_repairs", "most", "largest", "keys"),
}


def left_open(one: Judge, about: CellToJudge, api: BatchServer, noted: Sequence[str]) -> None:
    """Leave a batch open as an earlier version did, which counted replies when they came."""
    api.says["look"] = [http(401, b"{}")]
    with pytest.raises(UserError, match="the Batch API cannot be used"):
        verdicts_of(one, about)
    (now,) = batches_of(one.journal("d"))
    shutil.rmtree(one.journal("d") / "batches")
    for path in one.results.rglob("*.account"):
        path.unlink()
    fields = {"are_repairs": False, "most": vars(now.most), "largest": 4_000, "keys": now.keys}
    with Writer(one.journal("d") / "batches") as early:
        for step, batch in (("uploaded", None), ("created", now.batch)):
            more = {name: fields[name] for name in noted} if step == "uploaded" else {}
            about_it = {"key": f"{now.file} {step}", "outcome": step, "file": now.file}
            early.append({**about_it, "batch": batch, **more})


@pytest.mark.slow
@pytest.mark.parametrize("noted", EARLY.values(), ids=list(EARLY))
def test_batch_that_an_earlier_version_left_open_is_collected_and_counted_once(
    noted: Sequence[str], tmp_path: Path
) -> None:
    api, about = BatchServer(first=json.dumps(GENUINE)), cell(tmp_path, *TURNS)
    with judge_server(api) as server:
        one = judge(tmp_path, server.url, batch=True)
        left_open(one, about, api, noted)
        assert verdicts_of(one, about)["genuine"].to_list() == [True] * 3
    assert (len(api.files), len(api.batches), batches_of(one.journal("d"))) == (1, 1, [])
    assert (spent(tmp_path).n_requests, spent(tmp_path).n_unmetered) == (3, 0)
    assert money(spent(tmp_path), PRICE) == pytest.approx(3 * METERED)


@pytest.mark.slow
@pytest.mark.parametrize("noted", [EARLY["a name"], EARLY["sizes"]], ids=["a name", "sizes"])
def test_batch_whose_questions_nobody_has_waits_for_them_or_is_given_up(
    noted: Sequence[str], tmp_path: Path
) -> None:
    api, about = BatchServer(first=json.dumps(GENUINE)), cell(tmp_path, *TURNS)
    with judge_server(api) as server:
        one = judge(tmp_path, server.url, batch=True)
        left_open(one, about, api, noted)
        api.keeps_questions = False
        for _ in range(2):
            with pytest.raises(UserError, match="userturn costs --give-up batch-0 --because"):
                verdicts_of(one, about)
        assert spent(tmp_path).n_requests == (3 if noted else 0)
        assert give_up(tmp_path / "journal/judges", "batch-0", "lost") == (3 if noted else 0)
        assert verdicts_of(one, about)["genuine"].to_list() == [True] * 3
        assert (len(api.files), len(api.batches)) == (2, 2)
        api.keeps_questions = True
        verdicts_of(one, cell(tmp_path, *TURNS, "What else?", name="cells/m/d/t1/none"))
    assert batches_of(one.journal("d")) == []
    assert (spent(tmp_path).n_requests, spent(tmp_path).n_unmetered) == (7, 0)


def judge_whose_batch_is_given_up(
    url: str, api: BatchServer, about: CellToJudge, folder: Path
) -> Judge:
    """Return a judge whose first batch could not be read until it was given up."""
    one = judge(folder, url, batch=True)
    with pytest.raises(UserError, match="userturn costs --give-up batch-0 --because"):
        verdicts_of(one, about)
    give_up(folder / "journal/judges", "batch-0", "lost")
    api.says.clear()
    return one


@pytest.mark.slow
def test_given_up_batch_that_the_api_never_began_is_listed_and_counted_no_more(
    tmp_path: Path,
) -> None:
    api, about = BatchServer(first=json.dumps(GENUINE)), cell(tmp_path, *TURNS)
    at("look", 404, 99)(api)
    with judge_server(api) as server:
        one = judge_whose_batch_is_given_up(server.url, api, about, tmp_path)
        api.fails.add("batch-0")
        assert verdicts_of(one, about)["genuine"].to_list() == [True] * 3
        assert len(api.batches) == 2
        verdicts_of(one, cell(tmp_path, *TURNS, "What else?", name="cells/m/d/t1/none"))
    assert batches_of(one.journal("d")) == []
    assert (spent(tmp_path).n_requests, spent(tmp_path).n_unmetered) == (4, 0)


@pytest.mark.slow
def test_given_up_batch_is_asked_again_once_and_read_later_without_another_verdict(
    tmp_path: Path,
) -> None:
    api, about = BatchServer(first=json.dumps(GENUINE)), cell(tmp_path, *TURNS)
    at("read", 404, 99)(api)
    with judge_server(api) as server:
        one = judge_whose_batch_is_given_up(server.url, api, about, tmp_path)
        api.gone.add("batch-0")
        assert verdicts_of(one, about)["genuine"].to_list() == [True] * 3
        total = spent(tmp_path)
        assert (total.n_requests, total.n_unmetered, len(api.batches)) == (6, 3, 2)
        api.gone.clear()
        verdicts_of(one, cell(tmp_path, *TURNS, "What else?", name="cells/m/d/t1/none"))
    assert batches_of(one.journal("d")) == []
    assert (spent(tmp_path).n_requests, spent(tmp_path).n_unmetered) == (7, 0)
    lines = [json.loads(line) for path in one.journal("d").glob("*.jsonl") for line in path.open()]
    assert sorted(line["outcome"] for line in lines) == ["error"] * 3 + ["ok"] * 4


@pytest.mark.slow
def test_replies_that_came_are_not_paid_for_again_where_a_batch_is_given_up_for_others(
    tmp_path: Path,
) -> None:
    api, about = BatchServer(first=json.dumps(GENUINE)), cell(tmp_path, *TURNS)
    api.spoil = lambda file, n, line: b"oops" if (file, n) == ("file-0", 1) else line
    with judge_server(api) as server:
        one = judge(tmp_path, server.url, batch=True)
        for _ in range(2):
            with pytest.raises(UserError, match="without a reply to 1 of 3 questions"):
                verdicts_of(one, about)
        assert give_up(tmp_path / "journal/judges", "batch-0", "cut off") == 1
        assert verdicts_of(one, about)["genuine"].to_list() == [True] * 3
    assert [len(lines) for lines in api.files.values()] == [3, 1]
    assert (spent(tmp_path).n_requests, spent(tmp_path).n_unmetered) == (4, 1)


@pytest.mark.slow
@pytest.mark.parametrize("status", [401, 403, 410, 500])
def test_given_up_batch_never_stops_a_run(status: int, tmp_path: Path) -> None:
    api, about = BatchServer(first=json.dumps(GENUINE)), cell(tmp_path, *TURNS)
    at("look", status, 99)(api)
    with judge_server(api) as server:
        one = judge(tmp_path, server.url, batch=True)
        with pytest.raises(UserError):
            verdicts_of(one, about)
        give_up(tmp_path / "journal/judges", "batch-0", "no access")
        server.answer = lambda asked: (
            response(status) if asked.path.endswith("batches/batch-0") else api(asked)
        )
        api.says.clear()
        assert verdicts_of(one, about)["genuine"].to_list() == [True] * 3

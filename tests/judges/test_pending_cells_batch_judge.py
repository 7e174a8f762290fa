"""A judge asked by batch: all pending cells of a dataset share its batches, none is asked twice."""

import json
from pathlib import Path

import pytest

from tests.support.batch_server import BatchServer
from tests.support.faults.row import chat
from tests.support.judge_server import GENUINE, Asked, completion, http, judge_server
from tests.support.judged_cell import PRICE, cell, judge, spent, verdicts_of
from userturn.cli.rejudge import void_unscored
from userturn.endpoints.usage import money
from userturn.errors import UserError
from userturn.judges import batch_api
from userturn.judges.batch_files import cost_of_abandoned
from userturn.judges.judge import CellToJudge
from userturn.judges.pending_cells import fill_by_batch

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_api, "FIRST_POLL", 0.01)


def cells(results: Path, *turns: str, dataset: str = "d") -> list[CellToJudge]:
    """Write three cells of a dataset, each with the same turns and one of its own."""
    return [
        cell(results, *turns, f"Turn {n}?", name=f"cells/m/{dataset}/t{n}/none", dataset=dataset)
        for n in range(3)
    ]


def n_sent(api: BatchServer) -> list[int]:
    return [len(lines) for lines in api.files.values()]


def test_cells_of_a_dataset_share_a_batch_in_which_an_equal_question_is_sent_once(
    tmp_path: Path,
) -> None:
    api = BatchServer(first=json.dumps(GENUINE))
    with judge_server(api) as server:
        one, found = judge(tmp_path, server.url, batch=True), cells(tmp_path, "Why?", "How?")
        assert fill_by_batch(one, found) == 3
        assert n_sent(api) == [5]  # two that all cells share, and one of each
        for each in found:
            assert verdicts_of(one, each)["label"].to_list() == ["genuine_followup"] * 3
        assert n_sent(api) == [5] and spent(tmp_path).n_requests == 5


def test_changed_cell_sends_its_own_new_question_and_no_other(tmp_path: Path) -> None:
    api = BatchServer(first=json.dumps(GENUINE))
    with judge_server(api) as server:
        one, found = judge(tmp_path, server.url, batch=True), cells(tmp_path, "Why?", "How?")
        fill_by_batch(one, found)
        changed = cell(tmp_path, "Why?", "How?", "What else?", name="cells/m/d/t1/none")
        assert fill_by_batch(one, [found[0], changed, found[2]]) == 1
        assert fill_by_batch(one, [found[0], changed, found[2]]) == 0
    assert n_sent(api) == [5, 1]


def test_batches_of_all_datasets_are_out_before_the_first_is_waited_for(tmp_path: Path) -> None:
    api, made = BatchServer(first=json.dumps(GENUINE)), list[int]()

    def looking(asked: Asked) -> bytes | None:
        if asked.headers.startswith("GET") and "/batches/" in asked.path:
            made.append(len(api.batches))
        return api(asked)

    with judge_server(looking) as server:
        one = judge(tmp_path, server.url, batch=True)
        fill_by_batch(one, [*cells(tmp_path, "Why?"), *cells(tmp_path, "Why?", dataset="e")])
    assert n_sent(api) == [4, 4] and set(made) == {2}


def test_repairs_of_all_cells_share_a_batch(tmp_path: Path) -> None:
    api = BatchServer(first="?")
    with judge_server(api) as server:
        one, found = judge(tmp_path, server.url, batch=True), cells(tmp_path, "Why?")
        fill_by_batch(one, found)
        assert verdicts_of(one, found[2])["label"].to_list() == ["genuine_followup"] * 2
    assert n_sent(api) == [4, 4]


@pytest.mark.parametrize(("share", "n_files"), [(0.5, [4, 1]), (0.1, [4, 1, 1, 1])])
def test_error_that_a_batch_left_is_asked_again_by_its_cell_only_beyond_the_limit(
    share: float, n_files: list[int], tmp_path: Path
) -> None:
    """The question is sent in both rounds of the pool, and again only if its cell needs it."""
    api = BatchServer(first=json.dumps(GENUINE))
    fails = json.dumps({"response": {"status_code": 500, "body": {"error": "no"}}})

    def spoil(file: str, number: int, line: bytes) -> bytes:
        is_last = b"Turn 2?" in api.files[file][number]
        return json.dumps(json.loads(line) | json.loads(fails)).encode() if is_last else line

    api.spoil = spoil
    with judge_server(api) as server:
        one = judge(tmp_path, server.url, batch=True, max_error_share=share)
        found = cells(tmp_path, "Why?")
        fill_by_batch(one, found)
        if share == 0.1:
            with pytest.raises(UserError, match="1 of 2 questions ended in an error"):
                verdicts_of(one, found[2])
        else:
            reasons = verdicts_of(one, found[2])["unscored_reason"].to_list()
            assert reasons[0] is None and "status 500" in reasons[1]
    assert n_sent(api) == n_files


def test_batch_that_no_job_waits_for_stays_in_the_cap_and_then_in_the_ledger(
    tmp_path: Path,
) -> None:
    api, reply = BatchServer(first=json.dumps(GENUINE)), completion(GENUINE)
    api.says["look"] = [http(401, b"{}")]
    about = cell(tmp_path, *[f"Why {n}?" for n in range(20)])
    other = cell(tmp_path, *[f"How {n}?" for n in range(20)], name="cells/m/e/t0", dataset="e")
    with judge_server(lambda one: reply if "chat" in one.path else api(one)) as server:
        with pytest.raises(UserError, match="the Batch API cannot be used"):
            verdicts_of(judge(tmp_path, server.url, batch=True), about)
        most = cost_of_abandoned(tmp_path / "journal/judges", {"j": PRICE})
        # A token a byte, of questions of more than 2,000 bytes, and 100 tokens written.
        assert most > 20 * (2_000 + 100 * 10) / 1e6
        with pytest.raises(UserError, match="stopped before max_cost"):
            verdicts_of(judge(tmp_path, server.url, cap=most + 0.01), other)
        assert money(spent(tmp_path), PRICE) <= 0.01
        verdicts_of(judge(tmp_path, server.url), about)  # asked one by one from now on
        assert n_sent(api) == [20] and spent(tmp_path).n_requests > 20
    assert cost_of_abandoned(tmp_path / "journal/judges", {"j": PRICE}) == 0


def test_pool_that_stopped_is_found_again_and_nothing_is_sent_twice(tmp_path: Path) -> None:
    api = BatchServer(first=json.dumps(GENUINE))
    api.says["look"] = [http(401, b'{"error": {"message": "key revoked"}}')]
    with judge_server(api) as server:
        one, found = judge(tmp_path, server.url, batch=True), cells(tmp_path, "Why?", "How?")
        with pytest.raises(UserError, match="the Batch API cannot be used"):
            fill_by_batch(one, found)
        fill_by_batch(one, found)
        assert verdicts_of(one, found[0])["label"].null_count() == 0
    assert n_sent(api) == [5] and spent(tmp_path).n_requests == 5


def test_judge_that_refuses_each_time_is_asked_once_for_each_rejudging(tmp_path: Path) -> None:
    api = BatchServer(body=chat(None, refusal="No."))
    with judge_server(api) as server:
        one, (first, *_) = judge(tmp_path, server.url, batch=True), cells(tmp_path, "Why?")
        for n_rounds in range(1, 5):
            fill_by_batch(one, [first])
            reasons = verdicts_of(one, first)["unscored_reason"].to_list()
            assert reasons == ["the judge refused"] * 2 and n_sent(api) == [2] * n_rounds
            assert void_unscored(one.journal("d")) == 2
            assert void_unscored(one.journal("d")) == 0
    assert spent(tmp_path).n_requests == 4 * 2


def test_rejudging_while_repairs_are_out_asks_nothing_twice(tmp_path: Path) -> None:
    """An unreadable first reply is no verdict that could be voided: its repair is waited for."""
    api = BatchServer(first="?")
    with judge_server(api) as server:
        one, (first, *_) = judge(tmp_path, server.url, batch=True), cells(tmp_path, "Why?")
        n_looks = iter(range(9))

        def fails_at_the_repairs(asked: Asked) -> bytes | None:
            is_look = asked.headers.startswith("GET") and "/batches/" in asked.path
            if is_look and len(api.batches) == 2 and next(n_looks) == 0:
                return http(401, b"{}")
            return api(asked)

        server.answer = fails_at_the_repairs
        with pytest.raises(UserError, match="the Batch API cannot be used"):
            fill_by_batch(one, [first])
        assert void_unscored(one.journal("d")) == 0
        fill_by_batch(one, [first])
        assert verdicts_of(one, first)["label"].to_list() == ["genuine_followup"] * 2
    assert n_sent(api) == [2, 2] and spent(tmp_path).n_requests == 4

"""All pending cells of a judge in one job: it is served once and ended, or cells share batches."""

import json
import shutil
import socket
import sys
import tempfile
from pathlib import Path

import pytest

from tests.support.batch_server import BatchServer
from tests.support.faults.row import chat
from tests.support.journal_lines import read_journal
from tests.support.judge_server import GENUINE, Asked, completion, http, judge_server
from tests.support.judged_cell import PRICE, cell, judge, spent, verdicts_of
from tests.support.tiny_model import write_tiny_model
from userturn.cli.rejudge import void_unscored
from userturn.endpoints.usage import money
from userturn.errors import UserError
from userturn.judges import batch_api, pending_cells
from userturn.judges.judge import CellToJudge, Judge
from userturn.judges.pending_cells import fill_by_batch

pytestmark = pytest.mark.slow


def self_serving(results: Path, **changes: object) -> Judge:
    served = {"serve": True, "model": str(results / "model"), "vllm": {"max_model_len": 4096}}
    local = judge(results, "http://nowhere.invalid", **(served | changes))
    del local.settings["base_url"]  # type: ignore[attr-defined]
    return local


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Results with two cells, a tiny model, and a server that is made up."""
    write_tiny_model(tmp_path / "model", width=64)
    monkeypatch.setattr(pending_cells, "SERVER", [sys.executable, "-m", "tests.support.fake_vllm"])
    for number, name in enumerate(("cells/m/d/t0/none", "controls/m/d")):
        about = cell(tmp_path, *[f"Turn {i} of {number}?" for i in range(5)], name=name)
    (tmp_path / "datasets").mkdir()
    shutil.copy(about.path_to_items, tmp_path / "datasets/d.parquet")
    return tmp_path


def serve(results: Path, **changes: object) -> dict[str, int]:
    turns = [
        f"{results}/{name}/user_turns.parquet" for name in ("cells/m/d/t0/none", "controls/m/d")
    ]
    pending_cells.serve_judge(
        judge=self_serving(results, **changes),
        pending=["b", "a"],
        paths_to_user_turns=turns,
        paths_to_items=[str(results / "datasets" / "d.parquet")] * len(turns),
        path_to_marker=str(results / "marker.json"),
    )
    marker: dict[str, int] = json.loads((results / "marker.json").read_text())
    return {name: marker[name] for name in ("pending", "n_cells", "n_asked")}


def test_options_are_those_of_vllm() -> None:
    given = {
        "max_model_len": 64,
        "enforce_eager": True,
        "enable_chunked_prefill": False,
        "dtype": "x",
    }
    assert pending_cells.options(given) == [
        "--max-model-len",
        "64",
        "--enforce-eager",
        "--no-enable-chunked-prefill",
        "--dtype",
        "x",
    ]


@pytest.mark.parametrize(
    ("vllm", "expected"), [({}, "vllm"), ({"generation_config": "auto"}, "auto")]
)
def test_served_judge_takes_no_sampling_from_its_models_folder_unless_it_is_told_to(
    vllm: dict[str, str], expected: str
) -> None:
    settings = {"model": "org/judge", "gpus": 2, "vllm": vllm}
    words = pending_cells.server_command(settings, Path("folder"), 8000)
    assert words[words.index("--generation-config") + 1] == expected
    assert words.count("--generation-config") == 1
    assert words[words.index("--tensor-parallel-size") + 1] == "2"


def test_one_load_works_off_all_cells_which_are_then_gathered(
    results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ports: list[int] = []
    monkeypatch.setattr(pending_cells, "_free_port", lambda: ports.append(free()) or ports[-1])
    assert serve(results) == {"pending": ["a", "b"], "n_cells": 2, "n_asked": 2}
    assert len(read_journal(results / "journal/judges/j/d")) == 10
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", ports[0])) != 0, "the server still runs"
    table = verdicts_of(
        self_serving(results), cell(results, *[f"Turn {i} of 0?" for i in range(5)])
    )
    assert table["label"].to_list() == ["generic"] * 5
    assert serve(results)["n_asked"] == 0 and len(ports) == 1


def test_server_leaves_nothing_in_the_folder_for_temporary_files(
    results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    assert serve(results)["n_asked"] == 2
    assert list(temporary.iterdir()) == []


def free() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def test_server_that_ends_before_it_is_ready_is_one_sentence(
    results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pending_cells, "SERVER", [*pending_cells.SERVER, "--refuse-to-start"])
    with pytest.raises(UserError, match="ended with code 3 before it was ready"):
        serve(results)


def test_server_that_ends_is_one_sentence_and_the_next_run_asks_only_for_the_rest(
    results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Request 0 asks whether the server is ready, so three questions have replies before the fourth.
    with monkeypatch.context() as ending:
        ending.setattr(pending_cells, "SERVER", [*pending_cells.SERVER, "--end-at", "4"])
        with pytest.raises(UserError, match="j: vLLM's server ended with code 9 while it was"):
            serve(results, concurrency=1)
    assert not (results / "marker.json").exists()
    before = decided(results)
    assert len(before) == 3
    assert serve(results, concurrency=1)["n_asked"] == 2
    assert len(decided(results)) == 10 and before.items() <= decided(results).items()


def decided(results: Path) -> dict[str, object]:
    """Return the replies in the journal; questions to a dead server are asked again."""
    records = read_journal(results / "journal/judges/j/d")
    return {key: record for key, record in records.items() if record["outcome"] == "ok"}


def test_judge_that_was_not_served_says_what_to_do(results: Path) -> None:
    with pytest.raises(UserError, match="served by its own job"):
        verdicts_of(self_serving(results), cell(results, "Why?"))


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_api, "FIRST_POLL", 0.001)


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


def test_batch_that_no_job_waits_for_is_on_the_ledger_and_in_the_cap(tmp_path: Path) -> None:
    api, reply = BatchServer(first=json.dumps(GENUINE)), completion(GENUINE)
    api.says["look"] = [http(401, b"{}")]
    about = cell(tmp_path, *[f"Why {n}?" for n in range(20)])
    other = cell(tmp_path, *[f"How {n}?" for n in range(20)], name="cells/m/e/t0", dataset="e")
    with judge_server(lambda one: reply if "chat" in one.path else api(one)) as server:
        with pytest.raises(UserError, match="the Batch API cannot be used"):
            verdicts_of(judge(tmp_path, server.url, batch=True), about)
        most = money(spent(tmp_path), PRICE)
        # A token a byte, of questions of more than 2,000 bytes, and 100 tokens written.
        assert most > 20 * (2_000 + 100 * 10) / 1e6
        with pytest.raises(UserError, match="stopped before max_cost"):
            verdicts_of(judge(tmp_path, server.url, cap=most + 0.01), other)
        assert most < money(spent(tmp_path), PRICE) <= most + 0.01
        n_others = spent(tmp_path).n_requests - 20
        verdicts_of(judge(tmp_path, server.url), about)  # asked one by one from now on
        assert n_sent(api) == [20] and spent(tmp_path).n_requests == 20 + n_others
    assert spent(tmp_path).n_unmetered == 0


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

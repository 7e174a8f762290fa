"""A judge with an endpoint in the real workflow: money, keys, and what is asked again."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.support.batch_server import BatchServer
from tests.support.judge_server import GENUINE, Asked, JudgeServer, completion, http, judge_server
from tests.support.snakemake_runs import output_of, planned, run, snakemake
from tests.workflow.test_audit import forge, rewrite
from tests.workflow.test_rerun import change_study
from userturn.audit.run import audit
from userturn.config.load import load_config
from userturn.judges.kinds import kind_of
from userturn.study.grid import Grid
from userturn.tables.costs import costs
from userturn.tables.rates import cell_rates
from userturn.workflow.study_size import dataset_sizes, load_of_judge

pytestmark = pytest.mark.slow

KEY = "sk-canary-b1946ac92492d2347c6235b4d2611184"


def entry(server: JudgeServer, **changes: Any) -> dict[str, Any]:
    return {
        "kind": "endpoint",
        "base_url": server.url,
        "model": "m",
        "key_variable": "CANARY_KEY",
        "settings": {"max_tokens": 100},
        "price": {"input": 1.0, "output": 10.0},
    } | changes


def echoing(asked: Asked) -> bytes:
    """Fail now and then, and show the key in headers and body; else quote it in the reply."""
    if asked.number % 3 == 0:
        return http(500, f"bad key {KEY}".encode(), f"X-Key: {KEY}", "Retry-After: 0")
    if asked.number % 5 == 0:
        return completion(f"I was asked with {KEY}")
    return completion(GENUINE | {"rationale": f"The key is {KEY}."})


@pytest.fixture
def server() -> Iterator[JudgeServer]:
    with judge_server(echoing) as running:
        yield running


def holding(folder: Path, text: str) -> list[Path]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return [path for path in files if text.encode() in path.read_bytes()]


def add_judge(study: Path, judge: dict[str, Any]) -> None:
    change_study(study, run__judges=["heuristic", "canary"], judges={"canary": judge})


def test_study_with_an_endpoint_leaks_no_key_and_pays_once(
    study: Path, server: JudgeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_judge(study, entry(server))
    assert planned(study)["judge"] == 4  # a dry run needs no key
    monkeypatch.setenv("CANARY_KEY", KEY)
    output = run(study)
    assert f"Bearer {KEY}" in server.asked[0].headers
    assert holding(study, KEY) == [] and KEY not in output
    # 4 cells of 5 turns, and every request is in the ledger.
    costs = pl.read_parquet(study / "results/tables/costs.parquet")
    whole = costs.filter(pl.col("cell") == "all")
    assert costs["cell"].len() == 5 and whole["n_requests"].to_list() == [len(server.asked)]
    rates = cell_rates(pl.read_parquet(study / "results/tables/rates.parquet"))
    scored = dict(rates.group_by("judge").agg(pl.sum("n_scored")).iter_rows())
    assert set(scored) == {"canary", "heuristic"}
    verdicts = [
        pl.read_parquet(p) for p in study.glob("results/cells/**/verdicts/heuristic.parquet")
    ]
    assert sum(table.height for table in verdicts) == 20
    # Of the random text of a tiny model some turns are not English.
    assert scored["heuristic"] == sum(table["label"].count() for table in verdicts) > 10
    n_asked = len(server.asked)
    assert not planned(study)
    assert audit(study / "results").findings == []
    forged = study / "results/cells/tiny/word-problems/t0/none/verdicts/canary.parquet"
    whole = forged.read_bytes()
    records = {p: p.read_bytes() for p in (study / "results/provenance").rglob("*.json")}
    rewrite(forged, lambda table: table.with_columns(rationale=pl.lit("because")))
    assert {f.check for f in audit(study / "results").findings} >= {"hashes"}
    forge(study / "results", str(forged.relative_to(study / "results")), everywhere=True)
    assert "verdicts" in {f.check for f in audit(study / "results").findings}
    for path, content in {**records, forged: whole}.items():
        path.write_bytes(content)
    add_judge(study, entry(server, price={"input": 2.0, "output": 9.0}, concurrency=2, timeout=9))
    assert set(planned(study)) == {"tabulate_costs", "build_report", "record_study"}
    add_judge(study, entry(server))
    cells = study / "results/cells"
    lost = cells.rglob("canary.parquet")
    for path in [*lost, study / "results/tables/rates.parquet"]:
        path.unlink()
    server.answer = lambda _: http(500, b"must not be asked")
    run(study, "--until", "judge")
    assert len(list(cells.rglob("canary.parquet"))) == 4
    assert len(server.asked) == n_asked


class Sometimes:
    """Says "?" to two of three requests, and serves batches, of which every reply can be used."""

    def __init__(self) -> None:
        """Begin with nothing asked."""
        self.batches = BatchServer(first=json.dumps(GENUINE))
        self.chats: list[str] = []

    def __call__(self, asked: Asked) -> bytes | None:
        """Answer one request; a token has four characters of the messages."""
        if not asked.path.endswith("/chat/completions"):
            return self.batches(asked)
        texts = [message["content"] for message in asked.body["messages"]]
        self.chats.append(texts[-1])
        content = "?" if len(self.chats) % 3 != 1 else json.dumps(GENUINE)
        usage = {"prompt_tokens": sum(map(len, texts)) // 4, "completion_tokens": 40}
        choice = {"finish_reason": "stop", "message": {"content": content}}
        return http(200, json.dumps({"choices": [choice], "usage": usage}).encode())


JUDGED = ("judge", "judge_controls", "judge_swapped", "judge_labelled")


def with_controls(study: Path, server: JudgeServer) -> None:
    """Give a study a judge that is asked directly, one by batch, and every kind of control."""
    add_judge(study, entry(server))
    change_study(study, judges__pooled=entry(server, batch=True), max_unscored_share=1.0)
    change_study(study, run__judges=["heuristic", "canary", "pooled"])
    human = {"file": "data/demo/follow_ups.jsonl", "fields": {"id": "id", "messages": "messages"}}
    human |= {"verifier": "none", "condition": "gold_context", "limit": 20}
    change_study(study, datasets__follow_ups=human)
    controls = {
        "human": ["follow_ups"],
        "planted": 2,
        "chance_floor": 6,
        "edited": 0,
        "labelled": True,
        "injected": False,
    }
    change_study(study, controls=controls)


def check_plan(study: Path, chats: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare what was asked, and what it cost, with the plan."""
    monkeypatch.chdir(study)
    grid = Grid(load_config(["config.yaml", "study.yaml"]), "results")
    calls = load_of_judge(grid, "canary", dataset_sizes(grid))
    n_first = sum("An earlier reply" not in text for text in chats)
    # Equal questions are asked once, and some answers are too short for every plant.
    assert 0.85 * calls.n <= n_first <= calls.n
    assert 1.3 * n_first < len(chats) <= 2 * calls.n
    entry = grid.all_judges["canary"]
    money = kind_of(entry).price(entry, calls.n, calls.n_read)
    assert money is not None
    spent = costs(grid.accounts_folder, grid.prices)
    cost = spent.filter(judge="canary", cell="all")["cost"].item()
    # "About" counts one request for each question, of which a half took two here.
    assert money[0] / 2 < cost * n_first / len(chats) < money[0] and cost < money[1]


def test_rejudge_asks_again_exactly_what_was_unscored_and_the_plan_bounds_what_was_asked(
    study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CANARY_KEY", KEY)
    answers = Sometimes()
    with judge_server(answers) as server:
        with_controls(study, server)
        run(study, "--until", *JUDGED)
        check_plan(study, answers.chats, monkeypatch)
        verdicts = [pl.read_parquet(p) for p in study.rglob("verdicts/canary.parquet")]
        assert sum(table["label"].null_count() for table in verdicts)
        # The cells of a dataset share a batch: of the items, the human and the labelled turns.
        assert len(answers.batches.batches) == 3
        assert len(list(study.rglob("verdicts/pooled.parquet"))) == len(verdicts) == 8
        before = len(server.asked)
        lost = sum(
            json.loads(line)["outcome"] == "unscored"
            for path in study.glob("results/journal/judges/canary/*/*.jsonl")
            for line in path.read_text().splitlines()
        )
        said = output_of(study, "userturn", "rejudge", "canary", "--configfile", "study.yaml")
        assert f"canary: discarded {lost} unscored replies" in said
        server.answer = lambda _: completion(GENUINE)
        run(study, "--until", *JUDGED)
        assert len(server.asked) - before == lost
        again = [pl.read_parquet(p) for p in study.rglob("verdicts/canary.parquet")]
        assert all(table["label"].null_count() == 0 for table in again)


def test_missing_key_is_one_sentence_before_anything_is_asked(
    study: Path, server: JudgeServer
) -> None:
    assert "CANARY_KEY" not in os.environ
    add_judge(study, entry(server))
    done = snakemake(study)
    assert done.returncode != 0 and server.asked == []
    assert "error: judge 'canary' needs the environment variable CANARY_KEY" in done.stdout
    assert "Traceback" not in done.stdout


def test_key_in_the_config_is_refused_and_not_shown(study: Path, server: JudgeServer) -> None:
    add_judge(study, entry(server, key_variable=KEY))
    done = snakemake(study, "--dry-run")
    assert done.returncode != 0 and "expected the NAME" in done.stdout
    assert KEY not in done.stdout

"""The road of a chat-only simulator: of 60 planted replies each rate is as it was planted."""

import json
import re
from copy import deepcopy
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml

from tests.support.edited_study import EditedStudy
from tests.support.in_process import InProcess
from tests.support.judge_server import Asked, http, judge_server
from tests.support.snakemake_runs import ROOT
from userturn.judges import heuristic
from userturn.judges.verdict import Verdict
from userturn.study.grid import Grid
from userturn.workflow.study import Study

pytestmark = pytest.mark.slow
N = 60
KINDS = {  # by item, in turn: what the simulator writes, and what the oracle calls it
    "restates": ("Tell me about stone {n}.", "prompt_restate"),
    "speaks as the assistant": ("Certainly! Stone {n} is grey.", "assistant_turn_restate"),
    "leaks its plan": ("As the user, I should ask of {n}.", "assistant_turn_restate"),
    "ends at once": ("", "degenerate"),
    "reacts": ("Why is stone {n} grey?", "genuine_followup"),
}
PLANTED = [*KINDS.values()]


def _of(n: int) -> tuple[str, str]:
    text, label = PLANTED[n % len(PLANTED)]
    return text.format(n=n), label


def _reply(text: str) -> bytes:
    choice = {"finish_reason": "stop", "message": {"content": text}}
    usage = {"prompt_tokens": 300, "completion_tokens": 9}
    return http(200, json.dumps({"choices": [choice], "usage": usage}).encode())


def simulator(asked: Asked) -> bytes:
    """Answer an item, or play its user as planted; it is told to play by the instruction."""
    if asked.path != "/v1/chat/completions":
        return http(404, b"{}")
    said = asked.body["messages"]
    item = re.search(r"stone (\d+)", said[-2]["content"] if len(said) > 1 else said[0]["content"])
    if item is None:
        return _reply(f"Once {asked.body['seed']}")  # our look at the server
    n = int(item[1])
    return _reply(f"Stone {n} is grey." if len(said) == 1 else _of(n)[0])


def oracle(messages: Any, answer: str, turn: str, settings: Any) -> Verdict:
    """Label a turn by what was planted, in the place of the heuristic's rules."""
    planted = {text: label for n in range(N) for text, label in [_of(n)]}
    return Verdict(planted.get(turn, "unrelated"), "as planted")


def study(folder: Path, server: str) -> EditedStudy:
    config: dict[str, Any] = yaml.safe_load((ROOT / "config.yaml").read_text())
    one = EditedStudy(folder, config)
    rows = [{"id": f"s{n:02}", "question": f"Tell me about stone {n}."} for n in range(N)]
    config |= {
        "likelihood": False,
        "temperatures": [0],
        "controls": {
            **config["controls"],
            "human": [],
            "planted": 0,
            "labelled": False,
            "injected": False,
        },
        "models": {"closed": {"source": "big", "endpoint": server, "api": "chat"}},
        "datasets": {
            "stones": {
                "file": one.write_rows("stones", rows),
                "fields": {"id": "id", "prompt": "question"},
                "verifier": "none",
            }
        },
        "run": {"perturbations": ["none"], "judges": ["heuristic"]},
    }
    return one


def test_rates_of_planted_failures_are_those_that_were_planted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data").mkdir()
    for path in (ROOT / "data").iterdir():
        (tmp_path / "data" / path.name).symlink_to(path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(heuristic, "judge_by_words", oracle)
    with judge_server(simulator) as server:
        one = study(tmp_path, server.url)
        one.settle()
        n_asked = len(server.asked)
        one.settle()
        assert len(server.asked) == n_asked  # nothing is asked twice
        InProcess(Study(Grid(deepcopy(one.config)))).make("results/tables/rates.parquet")
    turns = pl.read_parquet("results/cells/closed/stones/t0/none/user_turns.parquet")
    assert turns["text"].to_list() == [_of(n)[0] for n in range(N)]
    assert turns["n_tokens"].null_count() == N
    own = pl.col("scope") == "model", pl.col("average") == "micro"
    rates = pl.read_parquet("results/tables/rates.parquet").filter(*own)
    shares = {
        label: share for label, share in rates.select("label", "estimate").iter_rows() if share
    }
    assert shares == {
        "prompt_restate": 0.2,
        "assistant_turn_restate": 0.4,
        "degenerate": 0.2,
        "genuine_followup": 0.2,
    }

"""What is claimed is tried where userturn is used, and a claim that does not hold is said."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.judge_server import Answer, http, judge_server, says
from tests.support.snakemake_runs import ROOT
from userturn.cli import accept
from userturn.cli.accept import try_cluster, try_hub, try_judge
from userturn.cli.main import main
from userturn.config.load import load_config
from userturn.errors import ConfigError

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def in_the_project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def study(url: str, **keys: Any) -> dict[str, Any]:
    config = load_config([ROOT / "config.yaml", ROOT / "profiles/demo/study.yaml"])
    judge = {"kind": "endpoint", "base_url": url, "model": "m", "price": {"input": 1, "output": 1}}
    config["judges"]["j"] = {**judge, "settings": {"max_tokens": 50}, **keys}
    return config


ONE_TURN = "which enzyme product"  # among the first labelled turns


def tried(answer: Answer | None = None, **keys: Any) -> dict[str, bool]:
    with judge_server(answer or (lambda _: says("generic"))) as server:
        return {one.claim: one.held for one in try_judge(study(server.url, **keys), "j")}


def without_usage(_: object) -> bytes:
    whole = json.loads(says("generic").partition(b"\r\n\r\n")[2])
    return http(200, json.dumps({"choices": whole["choices"]}).encode())


def test_every_claim_holds_of_a_judge_that_answers_as_it_should() -> None:
    assert list(tried().values()) == [True] * 4


@pytest.mark.parametrize(
    ("answer", "broken"),
    [
        (lambda _: http(401, b'{"error": {"message": "no such key"}}'), "key and model"),
        (lambda a: says("what?" if ONE_TURN in str(a.body) else "generic"), "every reply is read"),
        (without_usage, "tokens are reported"),
    ],
)
def test_a_planted_fault_is_a_claim_that_does_not_hold(answer: Answer, broken: str) -> None:
    found = tried(answer)
    assert [claim for claim, held in found.items() if not held and claim.startswith(broken)]


def test_a_judge_that_is_behind_no_api_is_refused() -> None:
    with pytest.raises(ConfigError, match="'heuristic' has no API"):
        list(try_judge(study("http://127.0.0.1:9/v1"), "heuristic"))


def test_a_study_without_files_of_the_hub_has_nothing_to_show_of_it() -> None:
    assert [one.held for one in try_hub(study("http://127.0.0.1:9/v1"))] == [False, False]


def test_without_slurm_the_cluster_does_not_hold(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    found = list(try_cluster(study("http://127.0.0.1:9/v1"), Path("profiles/slurm"), str(tmp_path)))
    assert [one for one in found if one.claim == "SLURM's commands" and not one.held]


def test_nothing_to_try_says_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["accept"]) == 1
    assert "give one or more of --gpu, --api JUDGE, --hub and --slurm" in capsys.readouterr().err


def test_claims_are_printed_and_counted_and_one_that_did_not_hold_is_exit_code_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tried = [accept.Tried("it writes", True, "3 texts"), accept.Tried("it reads", False, "none")]
    monkeypatch.setattr(accept, "try_gpu", lambda: iter(tried))
    assert main(["accept", "--gpu"]) == 1
    said = capsys.readouterr().out
    assert said.startswith("1 of 2 claims did not hold here\n")
    assert re.search(r"\| GPU +\| it reads +\| NO +\| none +\|", said)
    assert main(["accept", "--gpu", "--json"]) == 1
    claims = json.loads(capsys.readouterr().out)["claims"]
    assert claims[0] == {"on": "GPU", "claim": "it writes", "held": True, "seen": "3 texts"}

"""A server that somebody else runs: its turns are those of the model, or errors with a reason."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import psutil
import pytest

from tests.support.completion_server import KEY, NAME, Fake, as_http, asked, requests
from tests.support.faults.completions import AGAIN, NEVER, TOO_SLOW, changed
from tests.support.judge_server import Asked, http, judge_server
from tests.support.snakemake_runs import ROOT
from userturn.config.judge_keys import ServerEntry
from userturn.endpoints import http_client
from userturn.endpoints.budget import Account, read_accounts
from userturn.endpoints.concurrency import Pace
from userturn.errors import UserError
from userturn.judges.pending_cells import running
from userturn.models.completion_endpoint import CompletionEndpoint
from userturn.models.requests import Request, make_request, scoring_request
from userturn.models.served import ServedModel
from userturn.models.server_check import ServerCheck
from userturn.prompts.chat_template import Template

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_client, "FIRST_WAIT", 0.01)
    monkeypatch.setattr(http_client, "LONG_WAIT", 1e9)


def with_seeds(template: Template, seeds: Iterable[int]) -> list[Request]:
    """Return sampled requests that nothing but their seeds tells apart."""
    first = requests(template, 1)[0]
    return [
        make_request(
            {}, "d", str(n), 0, first.prompt, replace(first.sampling, temperature=1, seed=n)
        )
        for n in seeds
    ]


def test_each_fault_is_an_outcome_with_a_reason_and_never_a_turn(
    template: Template, tmp_path: Path
) -> None:
    """Of three requests a fault meets one at every attempt, one at the first, and one never."""
    faults, n_attempts = list((NEVER | AGAIN).items()), Counter[int]()

    def fault(reply: dict[str, Any], asked: Asked) -> bytes | None:
        number = asked.body["seed"]
        n_attempts[number] += 1
        is_whole = number % 3 == 2 or (number % 3 == 1 and n_attempts[number] > 1)
        return as_http(reply) if is_whole else faults[number // 3][1][0](reply, asked)

    fake = Fake(template)
    fake.fault = fault
    with judge_server(fake) as server:
        wanted = with_seeds(template, range(3 * len(faults)))
        done = asked(template, server, tmp_path, wanted, timeout=60)
    made = {int(request.item): completion for request, completion in done}
    assert len(done) == len(made) == 3 * len(faults)
    n_prompt = len(requests(template, 1)[0].prompt.token_ids)
    whole = template.encoder.encode_whole(f"Why {n_prompt}?"), template.stop_token_ids[0]
    for place, (name, (_, said)) in enumerate(faults):
        always, once, never = (made[3 * place + n] for n in range(3))
        failed = [always] if name in AGAIN else [always, once]
        for one in failed:
            assert one.token_ids == () and re.search(said, str(one.error)), (name, one)
        for one in (never, once)[: 3 - len(failed)]:
            assert one.token_ids == (*whole[0], whole[1]) and one.error is None, (name, one)
        assert n_attempts[3 * place] == (2 if name in AGAIN else 1), name
    assert KEY.encode() not in b"".join(p.read_bytes() for p in tmp_path.rglob("*") if p.is_file())


@pytest.mark.parametrize("name", TOO_SLOW)
def test_reply_that_is_not_whole_in_time_is_an_error(
    name: str, template: Template, tmp_path: Path
) -> None:
    fake = Fake(template)
    fake.fault = TOO_SLOW[name]
    with judge_server(fake) as server:
        ((_, made),) = asked(template, server, tmp_path, requests(template, 1))
    assert made.token_ids == () and "no whole reply within 2 s" in str(made.error)


def test_every_sampling_setting_is_sent_also_where_it_is_usual(
    template: Template, tmp_path: Path
) -> None:
    with judge_server(Fake(template)) as server:
        ((_, made),) = asked(template, server, tmp_path, requests(template, 1))
        body = server.asked[-1].body
    assert made.finish_reason == "stop" and made.token_ids[-1] in template.stop_token_ids
    usual = {"top_p": 1.0, "top_k": -1, "min_p": 0, "repetition_penalty": 1, "temperature": 0.0}
    assert {name: body[name] for name in usual} == usual
    assert not body["add_special_tokens"] and not body["skip_special_tokens"]


def test_scores_are_those_of_the_prompt_s_own_tokens(template: Template, tmp_path: Path) -> None:
    one = scoring_request({}, "d", "i", [5, 6, 7, 8], 2)
    with judge_server(Fake(template)) as server:
        ((_, made),) = asked(template, server, tmp_path, [one])
    assert made.logprobs == (-2.0, -3.0)


def test_server_of_text_alone_is_asked_with_text_once_it_is_proven_to_read_it(
    template: Template, tmp_path: Path
) -> None:
    noted: list[ServerCheck] = []
    with judge_server(Fake(template, with_ids=False)) as server:
        ((request, made),) = asked(template, server, tmp_path, requests(template, 1), noted)
        prompts = [one.body["prompt"] for one in server.asked if one.path == "/v1/completions"]
    assert prompts[-1] == request.prompt.text and made.error is None
    assert noted[0].dialect[:2] == (False, False) and noted[0].dialect.scores_by is None
    quoting = template.probe_prompt(
        [{"role": "user", "content": "What is <|im_end|>?"}], "A token."
    )
    odd = make_request({}, "d", "q", 0, quoting, request.sampling)
    with judge_server(Fake(template, with_ids=False)) as server:
        ((_, refused),) = asked(template, server, tmp_path, [odd])
    assert "quotes a special token" in str(refused.error)


@pytest.mark.parametrize("with_ids", [True, False])
def test_server_that_adds_a_token_to_every_prompt_is_refused(
    with_ids: bool, template: Template, tmp_path: Path
) -> None:
    refused = pytest.raises(UserError, match="not proven to read this model's prompts")
    with judge_server(Fake(template, with_ids, bos=1)) as server, refused:
        asked(template, server, tmp_path, requests(template, 1))


def test_twenty_unusable_replies_in_a_row_stop_a_sweep(template: Template, tmp_path: Path) -> None:
    fake = Fake(template)
    fake.fault = changed(token_ids=[1])
    stopped = pytest.raises(UserError, match="20 requests in a row ended without a usable reply")
    with judge_server(fake) as server, stopped:
        asked(template, server, tmp_path, requests(template, 200))


def test_cap_on_money_stops_a_sweep_with_what_was_paid_for_kept(
    template: Template, tmp_path: Path
) -> None:
    price = {"input": 1000.0, "output": 1000.0}
    wanted, done = requests(template, 400), []
    with judge_server(Fake(template)) as server:
        settings: ServerEntry = {"model": NAME, "concurrency": 4, "timeout": 9, "attempts": 2}
        endpoint = CompletionEndpoint(server.url, settings, None, Pace(4))
        account = Account(tmp_path, "model=tiny", "sweeps/tiny", price, 12.0)
        engine = ServedModel("tiny", template, endpoint, account, lambda _: None)
        with pytest.raises(UserError, match="stopped before max_cost 12 could be exceeded"):
            done.extend(one for one in engine(wanted) if one is not None)
        n_sent = Counter(one.body["max_tokens"] for one in server.asked if one.body)[40]
    spent = sum(one.cost({}) or 0.0 for one in read_accounts(tmp_path))
    assert 0 < len(done) == n_sent < 400 and 0 < spent <= 12.0


def test_account_of_a_server_has_no_key_and_may_be_of_any_form(
    template: Template, tmp_path: Path
) -> None:
    told = {"id": NAME, "owned_by": "x" * 195 + KEY, "version": f"1 \ud83d {KEY}"}
    for listed, expected in [
        (
            {"data": [told]},
            {"id": NAME, "owned_by": "x" * 195 + "[key]", "version": "1 \ufffd [key]"},
        ),
        ({"data": 5}, {}),
        ([5], {}),
    ]:
        fake, noted = Fake(template), list[ServerCheck]()

        def answer(one: Asked, fake: Fake = fake, listed: Any = listed) -> bytes | None:
            whole = http(200, json.dumps(listed).encode())
            return whole if one.path == "/v1/models" else fake(one)

        with judge_server(answer) as server:
            asked(template, server, tmp_path, requests(template, 1), noted)
        assert noted[0].account == expected


@pytest.mark.parametrize("status", [429, 503])
def test_busy_server_is_not_asked_in_a_worse_way(
    status: int, template: Template, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_client, "FIRST_WAIT", 0.01)
    fake = Fake(template)

    def answer(one: Asked) -> bytes | None:
        takes_ids = one.path == "/v1/completions" and isinstance(one.body["prompt"], list)
        return http(status, b"later") if takes_ids else fake(one)

    stopped = pytest.raises(UserError, match=f"cannot be used: status {status}: later, after 2")
    with judge_server(answer) as server, stopped:
        asked(template, server, tmp_path, requests(template, 1))


PORT = "8000"  # in profiles/demo/server.yaml
# What names the model or its requests: the rest is what the model wrote or scored.
NAMES = pl.selectors.by_name("model", "key", require_all=False)


def command() -> str:
    """Return the command in the comment of profiles/demo/server.yaml that starts a server."""
    text = (ROOT / "profiles/demo/server.yaml").read_text()
    (block,) = [b for b in re.findall(r"(?:^#   .+\n)+", text, re.MULTILINE) if "api_server" in b]
    return re.sub("^#   ", "", block, flags=re.MULTILINE)


@pytest.fixture
def url() -> Iterator[str]:
    """The address of a server that has ended, with all that it started, when the test has."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = str(found.getsockname()[1])
    # The shell becomes the server, which is then ended by its own process id.
    line = command().replace(PORT, port).replace("python -m vllm", "exec python -m vllm")
    url = f"http://127.0.0.1:{port}/v1"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
        with running(["bash", "-c", line], url) as process:
            yield url
            started = psutil.Process(process.pid).children(recursive=True)
    assert process.returncode in (0, -signal.SIGTERM)
    assert started and psutil.wait_procs(started, timeout=60)[1] == []


def test_a_study_at_a_server_has_the_tokens_and_scores_of_one_in_process(
    demo_model: Path, url: str, tmp_path: Path
) -> None:
    sweep = [sys.executable, "-m", "tests.support.sweep_demo", tmp_path, url]
    done = subprocess.run(sweep, cwd=ROOT, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    here, there = demo_model / "results/tables", tmp_path / "tables"
    names, others = (
        sorted(p.relative_to(at) for p in at.rglob("*.parquet")) for at in (here, there)
    )
    assert names == others
    n_written, n_scored = Counter[str](), 0
    for name in names:
        one, other = (pl.read_parquet(at / name).drop(NAMES) for at in (here, there))
        assert one.equals(other), name
        assert one["error"].null_count() == one.height
        if "logprob" in one.columns:
            n_scored += one["logprob"].count()
        else:
            n_written[f"{name.stem} {name.parent.parent.name}"] += one.height
    # Two items of two datasets, greedy and sampled; each written turn is scored twice, each of two
    # human follow-ups four times.
    assert n_written == {"answers ": 4, "user_turns t0": 4, "user_turns t1": 4}
    assert n_scored == 4 * 2 * 2

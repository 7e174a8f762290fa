"""One raw model, the same in role-play, and one behind a chat API, by the whole workflow."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
import yaml

from tests.support.judge_server import Asked, JudgeServer, http, judge_server
from tests.support.snakemake_runs import copy_project, n_requests, planned, run
from tests.support.tiny_model import write_tiny_model
from userturn.audit.run import audit

pytestmark = [pytest.mark.slow, pytest.mark.long]
N_ITEMS = 3
CHAT = "closed"
WHOLE = "results/cells/{}/word-problems/t0/none/user_turns.parquet"


def answer(asked: Asked) -> bytes:
    """Answer a question, and ask about the answer when told to play."""
    if asked.path != "/v1/chat/completions":
        return http(404, b"{}")
    said = asked.body["messages"]
    is_played = said[0]["content"].startswith("Play a person")
    text = "Is seven right?" if is_played else f"It is {asked.body.get('seed', 7)}."
    choice = {"finish_reason": "stop", "message": {"content": text}}
    return http(200, json.dumps({"choices": [choice]}).encode())


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, JudgeServer]]:
    """A finished study, and the chat server, which still runs."""
    folder = copy_project(tmp_path_factory.mktemp("role-play") / "study")
    with judge_server(answer) as server:
        write_tiny_model(folder / "models" / "tiny")
        made = yaml.safe_load((folder / "study.yaml").read_text())
        made["models"][CHAT] = {"source": "big", "endpoint": server.url, "api": "chat"}
        made["formats"] = {"played": {"probe": "role_play", "models": ["tiny"]}}
        made["datasets"]["word-problems"]["limit"] = N_ITEMS
        run_of = {"models": ["tiny", CHAT], "formats": ["default", "played"]}
        made["run"] |= run_of | {"temperatures": [0], "perturbations": ["none"]}
        made["answers_from"] = ["tiny", CHAT]
        (folder / "study.yaml").write_text(yaml.safe_dump(made))
        run(folder)
        yield folder, server


def test_answers_are_asked_for_once_and_each_plays_the_user_after_them(
    study: tuple[Path, JudgeServer],
) -> None:
    folder, server = study
    assert n_requests(folder, model="tiny") == 3 * N_ITEMS  # once more, after the other's answers
    tables = [folder / WHOLE.format(name) for name in ("tiny", "tiny+played")]
    raw, played = map(pl.read_parquet, tables)
    assert raw["answer"].to_list() == played["answer"].to_list()
    assert (raw["prompt_text"] != played["prompt_text"]).all()
    closed = pl.read_parquet(folder / WHOLE.format(CHAT))
    assert closed["text"].to_list() == ["Is seven right?"] * N_ITEMS
    ours = [one.body for one in server.asked if one.body and 24 not in one.body.values()]
    assert len(ours) == 3 * N_ITEMS


def test_raw_played_and_chat_models_speak_after_each_others_answers(
    study: tuple[Path, JudgeServer],
) -> None:
    table = pl.read_parquet(study[0] / "results/tables/crossed_answers.parquet")
    pairs = table.filter(pl.col("effect") == "pair", pl.col("dataset") == "word-problems")
    speakers = [("tiny", "default"), ("tiny", "played"), (CHAT, "default")]
    found = {*pairs.select("model", "format", "answers_from").iter_rows()}
    crossed = {(*who, answers) for who in speakers for answers in ("tiny", CHAT)}
    assert found == {*crossed, ("tiny", "played", "tiny+played")}  # its own, which are tiny's


def test_contrasts_have_role_play_less_raw_over_the_same_items(
    study: tuple[Path, JudgeServer],
) -> None:
    contrasts = pl.read_parquet(study[0] / "results/tables/contrasts.parquet")
    of_format = pl.col("factor") == "format", pl.col("measure") == "follow-up"
    (row,) = contrasts.filter(*of_format, pl.col("scope") == "model").to_dicts()
    assert (row["condition"], row["baseline"]) == ("played", "default")
    places = [study[0] / WHOLE.format(name) for name in ("tiny", "tiny+played")]
    verdicts = [pl.read_parquet(path.parent / "verdicts/heuristic.parquet") for path in places]
    scored = [{*one.drop_nulls("label")["item"]} for one in verdicts]
    assert row["n_items"] == len(scored[0] & scored[1]) > 0


def test_report_has_the_instruction_and_who_was_told_by_it(study: tuple[Path, JudgeServer]) -> None:
    page = (study[0] / "results/report/index.html").read_text()
    told = re.search(r'"role play","([^"]*)","Play a person', page)
    assert told is not None and set(told[1].split(", ")) == {CHAT, "tiny+played"}
    assert '"played":[{"model":' in page.replace(" ", "")


def test_audit_has_no_finding_and_a_second_run_nothing_to_do(
    study: tuple[Path, JudgeServer],
) -> None:
    assert audit(study[0] / "results").findings == []
    assert not planned(study[0])

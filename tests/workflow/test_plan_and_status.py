"""What the small commands say of a study before and while it runs."""

import json
import os
import re
import shutil
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest
import yaml

from tests.support.printed_output import text_of
from tests.support.snakemake_runs import ROOT
from tests.support.tiny_model import write_tiny_model
from userturn.cli.main import main
from userturn.cli.plan import plan, shown_prompt
from userturn.cli.status import status, watched
from userturn.cli.terminal import Output
from userturn.config.load import load_config, load_study
from userturn.datasets.prepare import prepare_dataset
from userturn.endpoints.budget import Account
from userturn.endpoints.usage import largest_request
from userturn.generation.plan_files import PLAN_SCHEMA
from userturn.generation.scorer import SCORING_PLAN_SCHEMA
from userturn.prompts.examples import user
from userturn.prompts.load_template import load_template
from userturn.sources.registry import asked
from userturn.sources.scores import HUMAN_TURNS, scores_path
from userturn.sources.source import SCORES
from userturn.storage.journal import Writer
from userturn.storage.table_files import write_table
from userturn.study.grid import Grid
from userturn.study.record import record_study
from userturn.workflow.study_size import dataset_sizes, load_of_model


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A study of 5 items, 1 model, 2 temperatures and 2 perturbations, with 3 samples."""
    shutil.copy(ROOT / "config.yaml", tmp_path)
    shutil.copytree(ROOT / "data", tmp_path / "data")
    study = yaml.safe_load((ROOT / "tests" / "support" / "study.yaml").read_text())
    study |= {"samples": 3, "answer": {"max_tokens": 10}, "user_turn": {"max_tokens": 20}}
    (tmp_path / "study.yaml").write_text(yaml.safe_dump(study))
    (tmp_path / "models" / "tiny").mkdir(parents=True)
    (tmp_path / "models" / "tiny" / "weights").touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def grid_of(project: Path) -> Grid:
    return Grid(load_config(["config.yaml", "study.yaml"]))


def test_plan_counts_requests_tokens_and_judge_calls(project: Path) -> None:
    text = text_of(plan(["study.yaml"], "results"))
    # 5 answers; 5 items x 2 perturbations x (1 greedy + 3 sampled) = 40 turns;
    # written at most 5 x 10 + 40 x 20 = 850 tokens.
    assert "1 model x 1 dataset x 2 temperatures x 2 perturbations = 4 cells" in text
    row = next(line for line in text.splitlines() if line.startswith("tiny "))
    words = row.split()
    assert (words[1], words[2], words[4], " ".join(words[5:])) == ("5", "40", "850", "1 x 0")
    assert ["heuristic", "40", "free"] in [line.split() for line in text.splitlines()]


def test_plan_counts_the_turns_that_are_judged_again(project: Path) -> None:
    study = yaml.safe_load((project / "study.yaml").read_text())
    study["controls"]["chance_floor"] = 6
    study["run"]["perturbations"].append("header_only")
    (project / "study.yaml").write_text(yaml.safe_dump(study))
    # 5 items x 3 perturbations x (1 greedy + 3 sampled) = 60 turns. Judged again: 5 of 5 greedy and
    # 6 of 15 sampled turns under each of two perturbations; a control has no chance floor.
    (judge,) = plan(["study.yaml"], "results").numbers["judges"]
    assert (judge["calls"], judge["cost_at_most"]) == (82, 0)


def test_plan_says_where_no_tokenizer_is_at_hand(project: Path) -> None:
    assert "tiny: its tokenizer is not downloaded yet" in text_of(plan(["study.yaml"], "results"))


def test_plan_shows_the_first_prompt_with_its_boundaries(project: Path) -> None:
    write_tiny_model(project / "models" / "tiny")
    text = text_of(plan(["study.yaml"], "results"))
    assert "⟦<|im_end|>\n<|im_start|>user\n⟧\n  the user turn stops at" in text


def test_shown_prompt_marks_the_template_s_own_text(tmp_path: Path) -> None:
    template = load_template(write_tiny_model(tmp_path), {"enable_thinking": False}, "2026-04-02")
    assert "⟦<|im_start|>user\n⟧Say <|im_end|>.⟦<|im_end|>\n<|im_start|>assistant\n⟧" in (
        shown_prompt(template, [user("Say <|im_end|>.")])
    )


def write_items_and_answers(project: Path, now: float) -> None:
    """Plan 5 answers; 2 are done, 1 failed, 1 could not be asked, 1 is pending."""
    grid = grid_of(project)
    names = [str(i) for i in range(5)]
    columns = {"item": names, "messages": [[user("?")]] * 5, "reference_context": [None] * 5,
               "reference_user_turn": [None] * 5}  # fmt: skip
    items = pl.DataFrame(columns)
    write_table(items, grid.dataset_path("word-problems"), "x")
    identity = grid.answers_identity("tiny", "word-problems")
    keys = ["a0", "a1", "a2", "a3", None]
    rows = [{"position": i, "item": str(i), "sample": 0, "key": key} for i, key in enumerate(keys)]
    path = grid.requests_folder("tiny", "word-problems", identity) / "1of1.parquet"
    write_table(pl.DataFrame(rows, schema=PLAN_SCHEMA), path, identity)
    text = 'it says "key":"a3","outcome":"ok" here'
    with Writer(grid.journal_folder("tiny", "word-problems")) as writer:
        for key, outcome, ids in (("a0", "ok", [1, 2]), ("a1", "empty", []), ("a2", "error", [])):
            writer.append({"key": key, "outcome": outcome, "text": text, "token_ids": ids})
    began = datetime.fromtimestamp(now - 4, UTC).strftime("%Y%m%dT%H%M%SZ")
    renamed = writer.path.rename(writer.path.with_name(f"{began}-x.jsonl"))
    with renamed.open("ab") as file:
        file.write(b'{"checksum":"0","key":"a3","outc')  # a line that is being written
    os.utime(renamed, (now, now))


def test_status_counts_done_pending_and_failed(project: Path) -> None:
    now = datetime(2026, 4, 2, tzinfo=UTC).timestamp()
    write_items_and_answers(project, now)
    answers, turns = text_of(status(["study.yaml"], "results", now)).splitlines()[2:]
    assert answers.split()[:5] == ["tiny", "answers", "2", "1", "2"]
    assert turns.split()[:6] == ["tiny", "user", "turns", "0", "40", "0"]
    # 3 records and 2 tokens in 4 seconds: 40 turns take 53 s, a minute.
    assert turns.endswith("0 tokens/s, about 1 min left")


def test_status_says_when_nobody_is_at_work(project: Path) -> None:
    now = datetime(2026, 4, 2, tzinfo=UTC).timestamp()
    write_items_and_answers(project, now)
    assert text_of(status(["study.yaml"], "results", now + 3600)).endswith("not running")


def test_status_names_the_job_that_is_at_work_on_a_model(project: Path) -> None:
    path = project / "results" / "leases" / "tiny" / "1of1.000002.json"
    path.parent.mkdir(parents=True)
    owner = {"user": "ada", "node": "gpu7", "job": "17", "pid": 1, "gpus": "0,1"}
    path.write_text(json.dumps({"owner": owner, "beat": 3, "released": False}))
    os.utime(path, (1000, 1000))
    last = text_of(status(["study.yaml"], "results", now=1004.0)).splitlines()[-1]
    told = "shard 1of1: SLURM job 17 of ada on gpu7, GPUs 0,1, lease renewed 4 s ago"
    assert last == f"tiny: {told}"


def test_status_has_a_line_for_each_judge_with_its_money_and_all_of_it_beside_the_cap(
    project: Path,
) -> None:
    study = yaml.safe_load((project / "study.yaml").read_text())
    limited = {"kind": "endpoint", "base_url": "http://h/v1", "model": "m",
               "settings": {"max_tokens": 9}}  # fmt: skip
    priced = limited | {"price": {"input": 1.0, "output": 10.0}}
    (project / "study.yaml").write_text(
        yaml.safe_dump(study | {"judges": {"paid": priced, "free": limited}, "max_cost": 5})
    )
    grid = grid_of(project)
    most = largest_request(1_000, 9)
    usage = {"prompt_tokens": 100_000, "completion_tokens": 10_000}
    for judge, price in (
        ("paid", priced["price"]), ("paid", priced["price"]), ("free", None),
        ("gone", {"input": 2.0, "output": 2.0}),
    ):  # fmt: skip
        with Account(grid.accounts_folder, judge, "cells/x", price) as account:
            account.send(largest_request(100_000, 10_000))
            account.settle(largest_request(100_000, 10_000), usage)
            account.decided()
            account.send(most)  # still in flight: a token a byte, and 9
    lines = [line.split() for line in text_of(status(["study.yaml"], "results")).splitlines()[-6:]]
    del lines[1]  # the line between heads and rows
    assert lines[0] == ["judge,", "or", "model", "requests", "in", "flight", "decided", "cost"]
    # 110,000 tokens for 0.1 + 0.1, and 0.001 + 0.00009 of each request in flight.
    assert " ".join(lines[1]) == "free 2 1 1 no price in its entry"
    assert " ".join(lines[2]) == "gone 2 1 1 0.2220, not in the config any more"
    assert lines[3] == ["paid", "4", "2", "2", "0.4022"]
    assert lines[4] == ["all", "together", "0.6242", "of", "max_cost", "5"]
    assert status(["study.yaml"], "results").numbers["cost"] == pytest.approx(0.624198)


def test_plan_counts_scores_in_what_a_served_model_costs(project: Path) -> None:
    study = yaml.safe_load((project / "study.yaml").read_text())
    entry = {"source": "./models/tiny", "endpoint": "http://h/v1", "max_model_len": 1024,
             "price": {"input": 1_000_000, "output": 0}}  # fmt: skip
    study |= {"models": {"served": entry}, "run": study["run"] | {"models": ["served"]}}
    costs = []
    for likelihood in (False, {"datasets": [], "turns": 3, "distractors": 1}):
        (project / "study.yaml").write_text(yaml.safe_dump(study | {"likelihood": likelihood}))
        (cost,) = re.findall(
            r"at http://h/v1, about ([\d,.]+) USD with", text_of(plan(["study.yaml"], "results"))
        )
        costs.append(float(cost.replace(",", "")))
    grid = grid_of(project)
    n_tokens = load_of_model(grid, "served", dataset_sizes(grid))[SCORES].n_read
    assert n_tokens > 0 and abs(costs[1] - costs[0] - n_tokens) <= 1


def test_status_is_shown_until_nothing_is_left_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    pending = [2, 1, 0]
    waits: list[int] = []

    def show() -> Output:
        left = pending.pop(0)
        return Output([f"{left} left"], {"requests": [{"pending": left}]})

    last = watched(show, lambda: waits.append(1), is_silent=False)
    assert (list(last.parts), len(waits)) == (["0 left"], 2)
    assert capsys.readouterr().out == "2 left\n\n1 left\n\n"


def test_plan_names_the_key_that_a_judge_of_the_run_lacks(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = yaml.safe_load((project / "study.yaml").read_text())
    entry = {"kind": "endpoint", "base_url": "http://h/v1", "model": "m", "key_variable": "NO_KEY"}
    study |= {"judges": {"paid": entry, "other": entry | {"key_variable": "OTHER_KEY"}}}
    study["run"]["judges"] = ["heuristic", "paid"]
    (project / "study.yaml").write_text(yaml.safe_dump(study))
    monkeypatch.delenv("NO_KEY", raising=False)
    first, counted, *_ = text_of(plan(["study.yaml"], "results")).splitlines()
    missing = "judge 'paid' needs the environment variable NO_KEY, which is not set"
    assert first.startswith(f"FAIL key of judge paid: {missing}")
    assert counted.endswith("checks passed, 1 would fail")
    monkeypatch.setenv("NO_KEY", "a-key-of-enough-characters")
    (counted, *_), checks = (
        (found := plan(["study.yaml"], "results")).parts,
        found.numbers["checks"],
    )
    assert counted == f"{len(checks)} checks passed"
    assert "key of judge paid" in [one.what for one in checks]


def test_costs_of_a_plan_are_in_the_currency_of_the_study(project: Path) -> None:
    study = yaml.safe_load((project / "study.yaml").read_text()) | {"max_cost": 7}
    (project / "study.yaml").write_text(yaml.safe_dump(study))
    assert "before they cost 7.00 USD together" in text_of(plan(["study.yaml"], "results"))
    (project / "study.yaml").write_text(yaml.safe_dump(study | {"currency": "EUR"}))
    text = text_of(plan(["study.yaml"], "results"))
    assert "before they cost 7.00 EUR together" in text and "cost in EUR" in text


def test_status_of_a_study_that_has_not_begun_has_nothing_done(project: Path) -> None:
    lines = text_of(status(["study.yaml"], "results")).splitlines()[2:]
    assert [line.split()[-5:] for line in lines] == [["0", "0", "0", "not", "begun"]] * 2


def test_status_is_of_the_study_that_the_folder_records(project: Path) -> None:
    config = load_config(["config.yaml", "study.yaml"])
    record_study(config, "identity", "results/study.json")
    assert [row["model"] for row in status([], "results").numbers["requests"]] == ["tiny", "tiny"]


def test_status_of_a_results_folder_needs_nothing_beside_it(
    project: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    turn_on_likelihood(project)
    record_study(load_config(["config.yaml", "study.yaml"]), "identity", "results/study.json")
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    shutil.move(project / "results", elsewhere / "results")
    monkeypatch.chdir(elsewhere)
    shutil.rmtree(project / "data")
    stages = [row["stage"] for row in status([], "results").numbers["requests"]]
    assert stages == ["answers", "user turns", "scores"]


def turn_on_likelihood(project: Path) -> None:
    study = yaml.safe_load((project / "study.yaml").read_text())
    study["likelihood"] = {"datasets": ["follow-ups"], "turns": 2, "distractors": 3}
    study["datasets"]["follow-ups"] = study["datasets"]["word-problems"] | {"limit": 4}
    (project / "study.yaml").write_text(yaml.safe_dump(study))


def test_plan_counts_the_requests_and_tokens_of_scores(project: Path) -> None:
    turn_on_likelihood(project)
    question = [{"role": "user", "content": "x" * 100}]
    answer = {"role": "assistant", "content": "y" * 60}
    table = {
        "item": ["a", "b", "c"],
        "messages": [question] * 3,
        "reference_context": [[*question, answer]] * 2 + [None],
        "reference_user_turn": ["z" * 40] * 2 + [None],
    }
    write_table(pl.DataFrame(table), grid_of(project).dataset_path("follow-ups"), "x")
    told = text_of(plan(["study.yaml"], "results")).splitlines()
    human, own = (
        next(line.split() for line in told if f" {turns} " in line)
        for turns in ("human_turns", "own_turns")
    )
    # Two follow-ups, each after its own context, under the assistant's header, and after the one
    # other answer and conversation that there is: 8 requests of 200 characters, 50 tokens.
    assert human == ["follow-ups", "human_turns", "8", "400", "tiny"]
    # 2 turns of 4 cells after their own answer and 3 others.
    assert own[:3] == ["word-problems", "own_turns", "32"]


def test_plan_counts_the_follow_ups_of_a_file_that_is_not_prepared(project: Path) -> None:
    turn_on_likelihood(project)
    study = yaml.safe_load((project / "study.yaml").read_text())
    fields = {"id": "id", "messages": "messages"}
    own = {"file": "own.jsonl", "fields": fields, "verifier": "none", "condition": "gold_context"}
    study["datasets"]["follow-ups"] = own
    (project / "study.yaml").write_text(yaml.safe_dump(study))
    roles, lengths = ("user", "assistant", "user"), (100, 60, 40)
    with (project / "own.jsonl").open("w") as file:
        for name in "ab":
            said = [{"role": r, "content": name * n} for r, n in zip(roles, lengths, strict=True)]
            file.write(json.dumps({"id": name, "messages": said}) + "\n")
    told = text_of(plan(["study.yaml"], "results")).splitlines()
    (human,) = (line.split() for line in told if " human_turns " in line)
    assert human == ["follow-ups", "human_turns", "8", "400", "tiny"]  # as if it were prepared


def test_status_counts_scores_and_keeps_their_speed_apart(project: Path) -> None:
    turn_on_likelihood(project)
    now = datetime(2026, 4, 2, tzinfo=UTC).timestamp()
    write_items_and_answers(project, now)
    grid = grid_of(project)
    identity = asked(grid)[scores_path("tiny", "follow-ups", HUMAN_TURNS)].identity
    rows = [
        {"position": i, "item": "0", "context": kind, "key": key}
        for i, (kind, key) in enumerate([("own", "s0"), ("other_answer", "s1"), ("x", None)])
    ]
    for shard in ("1of1", "1of2"):  # the shards were changed: a row in two plans counts once
        path = grid.requests_folder("tiny", "follow-ups", identity) / f"{shard}.parquet"
        write_table(pl.DataFrame(rows, schema=SCORING_PLAN_SCHEMA), path, identity)
    with Writer(grid.journal_folder("tiny", "follow-ups")) as writer:
        writer.append({"key": "s0", "outcome": "ok", "logprobs": [-1.0] * 8})
    began = datetime.fromtimestamp(now - 2, UTC).strftime("%Y%m%dT%H%M%SZ")
    renamed = writer.path.rename(writer.path.with_name(f"{began}-x.jsonl"))
    os.utime(renamed, (now, now))
    answers, _, scores = text_of(status(["study.yaml"], "results", now)).splitlines()[2:]
    # 3 planned scores and 32 of own turns to come; 8 tokens in 2 seconds, and 4 seconds of answers.
    assert scores.split()[:5] == ["tiny", "scores", "1", "33", "1"]
    assert " 4 tokens/s" in scores and " 0 tokens/s" in answers


def test_plan_and_status_say_the_same_numbers_of_every_source(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The wider demo has candidates, self-play and turns of conversations."""
    monkeypatch.chdir(ROOT)
    files = ["profiles/demo/study.yaml", "profiles/demo/wider.yaml"]
    grid = Grid(load_study(files), tmp_path)
    for name in grid.prepared_datasets:
        settings, identity = grid.dataset_settings(name), grid.dataset_identity(name)
        prepare_dataset(settings, identity, grid.dataset_path(name))
    requests = status(files, str(tmp_path)).numbers["requests"]
    pending = {row["stage"]: row["pending"] for row in requests}
    planned = plan(files, str(tmp_path))
    (row,) = planned.numbers["models"]
    left = f"at most {row['answers']} answers, at most {row['user_turns']} user turns,"
    assert f"smollm2-135m             {left}" in text_of(planned)
    assert (pending["answers"], pending["user turns"]) == (row["answers"], row["user_turns"])
    # 139 items, 63 conversations at two further depths, 3 further candidates of 76 graded items.
    assert row["answers"] == 139 + 2 * 63 + 3 * 76
    # After all 139 answers and 32 reference ones; the first candidate's turn is the cell's.
    assert row["user_turns"] == 139 + 32 + 2 * 63 + 3 * 76


def test_no_study_in_a_folder_is_one_sentence_and_exit_code_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["plan"]) == 1
    assert capsys.readouterr().err == (
        "error: no study is in this folder (it has no 'config.yaml'); change to a study's folder, "
        "or make one: `userturn run MODEL`, or `userturn new FOLDER`\n"
    )


def test_results_that_are_not_there_or_no_folder_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "results").mkdir()
    (tmp_path / "notes.txt").touch()
    assert main(["status", "--results", "result"]) == 1
    assert "correct the path, did you mean 'results'?" in capsys.readouterr().err
    assert main(["status", "--results", "notes.txt"]) == 1
    assert "'notes.txt' is a file, expected a folder" in capsys.readouterr().err

"""Several answers an item: each is asked, shown, scored and graded once, and more ask only new."""

import shutil
from contextlib import chdir
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.support.collected import collect_answers, collect_user_turns
from tests.support.collected import swept as swept_by
from tests.support.findings_of import findings_of, said_of
from tests.support.snakemake_runs import ROOT
from tests.support.tiny_grid import tiny_grid
from userturn.audit.check_prompts import check_prompts
from userturn.audit.check_rows import check_rows
from userturn.audit.check_verdicts import check_grades
from userturn.audit.findings import Finding
from userturn.audit.pair import Pair
from userturn.generation.collect import CANDIDATES_SCHEMA, collect_table, table_of
from userturn.generation.scores import reaction_signals
from userturn.grading.grade import CANDIDATE_GRADES_SCHEMA, grade
from userturn.models.requests import AnyRequest, ScoringRequest
from userturn.prompts.perturbations import NO_ANSWER
from userturn.sources.answers import answers_path
from userturn.sources.candidates import REACTIONS, table_path
from userturn.sources.registry import artifacts, asked
from userturn.sources.scores import scores_path
from userturn.sources.source import ANSWERS, USER_TURNS
from userturn.study.grid import Grid
from userturn.study.record import record_study, study_record
from userturn.workflow.pending import Pending

N_ITEMS = 3
PAIR = ("tiny", "items")
TABLES = [table_path(*PAIR, kind) for kind in (ANSWERS, USER_TURNS)]


def study(folder: Path, n: int, **more: Any) -> Grid:
    """Return the grid of `tiny` with n answers an item, in the same folder for any n."""
    run = {"temperatures": [0], "perturbations": ["none"]}
    answer = {"temperature": 0.7, "top_p": 1.0, "top_k": 0, "presence_penalty": 0}
    answer |= {"max_tokens": 64, "samples": n}
    grid = tiny_grid(folder, N_ITEMS, run=run, answer=answer, **more)
    grid.datasets["items"]["verifier"] = "numeric"
    return grid


def sweep(grid: Grid, shard: str = "1of1") -> list[AnyRequest]:
    """Do what a sweep does, and return what it asked."""
    wanted = Pending(grid).identities("tiny")
    asked_for = swept_by(grid, "tiny", shard, wanted, lambda one: f"Answer: {one.sampling.seed}")
    for of in TABLES:
        path = grid.results / of.removeprefix("results/")
        path.parent.mkdir(parents=True, exist_ok=True)
        collect_table(grid, asked(grid)[of], str(path))
    return asked_for


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Grid:
    """A grid with two answers an item, swept, collected and graded."""
    with chdir(ROOT):
        grid = study(tmp_path_factory.mktemp("study"), 2)
        sweep(grid)
        (cell,) = grid.cells
        collect_answers(grid, *PAIR, str(grid.results / "answers/tiny/items.parquet"))
        collect_user_turns(
            grid, cell, str(grid.results / f"cells/{cell.folder}/user_turns.parquet")
        )
    folder, items = grid.results / "candidates/tiny/items", str(grid.dataset_path("items"))
    grades = artifacts(grid)["results/candidates/tiny/items/grades.parquet"]
    grade("numeric", grades, 1, f"{folder}/answers.parquet", items, f"{folder}/grades.parquet")
    return grid


@pytest.mark.slow
def test_more_answers_ask_only_what_is_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Per item and further answer: the answer, a turn, itself scored, and six reactions."""
    monkeypatch.chdir(ROOT)
    n_asked = [len(sweep(study(tmp_path, n))) for n in (2, 4)]
    first = 2 * N_ITEMS  # the answers and turns of the grid, which are those of the first candidate
    assert n_asked[0] == first + N_ITEMS * (1 + 1) + 2 * N_ITEMS * 7
    assert n_asked[1] == 2 * N_ITEMS * (1 + 1 + 7)
    assert sweep(study(tmp_path, 4)) == []


@pytest.mark.slow
def test_likelihood_in_other_shards_scores_turns_after_candidates_and_asks_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    sweep(study(tmp_path, 2))
    more = study(tmp_path, 2, likelihood={"datasets": [], "turns": N_ITEMS, "distractors": 1})
    more.models["tiny"]["shards"] = 2
    requests = [request for shard in more.shards("tiny") for request in sweep(more, shard)]
    assert requests and all(isinstance(request, ScoringRequest) for request in requests)
    path = str(tmp_path / "scores.parquet")
    collect_table(more, asked(more)[scores_path(*PAIR, REACTIONS)], path)
    found = pl.read_parquet(path).group_by("item", "sample").agg(pl.col("context").sort())
    own = [list(row) for row in found["context"] if "own" in row]
    assert own and all(row.count("own") == row.count("other_answer") == 1 for row in own)


@pytest.mark.slow
def test_the_first_candidate_is_the_answer_and_each_is_shown_before_its_own_turn(
    swept: Grid,
) -> None:
    answers, turns = (pl.concat(table_of(swept, asked(swept)[path])) for path in TABLES)
    assert answers.height == turns.height == 2 * N_ITEMS
    assert turns["answer"].to_list() == answers["answer"].to_list()
    assert answers["answer"].n_unique() == 2 * N_ITEMS
    own = pl.concat(table_of(swept, asked(swept)[answers_path(*PAIR)]))
    assert answers.filter(pl.col("sample") == 0)["key"].to_list() == own["key"].to_list()
    assert dict(answers.schema) == CANDIDATES_SCHEMA


def test_candidates_are_scored_and_graded_by_item_and_sample(swept: Grid, tmp_path: Path) -> None:
    path = str(tmp_path / "scores.parquet")
    with chdir(ROOT):
        collect_table(swept, asked(swept)[scores_path(*PAIR, REACTIONS)], path)
    signals = reaction_signals(pl.read_parquet(path))
    assert signals.height == 2 * N_ITEMS
    assert set(signals["mean log-probability"]) == {-1.0}
    grades = pl.read_parquet(swept.results / "candidates/tiny/items/grades.parquet")
    assert grades["sample"].to_list() == [0, 1] * N_ITEMS
    assert dict(grades.schema) == CANDIDATE_GRADES_SCHEMA


@pytest.mark.slow
def test_with_the_tokenizer_an_audit_renders_and_decodes_candidates_again(
    swept: Grid, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    record_study(swept.config, "i", str(swept.results / "study.json"))
    monkeypatch.chdir(swept.results.parent)  # of one's own study a model may be anywhere
    shutil.copy(ROOT / "config.yaml", "config.yaml")
    assert said_of(check_prompts(swept.results)) == []
    for name in ("answers", "user_turns"):
        path = swept.results / "candidates/tiny/items" / f"{name}.parquet"
        whole = path.read_bytes()
        first = pl.int_range(pl.len()) == 0
        text = pl.when(first).then(pl.lit("Is it raining?")).otherwise("text")
        pl.read_parquet(path).with_columns(text=text).write_parquet(path)
        (found,) = said_of(check_prompts(swept.results))
        path.write_bytes(whole)
        assert isinstance(found, Finding) and found.found == "another text"
        assert found.artifact == f"results/candidates/tiny/items/{name}.parquet"


def test_an_audit_finds_a_turn_after_a_candidate_that_was_never_asked_for(
    swept: Grid, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Plan and table say that there was no answer to show, though there is one."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(swept, "judges", {})
    pair = Pair(swept, study_record(swept.config, swept.contents), *PAIR, True, frozenset())
    of = asked(swept)[TABLES[1]]
    folder = swept.requests_folder(*PAIR, of.identity)
    paths = (folder / "1of1.parquet", swept.results / of.path.removeprefix("results/"))
    whole = {path: path.read_bytes() for path in paths}
    for path in paths:
        table, first = pl.read_parquet(path), pl.int_range(pl.len()) == 0
        none = {n: pl.when(~first).then(n) for n in ("key", "answer", "change")}
        error = pl.when(first).then(pl.lit(NO_ANSWER)).otherwise("error")
        table.with_columns(**none, error=error).write_parquet(path)
    found = findings_of(check_rows(pair))
    for path, content in whole.items():
        path.write_bytes(content)
    assert "probes" in {finding.check for finding in found}


def test_an_audit_finds_an_edited_candidate(swept: Grid, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(swept, "judges", {})
    contents = study_record(swept.config, swept.contents)
    pair = Pair(swept, contents, *PAIR, True, frozenset())
    assert findings_of(check_rows(pair)) == []
    graded = {item.artifact for item in findings_of(check_grades(pair, np.random.default_rng(0)))}
    assert graded == {"results/grades/tiny/items.parquet"}  # which this study has not
    path = swept.results / "candidates/tiny/items/answers.parquet"
    table = pl.read_parquet(path)
    edited = pl.Series("answer", ["Answer: 12", *table["answer"][1:]])
    table.with_columns(edited).write_parquet(path)
    found = findings_of(check_rows(replace(pair)))
    assert {finding.check for finding in found} >= {"rows", "probes"}

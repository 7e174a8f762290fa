"""Scores of a study: a kill while scoring loses and repeats nothing, and a forged score is found.

The finished study of all tests was made without likelihood. Here it is turned on, so that nothing
but scores is missing.
"""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tests.support.snakemake_runs import ROOT, journal_lines, n_requests
from tests.workflow.test_rerun import N_FINISHED, change_study
from tests.workflow.test_rerun_samples import change_row
from userturn.audit.check_reruns import other_scores
from userturn.audit.rerun_requests import rescore
from userturn.config.load import load_config
from userturn.generation.collect import collect_table
from userturn.sources.registry import asked
from userturn.sources.scores import OWN_TURNS, scores_path
from userturn.study.grid import Grid
from userturn.study.record import record_study

pytestmark = pytest.mark.slow

N_BEFORE = 7
ALL = 1000
SCORES = Path("results", "likelihood", "tiny", "word-problems", "own_turns.parquet")


def sweep(folder: Path, *arguments: str) -> int:
    """Sweep a study in a process of its own and return its exit code."""
    command = [sys.executable, "-m", "tests.support.killed_while_scoring", *arguments]
    paths = f"{ROOT / 'src'}:{ROOT}"
    return subprocess.run(command, cwd=folder, env=os.environ | {"PYTHONPATH": paths}).returncode


@pytest.fixture(scope="module")
def scored(finished_study: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study whose sweep was killed while it scored, went on, and gathered its scores."""
    folder = Path(shutil.copytree(finished_study, tmp_path_factory.mktemp("scored") / "study"))
    change_study(folder, likelihood={"datasets": [], "turns": 3, "distractors": 1})
    assert sweep(folder, str(N_BEFORE)) == -signal.SIGKILL
    assert len(journal_lines(folder)) == N_FINISHED + N_BEFORE
    assert sweep(folder) == 0
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        config = load_config(["config.yaml", "study.yaml"])
        grid = Grid(config)
        scored = asked(grid)[scores_path("tiny", "word-problems", OWN_TURNS)]
        collect_table(grid, scored, str(SCORES))
        record_study(config, "i", "results/study.json")
    return folder


def test_a_kill_while_scoring_loses_and_repeats_nothing(scored: Path) -> None:
    scores = pl.read_parquet(scored / SCORES)
    assert scores["error"].null_count() == scores["logprob"].count() == scores.height
    # Equal texts are scored once. `n_requests` fails if a line of the journal repeats a key.
    assert n_requests(scored) == N_FINISHED + scores["key"].n_unique()
    assert scores["key"].n_unique() > N_BEFORE


def test_every_score_is_given_again_and_forged_ones_are_found(scored: Path) -> None:
    """Row 0 gets a key that no plan has, row 1 a total, row 2 the score of a token."""
    table, path = pl.read_parquet(scored / SCORES), scored / SCORES
    logprobs = table["logprobs"][2].to_list()
    forged = [logprobs[0] + 0.1, *logprobs[1:]]
    change_row(path, 0, key="0" * 64)
    change_row(path, 1, logprob=table["logprob"][1] + 5.0 * table["n_tokens"][1])
    change_row(path, 2, logprobs=forged, logprob=sum(forged))
    found = rescore(scored / "results", ALL, np.random.default_rng(1))
    assert found.table["equal_scores"].to_list() == [
        None,
        False,
        False,
        *[True] * (table.height - 3),
    ]
    assert found.table.drop_nulls("reason")["row"].to_list() == [0]
    findings = list(other_scores(found))
    assert [f.found for f in findings] == ["another in row 1", "another in row 2"]
    assert {(f.check, f.artifact) for f in findings} == {("regenerate", SCORES.as_posix())}

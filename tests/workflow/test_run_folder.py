"""A job that fails leaves what it made before, and is run again until it succeeds."""

from pathlib import Path

import pytest

from tests.support.snakemake_runs import n_requests, planned, run, snakemake
from tests.workflow.test_rerun import N_FINISHED
from userturn.audit.run import audit

pytestmark = pytest.mark.slow

DATA = "data/demo/word_problems.jsonl"
PREPARED = "results/datasets/word-problems.parquet"


def test_a_torn_row_takes_no_table_away_and_is_told_until_it_is_mended(study: Path) -> None:
    before, rows = (study / PREPARED).read_bytes(), (study / DATA).read_text()
    (study / DATA).write_text(rows.rstrip("\n")[:-5])
    for _ in range(2):  # the failed job has left no sign that it is finished
        done = snakemake(study)
        assert done.returncode == 1 and "word_problems.jsonl" in done.stdout, done.stdout
        assert (study / PREPARED).read_bytes() == before
        assert not (study / "results" / ".kept").exists()
        assert "missing" not in {finding.check for finding in audit(study / "results").findings}
    (study / DATA).write_text(rows)
    run(study)
    assert (study / PREPARED).read_bytes() == before
    assert n_requests(study) == N_FINISHED and not planned(study)
    assert audit(study / "results").findings == []


def test_what_a_killed_run_took_away_comes_back_with_the_next_one(study: Path) -> None:
    kept = study / "results" / ".kept" / "datasets" / "word-problems.parquet"
    before = (study / PREPARED).read_bytes()
    kept.parent.mkdir(parents=True)
    (study / PREPARED).rename(kept)
    (study / DATA).write_text("{")
    assert snakemake(study).returncode == 1
    assert (study / PREPARED).read_bytes() == before and not kept.exists()

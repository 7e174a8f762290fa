"""Controls and labelled turns are made again by an audit, and judged again."""

import shutil
from pathlib import Path

import polars as pl
import pytest

from tests.support.forgery import first_row, forge, rewrite
from tests.support.snakemake_runs import copy_project, run
from userturn.audit.findings import Finding
from userturn.audit.result import Audit
from userturn.audit.run import audit

pytestmark = pytest.mark.slow

CONTROLS = "controls: {human: [], planted: 3, chance_floor: 3, labelled: true}"


@pytest.fixture(scope="module")
def with_controls(finished_study: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project of a finished study whose judge has labelled controls too."""
    folder = tmp_path_factory.mktemp("with_controls") / "project"
    shutil.copytree(finished_study, folder)
    settings = folder / "study.yaml"
    lines = settings.read_text().splitlines()
    kept = [CONTROLS if line.startswith("controls:") else line for line in lines]
    settings.write_text("\n".join(kept) + "\n")
    run(folder)
    return folder


@pytest.fixture
def results(with_controls: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the study's results, far from any project."""
    monkeypatch.chdir(tmp_path)
    return Path(shutil.copytree(with_controls / "results", tmp_path / "results"))


@pytest.fixture
def project(results: Path, tmp_path: Path) -> Path:
    """The copy with its project around it."""
    folder = copy_project(tmp_path / "project")
    return Path(shutil.move(results, folder / "results"))


def named(results: Path, path: str) -> list[Finding]:
    """Return the findings about one file."""
    return [found for found in audit(results).findings if found.artifact == f"results/{path}"]


PLANTED = "controls/tiny/word-problems"


def not_compared(done: Audit) -> set[str]:
    """Return the artifacts that an audit did not compare."""
    return {of.artifact for of in done.statuses if of.state == "not compared"}


def test_honest_controls_give_no_finding_with_their_texts_or_without(
    results: Path, tmp_path: Path
) -> None:
    away = audit(results)
    assert away.findings == [] and f"results/{PLANTED}/user_turns.parquet" in not_compared(away)
    folder = copy_project(tmp_path / "project")
    shutil.copytree(results, folder / "results")
    beside = audit(folder / "results")
    assert beside.findings == []
    assert not_compared(beside) == set()


def test_a_planted_turn_that_was_emptied_is_found(project: Path) -> None:
    path = f"{PLANTED}/user_turns.parquet"
    rewrite(project / path, first_row(text="", outcome="empty"))
    forge(project, path, everywhere=True)
    assert {finding.check for finding in named(project, path)} == {"controls"}


def test_a_verdict_on_a_planted_turn_is_given_again(results: Path) -> None:
    path = f"{PLANTED}/verdicts/heuristic.parquet"
    rewrite(results / path, lambda table: table.with_columns(genuine=pl.lit(False)))
    forge(results, path, everywhere=True)
    assert {finding.check for finding in named(results, path)} == {"verdicts"}


@pytest.mark.parametrize("path", [f"{PLANTED}/user_turns.parquet", "labelled/user_turns.parquet"])
def test_turns_made_with_the_texts_of_the_project_are_made_again_beside_it(
    project: Path, path: str
) -> None:
    def reworded(table: pl.DataFrame) -> pl.DataFrame:
        is_made = pl.col("perturbation").is_in(["noise_75", "labelled"])
        return table.with_columns(text=pl.when(is_made).then(pl.lit("Why?")).otherwise("text"))

    rewrite(project / path, reworded)
    forge(project, path, everywhere=True)
    assert "controls" in {finding.check for finding in named(project, path)}

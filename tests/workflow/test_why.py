"""`userturn why` tells what made a file, whether it still stands, and what would make it anew."""

import re
from pathlib import Path

import polars as pl
import pytest

from tests.support.printed_output import text_of
from tests.workflow.test_rerun import change_study
from userturn.cli.why import why
from userturn.errors import UserError
from userturn.storage.table_files import write_table

pytestmark = pytest.mark.slow

TURNS = "results/cells/tiny/word-problems/t0/truncate/user_turns.parquet"
UNCHANGED = "made again  no: nothing it depends on has changed"


def told(study: Path, name: str) -> str:
    return text_of(why(str(study / name), [str(study / "study.yaml")]))


def test_cell_is_told_with_rule_settings_and_inputs(finished_study: Path) -> None:
    text = told(finished_study, TURNS)
    wildcards = "dataset word-problems, model tiny, perturbation truncate, temperature 0"
    assert f"rule        collect_user_turns: {wildcards}" in text
    for line in (
        "model tiny.engine: transformers",
        "perturbation truncate.keep: 0.5",
        "user_turn.max_tokens: 12",
        "dataset word-problems.limit: 5",
        UNCHANGED,
    ):
        assert line in text
    assert re.search(r"results/sweeps/tiny/1of1.json [0-9a-f]{12}, the same", text)


def test_every_file_of_a_finished_study_has_a_reason_and_none_to_be_made_again(
    finished_study: Path,
) -> None:
    results = finished_study / "results"
    files = [
        *results.glob("tables/rates.*"),
        *results.glob("report/data/*.js"),
        *results.glob("journal/**/*.jsonl"),
        *results.glob("requests/**/*.parquet"),
        *results.glob("humans/first/task.html"),
        results / "study.json",
    ]
    assert len(files) >= 2 + 5 + 2 + 5 + 1 + 1
    for path in files:
        assert UNCHANGED in told(finished_study, str(path)), path


def test_altered_file_is_told_with_both_hashes(study: Path) -> None:
    (study / TURNS).write_bytes((study / TURNS).read_bytes() + b" ")
    assert re.search(r"it was altered later: now [0-9a-f]{12}, made as", told(study, TURNS))


def test_missing_file_is_told(study: Path) -> None:
    (study / TURNS).unlink()
    assert "made again  it is missing" in told(study, TURNS)


def test_changed_input_is_named(study: Path) -> None:
    path = study / "results/datasets/word-problems.parquet"
    write_table(pl.read_parquet(path).head(4), path, "other")
    text = told(study, "results/grades/tiny/word-problems.parquet")
    changed = r"made again  input results/datasets/word-problems.parquet: now [0-9a-f]{12}, was"
    assert re.search(changed, text)


def test_changed_settings_are_named_with_both_values(study: Path) -> None:
    change_study(study, perturbations={"truncate": {"keep": 0.25}})
    text = told(study, TURNS)
    assert "is now asked for" in text
    assert "perturbation truncate.keep: 0.5 then, 0.25 now" in text
    assert text.count(" then, ") == 1
    assert UNCHANGED in told(study, TURNS.replace("truncate", "none"))


def test_cell_that_the_configuration_no_longer_asks_for_is_told(study: Path) -> None:
    change_study(study, run__perturbations=["none"])
    assert "asks for no" in told(study, TURNS)


def test_without_configuration_files_the_study_s_own_record_is_believed(study: Path) -> None:
    assert "no, by the configuration that the study was run with" in text_of(
        why(str(study / TURNS))
    )


def test_a_record_whose_model_is_not_here_is_no_reason_to_make_a_file_again(study: Path) -> None:
    (study / "models").rename(study / "elsewhere")
    (_, said) = text_of(why(str(study / TURNS))).split("made again  ")
    assert said.startswith("not known, by the configuration that the study was run with (model ")
    assert len(said.splitlines()) == 1


def test_study_without_its_project_is_told_by_its_record(study: Path) -> None:
    (study / "Snakefile").unlink()
    text = told(study, TURNS)
    assert "perturbation truncate.keep: 0.5" in text
    assert "the project is not beside it" in text


def test_path_that_no_job_made_is_refused(finished_study: Path, tmp_path: Path) -> None:
    for path, said in (
        (finished_study / "results/tables/none.csv", "does not exist and no job has made it"),
        (finished_study / "results/tables", "a folder that no job recorded"),
        (tmp_path / "file", "not in a results folder"),
    ):
        with pytest.raises(UserError, match=said):
            why(str(path))

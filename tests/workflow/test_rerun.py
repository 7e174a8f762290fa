"""What a finished study does again when something changes: exactly what the change asks for."""

import json
import os
import shutil
from pathlib import Path

import polars as pl
import pytest
import yaml

from tests.support.snakemake_runs import CELLS_ALONE, journal_lines, n_requests, planned, run
from tests.support.tiny_model import write_tiny_model
from userturn.audit.run import audit
from userturn.tables.rates import cell_rates

pytestmark = pytest.mark.slow

# 5 items: 5 answers, and 5 user turns in each of 2 temperatures x 2 perturbations.
N_FINISHED = 5 + 5 * 2 * 2
CELL = "results/cells/tiny/word-problems/t0/none/user_turns.parquet"
REMADE = {  # where there are other cells than before
    *("tabulate", "analyse", "compare_with_margins", "measure_judges", "compare_with_paper"),
    *("draw_figures", "compare_with_people", "draw_confusion", "build_report", "tabulate_costs"),
    *("tabulate_turn_properties", "draw_turn_properties", "record_study"),
}


def change_study(folder: Path, **changes: object) -> None:
    path = folder / "study.yaml"
    study = yaml.safe_load(path.read_text())
    for keys, value in changes.items():
        *parents, last = keys.split("__")
        part = study
        for key in parents:
            part = part[key]
        part[last] = value
    path.write_text(yaml.safe_dump(study))


def test_finished_study_asked_every_request_once(finished_study: Path) -> None:
    assert n_requests(finished_study) == N_FINISHED


def test_sweep_that_has_nothing_to_finish_is_not_run_again(finished_study: Path) -> None:
    assert not planned(finished_study, "results/sweeps/tiny/1of1.json")


def test_new_times_reordered_keys_and_a_lost_marker_rerun_nothing(study: Path) -> None:
    config = yaml.safe_load((study / "config.yaml").read_text())

    def turned(value: object) -> object:
        if isinstance(value, dict):
            return {key: turned(value[key]) for key in reversed(value)}
        return value

    text = yaml.safe_dump(turned(config), sort_keys=False)
    assert text != yaml.safe_dump(config, sort_keys=False)
    (study / "config.yaml").write_text(text)
    (study / "results" / "sweeps" / "tiny" / "1of1.json").unlink()
    files = [path for path in study.rglob("*") if path.is_file() and ".snakemake" not in path.parts]
    for path in sorted(files, reverse=True):
        path.touch()
    assert not planned(study)


def test_smaller_selection_and_growing_back_sweep_nothing(study: Path) -> None:
    change_study(study, run__temperatures=[0])
    assert set(planned(study)) == REMADE
    run(study, "--until", "tabulate")
    change_study(study, run__temperatures=[0, 1.0])
    assert "sweep" not in planned(study)


def test_a_chance_floor_added_to_a_finished_study_generates_and_judges_nothing_again(
    study: Path,
) -> None:
    change_study(study, controls__chance_floor=3)
    jobs = planned(study)
    assert (jobs["swap_answers"], jobs["judge_swapped"], jobs["tabulate"]) == (1, 1, 1)
    assert not {"sweep", "collect_answers", "collect_user_turns", "judge"} & set(jobs)
    run(study, "--until", "tabulate")
    assert n_requests(study) == N_FINISHED
    table = pl.read_parquet(study / "results" / "tables" / "rates.parquet")
    assert cell_rates(table)["n_judged_again"].to_list() == [3, 3, 3, 3]
    assert "swap_answers" not in planned(study)


def test_self_play_added_to_a_finished_study_asks_for_its_depths_alone(study: Path) -> None:
    change_study(study, self_play={"turns": 2})
    jobs = planned(study)
    assert (jobs["sweep"], jobs["collect_self_play"], jobs["judge_self_play"]) == (1, 2, 2)
    assert not {"collect_answers", "collect_user_turns", "judge"} & set(jobs)
    run(study, "--until", "draw_self_play")
    table = pl.read_parquet(study / "results" / "tables" / "self_play.parquet")
    lasting = table.filter(depth=2).select(pl.col("n_conversations") - pl.col("n_ended")).sum()
    # An answer and a user turn of each conversation that goes on.
    assert n_requests(study) == N_FINISHED + 2 * lasting.item()
    findings = audit(study / "results").findings
    assert not [found for found in findings if "self_play" in found.artifact]
    change_study(study, self_play={"turns": 3})
    longer = planned(study)
    assert (longer["sweep"], longer["collect_self_play"], longer["judge_self_play"]) == (1, 2, 2)


def test_new_model_plans_only_its_own_jobs_and_the_tables(study: Path) -> None:
    write_tiny_model(study / "models" / "second", seed=1)
    change_study(study, run__models=["tiny", "second"], models__second="./models/second")
    own = ("describe_model", "sweep", "collect_answers", "grade", "tabulate_accuracy")
    of_cells = {"collect_user_turns": 4, "judge": 4}
    assert planned(study) == dict.fromkeys((*own, *REMADE), 1) | of_cells


@pytest.mark.long
def test_new_temperature_format_and_edited_prompt_ask_exactly_their_own_requests(
    study: Path,
) -> None:
    before = {row["key"] for row in map(json.loads, journal_lines(study))}
    item = pl.read_parquet(study / CELL)["item"][0]
    path = study / "data" / "demo" / "word_problems.jsonl"
    old = path.read_text()
    path.write_text(old.replace(f'"{item}", "question": "', f'"{item}", "question": "Think. '))
    assert path.read_text() != old
    (study / "brief.txt").write_text("Be brief.\n")
    change_study(study, run__temperatures=[0, 0.7, 1.0], formats={"brief": {"system": "brief.txt"}})
    run(study, *CELLS_ALONE)
    # Of the edited item its answer and 2 turns at each of 3 temperatures, of the 4 others 2 turns.
    assert n_requests(study) == N_FINISHED + 1 + 3 * 2 + 4 * 2
    asked = [row for row in map(json.loads, journal_lines(study)) if row["key"] not in before]
    assert sum(row["item"] == item for row in asked) == 1 + 3 * 2
    # In the format 5 answers, and 5 turns at each of 3 temperatures x 2 perturbations.
    assert n_requests(study, model="tiny+brief") == 5 + 5 * 3 * 2
    prompts = pl.read_parquet(study / CELL.replace("tiny", "tiny+brief"))["prompt_text"]
    assert all(p.startswith("<|im_start|>system\nBe brief.<|im_end|>\n") for p in prompts)


def test_lost_cell_comes_back_from_the_journal_and_what_that_lost_too_is_asked_again_alone(
    study: Path,
) -> None:
    other = study / CELL.replace("none", "truncate")
    before, lost = other.read_bytes(), set(pl.read_parquet(study / CELL)["key"])
    for path in (study / "results" / "journal" / "tiny" / "word-problems").glob("*.jsonl"):
        lines = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(b"".join(x for x in lines if json.loads(x)["key"] not in lost))
    assert n_requests(study) == N_FINISHED - 5
    (study / CELL).unlink()
    other.unlink()
    run(study, *CELLS_ALONE)
    assert other.read_bytes() == before
    assert n_requests(study) == N_FINISHED


@pytest.mark.long
def test_a_cell_that_is_lost_with_all_plans_comes_back_without_a_sweep(study: Path) -> None:
    before = (study / CELL).read_bytes()
    shutil.rmtree(study / "results" / "requests")
    assert not planned(study)
    (study / CELL).unlink()
    jobs = planned(study)
    assert (jobs["sweep"], jobs["collect_user_turns"]) == (0, 1)
    run(study)
    assert (study / CELL).read_bytes() == before
    marker = json.loads((study / "results/sweeps/tiny/1of1.json").read_text())
    assert (marker["n_found"], marker["n_asked"]) == (N_FINISHED, 0)


@pytest.mark.long
def test_answers_and_cells_whose_requests_are_finished_are_gathered_without_a_sweep(
    study: Path,
) -> None:
    other = study / CELL.replace("none", "truncate")
    answers = study / "results/answers/tiny/word-problems.parquet"
    before = [path.read_bytes() for path in (study / CELL, other)]
    for path in (study / CELL, other, answers):
        path.unlink()
    jobs = planned(study)
    assert (jobs["sweep"], jobs["collect_answers"], jobs["collect_user_turns"]) == (0, 1, 2)
    change_study(study, temperatures=[0, 1.0, 1.3], run__temperatures=[0, 1.0, 1.3])
    jobs = planned(study)
    assert (jobs["sweep"], jobs["collect_user_turns"]) == (1, 4)
    run(study, *CELLS_ALONE)
    assert [path.read_bytes() for path in (study / CELL, other)] == before
    marker = json.loads((study / "results/sweeps/tiny/1of1.json").read_text())
    # Of 5 items: answers and two cells that were lost are there, two cells are new.
    assert (len(marker["pending"]), marker["n_found"], marker["n_asked"]) == (5, 15, 10)


def test_changed_setting_redoes_exactly_its_cells_also_after_a_sweep_that_failed(
    study: Path,
) -> None:
    change_study(study, perturbations={"truncate": {"keep": 0.25}})
    weights = study / "models" / "tiny" / "model.safetensors"
    content = weights.read_bytes()
    os.truncate(weights, 100)
    # The folder's fingerprint is that of the weights too, so the broken model is another model.
    assert planned(study)["collect_user_turns"] == 4
    weights.write_bytes(content)
    jobs = planned(study)
    assert (jobs["collect_answers"], jobs["collect_user_turns"], jobs["judge"]) == (0, 2, 2)

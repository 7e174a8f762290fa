"""The audit makes the chance floor's turns and verdicts again, and finds others."""

from pathlib import Path

import polars as pl
import pytest

from tests.support.replayed_job import replayed
from tests.support.snakemake_runs import ROOT
from userturn.audit.check_replay import CHECKS
from userturn.audit.check_verdicts import check_verdicts
from userturn.audit.findings import COMPARED, Finding, Item, Status
from userturn.audit.pair import Pair
from userturn.config.load import load_config
from userturn.controls.swapped_answers import READ, SWAPPED_TURNS_SCHEMA, swap_answers
from userturn.judges.judge import judge_cell
from userturn.sources.registry import judged, source_jobs
from userturn.study.contents import FileContents
from userturn.study.grid import Grid
from userturn.study.judge import judge_of
from userturn.study.record import study_record

MODEL, DATASET = "smollm2-135m", "everyday"
FLOOR = Path("chance_floor", MODEL, DATASET)
ANSWERS = {"a": "Soak the beans overnight.", "b": "Dig in spring.", "c": "Ask your landlord."}


@pytest.fixture
def pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pair:
    """A study with the chance floor of one model and dataset, and the cells it is drawn from."""
    monkeypatch.chdir(ROOT)
    config = load_config(["config.yaml", "profiles/demo/study.yaml"])
    config["run"]["judges"] = ["heuristic", "gpt-5.4-mini"]
    grid = Grid(config, tmp_path)
    asked = [[{"role": "user", "content": "How do I do this?"}]] * 3
    items = grid.dataset_path(DATASET)
    items.parent.mkdir()
    pl.DataFrame({"item": list(ANSWERS), "messages": asked}).write_parquet(items)
    drawn_from = judged(grid)[FLOOR.as_posix()].input_paths
    paths = [str(tmp_path / path.removeprefix("results/")) for path in drawn_from]
    for number, path in enumerate(paths):
        Path(path).parent.mkdir(parents=True)
        write_cell(number, path)
    (tmp_path / FLOOR / "verdicts").mkdir(parents=True)
    swapped, seed = str(tmp_path / FLOOR / "user_turns.parquet"), config["seed"]
    n_turns = config["controls"]["chance_floor"]
    swap_answers(DATASET, n_turns, seed, "i", paths, str(items), swapped)
    verdicts = str(tmp_path / FLOOR / "verdicts" / "heuristic.parquet")
    judge_cell(judge_of(grid, "heuristic"), "i", 0, str(items), swapped, verdicts)
    record = study_record(config, FileContents(config))
    return Pair(grid, record, MODEL, DATASET, False, frozenset())


def write_cell(number: int, path: str) -> None:
    coordinates = {"model": MODEL, "dataset": DATASET, "temperature": float(number)}
    rows = [
        {
            **coordinates, "perturbation": "none", "item": item, "sample": 0, "key": item,
            "answer": answer, "outcome": "ok", "text": "How long do I soak them?",
        }
        for item, answer in ANSWERS.items()
    ]  # fmt: skip
    schema = {name: SWAPPED_TURNS_SCHEMA[name] for name in READ}
    pl.DataFrame(rows, schema=schema).write_parquet(path)


def found_in(pair: Pair) -> list[Item]:
    """Return what the audit says of the turns of the chance floor, and of the verdicts on them."""
    path = f"results/{FLOOR}/user_turns.parquet"
    turns = replayed(pair, "swap_answers", [path], model=MODEL, dataset=DATASET)
    of_judges = check_verdicts(pair, judged(pair.grid)[FLOOR.as_posix()])
    return [item for item in (*turns, *of_judges) if item != Status(item.artifact, COMPARED)]


def test_a_floor_that_follows_from_its_cells_is_not_found(pair: Pair) -> None:
    assert found_in(pair) == []


def test_a_turn_after_another_answer_than_the_drawn_one_is_found(pair: Pair) -> None:
    path = pair.grid.results / FLOOR / "user_turns.parquet"
    pl.read_parquet(path).with_columns(answer=pl.lit("Dig in spring.")).write_parquet(path)
    found = [finding.artifact for finding in found_in(pair)]
    assert f"results/{FLOOR}/user_turns.parquet" in found


def test_a_verdict_that_the_judge_did_not_give_is_found(pair: Pair) -> None:
    path = pair.grid.results / FLOOR / "verdicts" / "heuristic.parquet"
    forged = pl.read_parquet(path).with_columns(label=pl.lit("unrelated"), genuine=pl.lit(False))
    forged.write_parquet(path)
    (finding,) = found_in(pair)
    assert isinstance(finding, Finding)
    assert (finding.check, finding.artifact) == (
        "verdicts",
        f"results/{FLOOR}/verdicts/heuristic.parquet",
    )


def test_a_judge_whose_texts_are_not_here_is_no_error(
    pair: Pair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # as where somebody audits another's archive
    assert found_in(pair) == []


def test_turns_that_a_source_makes_of_others_are_made_again_or_compared_with_journals() -> None:
    elsewhere = ("generation.", "grading.")  # whose rows and grades have checks of their own
    unchecked = [
        rule
        for rule, job in source_jobs().items()
        if rule not in CHECKS and not job.function.startswith(elsewhere)
    ]
    assert unchecked == []
    assert CHECKS["show_unseen_answers"] == CHECKS["edit_answers"] == "controls"

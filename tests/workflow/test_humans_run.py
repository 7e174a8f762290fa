"""People's labels in the real workflow: nothing yet, a round that stays, labels, a second round."""

from pathlib import Path

import polars as pl
import pytest

from tests.support.snakemake_runs import planned, run
from tests.workflow.test_bad_input import fails_with
from tests.workflow.test_rerun import change_study
from userturn.humans.labels import NO_LABELS
from userturn.tables.judges import KNOWN
from userturn.tables.rates import cell_rates

pytestmark = pytest.mark.slow

FIRST = "results/humans/first"
PAIRS = "results/pairs/pairs/task.html"
FROZEN = ("key.parquet", "items.parquet", "task.html", "label_studio/tasks.json")


def annotate(study: Path, name: str, label: str = "generic", round_name: str = "first") -> None:
    """Save what an annotator would: one label for all turns of a round."""
    ids = pl.read_parquet(study / "results" / "humans" / round_name / "items.parquet")["id"]
    rows = "".join(f"{round_name},{name},{turn},{label},as {name} sees it\n" for turn in ids)
    path = study / "data" / "annotations" / round_name / name / f"{name}.CSV.txt"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"round,annotator,id,label,notes\n{rows}")


def table(study: Path, name: str) -> pl.DataFrame:
    return pl.read_parquet(study / "results" / "tables" / f"{name}.parquet")


def test_study_without_annotations_is_complete_and_says_how_to_start(finished_study: Path) -> None:
    said = (finished_study / "logs" / "import_annotations" / "first.log").read_text()
    assert "results/humans/first/task.html" in said
    assert (finished_study / FIRST / "task.html").is_file()
    assert (finished_study / "results" / "figures" / "confusion.svg").is_file()
    assert table(finished_study, "confusion")["reason"].null_count() == 0
    agreed = table(finished_study, "judges").filter(pl.col("part") != KNOWN)
    assert agreed.height == 3 and agreed["reason"].null_count() == 0
    assert set(cell_rates(table(finished_study, "rates"))["corrected_reason"]) == {NO_LABELS}


def test_sample_of_a_cell_holds_its_probabilities(finished_study: Path) -> None:
    cell = finished_study / "results/cells/tiny/word-problems/t0/none/human_sample.parquet"
    sample = pl.read_parquet(cell)
    assert (
        sample.filter("is_drawn").height
        == sample.group_by("stratum").agg(pl.first("n_drawn"))["n_drawn"].sum()
    )


def test_labels_count_and_a_grown_grid_leaves_the_round_as_it_is(study: Path) -> None:
    before = {name: (study / FIRST / name).read_bytes() for name in FROZEN}
    annotate(study, "ann")
    annotate(study, "bob")
    change_study(study, run__temperatures=[0, 0.7, 1.0])
    assert "draw_annotation_round" not in planned(study)
    (study / FIRST / "key.parquet").unlink()  # as a forced rerun does before it runs
    humans = {"rounds": ["first", "second"], "from": {"temperatures": [0, 0.7, 1.0]}}
    more = {"pairs": {"rounds": ["pairs"], "per_cell": 5}}
    shown = ["none", "truncate", "reference_answer"]
    change_study(study, humans=humans | more, run__perturbations=shown)
    pages = [f"results/humans/{name}/task.html" for name in humans["rounds"]]
    tables = ("judges", "rates", "human_likeness")
    run(study, *pages, *(f"results/tables/{t}.parquet" for t in tables), PAIRS)
    assert {name: (study / FIRST / name).read_bytes() for name in FROZEN} == before
    key = pl.read_parquet(study / "results/humans/second/key.parquet")
    assert set(key["temperature"]) == {0.7}
    agreed = table(study, "judges").filter(pl.col("part") == "human-human")
    assert set(agreed.filter(pl.col("measure") == "raw")["estimate"]) == {1}
    rates = cell_rates(table(study, "rates"))
    # Word problems have no answer of their own, to which a person replied: so no pair.
    (likeness,) = table(study, "human_likeness").rows(named=True)
    assert (likeness["scope"], likeness["n_turns"], likeness["n_pairs"]) == ("study", 0, 0)
    done = pl.col("temperature").is_in([0.0, 1.0]) & (pl.col("perturbation") == "none")
    assert rates.filter(done)["corrected"].to_list() == [0, 0]
    assert rates.filter(~done)["corrected_reason"].null_count() == 0


def test_one_bad_row_stops_the_import_and_keeps_the_labels_that_were_there(study: Path) -> None:
    annotate(study, "ann", "generik")
    said = fails_with(study, f"{FIRST}/annotations.parquet")
    assert "so nothing was imported" in said
    annotate(study, "ann")
    run(study, f"{FIRST}/annotations.parquet")
    assert not pl.read_parquet(study / FIRST / "annotations.parquet").is_empty()

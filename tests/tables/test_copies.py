"""Copies of a conversation are one cluster: with their verdicts they change no interval."""

from pathlib import Path

import polars as pl
import pytest

from tests.support.whole_study import inputs_in, made_of_cells, whole_grid, write_whole_study
from userturn.datasets.turns import clusters, one_cluster_each
from userturn.stats.proportions import rows_have_copies
from userturn.tables.accuracy import accuracy
from userturn.tables.copies import SCHEMA, one_cluster_of
from userturn.tables.make_tables import make_tables
from userturn.workflow.registry import COPIES, TABLES

IDS = ("item", "id", "key")  # what names a turn, and would name its copy otherwise


def copied(rows: pl.DataFrame, k: int) -> pl.DataFrame:
    """Return rows k times, each time under other ids."""
    names = [name for name in IDS if name in rows.columns]
    return pl.concat(
        rows.with_columns(pl.col(names).cast(pl.String) + (f"~{i}" if i else "")) for i in range(k)
    )


def test_clusters_that_share_messages_are_one_even_by_way_of_a_third() -> None:
    # a and c share x, c and d share z; b alone has y.
    items = [("c", "x"), ("b", "y"), ("c", "z"), ("d", "z"), ("a", "x")]
    assert one_cluster_of(items) == [("c", "a"), ("d", "a")]


def test_copies_are_one_in_their_own_dataset_alone() -> None:
    copies = pl.DataFrame([("d", "2", "1")], schema=SCHEMA, orient="row")
    rows = pl.DataFrame({"dataset": ["d", "d", "e"], "item": ["1", "2/turn-3", "2"]})
    with one_cluster_each(copies):
        assert rows.select(clusters()).to_series().to_list() == ["1", "1", "2"]
    assert rows.select(clusters()).to_series().to_list() == ["1", "2", "2"]


@pytest.mark.parametrize("k", range(2, 9))
def test_two_of_five_answers_are_as_uncertain_with_each_k_times(k: int) -> None:
    # Wilson's limits of 2 of 5, by hand: .118 and .769.
    names = {"model": "m", "dataset": "d"}
    grades = pl.DataFrame(
        {"item": list("abcde"), "correct": [True, True, False, False, False]}
    ).with_columns(**{name: pl.lit(value) for name, value in names.items()})
    grades = grades.with_columns(
        correct_loose=pl.lit(None, pl.Boolean), score=pl.lit(None, pl.Float64)
    )
    answers = grades.select("model", "dataset", finish_reason=pl.lit("stop"))
    rows = [("d", f"{item}~{i}", item) for item in "abcde" for i in range(1, k)]
    with one_cluster_each(pl.DataFrame(rows, schema=SCHEMA, orient="row")), rows_have_copies(True):
        found = accuracy(copied(grades, k), answers).select("estimate", "lower", "upper").row(0)
    assert found == pytest.approx((0.4, 0.118, 0.769), abs=5e-4)


def made(folder: Path) -> dict[str, pl.DataFrame]:
    """Return the tables of a study whose intervals are over items, but `confusion`, a list."""
    known = [n for n in made_of_cells(TABLES) if COPIES in TABLES[n].made_of]
    names = [n for n in known if n not in ("confusion", "turn_properties")]  # counts; how varied
    inputs = inputs_in(folder)
    for outputs in ([COPIES], names):
        paths = {name: [f"{folder}/t/{name}.parquet"] for name in outputs}
        make_tables(whole_grid(folder), "i", inputs, paths)
        inputs[COPIES] = [f"{folder}/t/{COPIES}.parquet"]
    return {name: pl.read_parquet(folder / "t" / f"{name}.parquet") for name in names}


# By people's labels: tuned to the numbers of turns and of labels, or drawn. The rest is exact.
NEARLY = ("corrected", "corrected_lower", "corrected_upper", "detectable_difference")


def _is_equal(found: pl.Series, expected: pl.Series) -> bool:
    if found.is_null().to_list() != expected.is_null().to_list():
        return False
    both = found.drop_nulls().to_list(), expected.drop_nulls().to_list()
    return bool(both[0] == pytest.approx(both[1], rel=1e-6, abs=1e-9, nan_ok=True))


@pytest.mark.slow
def test_every_interval_of_every_table_is_that_of_the_rows_taken_once(tmp_path: Path) -> None:
    write_whole_study(tmp_path)
    once = made(tmp_path)
    for path in tmp_path.rglob("*.parquet"):
        rows = pl.read_parquet(path)
        if "item" in rows.columns and path.parent.name != "t":
            copied(rows, 3).write_parquet(path)
    again, people = made(tmp_path), pl.col("source") != "people"
    for tables in (once, again):
        tables["judges"] = tables["judges"].filter(people)
    unlike = {
        (name, number)
        for name, table in again.items()
        for number, kind in table.schema.items()
        if kind == pl.Float64 and number not in NEARLY
        if not _is_equal(table[number], once[name][number])
    }
    assert len(again) == 8 and unlike == set()

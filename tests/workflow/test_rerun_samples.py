"""Requests and verdicts of a finished study are run again, compared, and counted."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.support.judge_server import judge_server, says
from tests.support.judged_cell import PRICE, settings
from userturn.audit.check_reruns import MEASURES, draw_rows
from userturn.audit.rerun_requests import OTHER_KEY, regenerate, rejudge_sample
from userturn.storage.files import read_identity
from userturn.storage.table_files import write_table

pytestmark = pytest.mark.slow

CELL = "results/cells/tiny/word-problems/t1/none"
ALL = 1000


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def change_row(path: Path, row: int, **values: Any) -> None:
    """Change some values of one row of a table, as a forger would: its identity stays."""
    table, identity = pl.read_parquet(path), read_identity(path)
    for name, value in values.items():
        column = table[name].to_list()
        column[row] = value
        table = table.with_columns(pl.Series(name, column, dtype=table.schema[name]))
    write_table(table, path, identity or "")


def add_judge(study: Path, url: str, labels: list[str], **changes: Any) -> None:
    """Put verdicts of a judge with an endpoint into a cell, and the judge into the record."""
    path = study / CELL / "verdicts" / "heuristic.parquet"
    table = pl.read_parquet(path).with_columns(judge=pl.lit("j"), label=pl.Series(labels))
    write_table(table, path.with_name("j.parquet"), "i")
    texts = {"rubric": "data/rubric.yaml", "prompt": "data/judge_prompt.txt"}
    record_path = study / "results" / "study.json"
    record = json.loads(record_path.read_text())
    record["config"]["judges"]["j"] = settings(url, **texts, **changes)
    record["contents"]["texts"] = {name: (study / name).read_text() for name in texts.values()}
    record_path.write_text(json.dumps(record))


def test_every_request_is_run_again_and_what_differs_is_found(study: Path) -> None:
    turns = study / CELL / "user_turns.parquet"
    ids = pl.read_parquet(turns)["token_ids"][0].to_list()
    change_row(turns, 0, token_ids=[ids[0] + 1, *ids[1:]], text="Thank you!")
    change_row(turns, 1, seed=7)
    found = regenerate(study / "results", ALL, rng())
    # 5 answers, and 5 user turns in each of 2 temperatures x 2 perturbations.
    assert found.table.height == 5 + 5 * 2 * 2
    differs = found.table.filter(~pl.col("equal_bytes"))
    assert differs.select("artifact", "row").rows() == [(f"{CELL}/user_turns.parquet", 0)]
    assert differs["equal_tokens"].to_list() == [False]
    not_run = found.table.drop_nulls("reason")
    assert not_run.select("row", "reason").rows() == [(1, OTHER_KEY)]
    assert found.n_not_run == 1
    # All but those two.
    assert found.counts["equal_bytes"] == found.counts["equal_tokens"] == (23, 24)


def test_model_without_its_description_is_counted(study: Path) -> None:
    (study / "results" / "models" / "tiny.json").unlink()
    found = regenerate(study / "results", 3, rng())
    assert found.table["reason"].str.contains("models/tiny.json cannot be read").all()


@pytest.mark.parametrize("is_gone", [True, False])
def test_model_that_is_not_here_as_it_was_is_counted(is_gone: bool, study: Path) -> None:
    folder = study / "models" / "tiny"
    if is_gone:
        folder.rename(study / "models" / "other")
    else:
        weights = bytearray((folder / "model.safetensors").read_bytes())
        weights[-1] ^= 1
        (folder / "model.safetensors").write_bytes(weights)
    found = regenerate(study / "results", 3, rng())
    assert found.table["reason"].str.contains("not on this machine in the version").all()
    assert found.n_not_run == 3
    assert found.counts == dict.fromkeys(MEASURES, (0, 0))


def test_nothing_in_the_study_is_touched(study: Path) -> None:
    before = {p: p.read_bytes() for p in (study / "results").rglob("*") if p.is_file()}
    rejudge_sample(study / "results", ALL, rng())
    assert {p: p.read_bytes() for p in (study / "results").rglob("*") if p.is_file()} == before


def test_heuristic_verdicts_are_given_again_and_a_forged_label_is_found(study: Path) -> None:
    path = study / CELL / "verdicts" / "heuristic.parquet"
    labels = pl.read_parquet(path)["label"]
    row = labels.is_not_null().arg_max()
    assert row is not None
    change_row(path, row, label="generic" if labels[row] != "generic" else "unrelated")
    verdicts = [pl.read_parquet(p) for p in study.glob("results/c*/**/verdicts/heuristic.parquet")]
    found = rejudge_sample(study / "results", ALL, rng())
    assert found.table.height == sum(table["label"].count() for table in verdicts) > 10
    wrong = found.table.filter(~pl.col("equal_label"))
    assert wrong.select("artifact", "row").rows() == [(f"{CELL}/verdicts/heuristic.parquet", row)]
    assert found.table["key"].null_count() == 0
    assert found.cost is None


def test_endpoint_is_asked_again_and_its_cost_is_told(study: Path) -> None:
    labels = ["genuine_followup", "genuine_followup", "generic", "unrelated", "generic"]
    with judge_server(lambda asked: says("genuine_followup")) as server:
        add_judge(study, server.url, labels, price=PRICE)
        found = rejudge_sample(study / "results", ALL, rng())
    asked = found.table.filter(pl.col("artifact").str.ends_with("/j.parquet"))
    assert asked.sort("row")["equal_label"].to_list() == [True, True, False, False, False]
    # Of 900 tokens read 512 are cached, 40 are written: (388 + 512 / 2 + 400) / 10^6 a question.
    assert found.cost == pytest.approx(5 * 1044e-6)
    assert len(server.asked) == 5
    assert not (study / "results" / "journal" / "judges").exists()


def test_a_judge_whose_key_is_not_set_is_not_asked(
    study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SOME_KEY", raising=False)
    with judge_server() as server:
        add_judge(study, server.url, ["generic"] * 5, key_variable="SOME_KEY")
        found = rejudge_sample(study / "results", ALL, rng()).table
    reasons = found.filter(pl.col("artifact").str.ends_with("/j.parquet"))["reason"]
    assert len(reasons) == 5
    assert reasons.str.contains("SOME_KEY, which is not set").all()
    assert server.asked == []


def test_texts_of_a_record_are_written_nowhere_else(study: Path, tmp_path: Path) -> None:
    add_judge(study, "http://127.0.0.1:9/v1", ["generic"] * 5, attempts=1)
    path = study / "results" / "study.json"
    record = json.loads(path.read_text())
    record["contents"]["texts"][f"../../../../../..{tmp_path}/planted"] = "text"
    path.write_text(json.dumps(record))
    rejudge_sample(study / "results", 1, rng())
    assert not (tmp_path / "planted").exists()


def test_rows_are_drawn_by_the_generator_from_all_that_fit(tmp_path: Path) -> None:
    for name in "ab":
        table = pl.DataFrame({"n": range(10), "is_wanted": [i % 2 == 0 for i in range(10)]})
        table.write_parquet(tmp_path / f"{name}.parquet")
    paths = sorted(tmp_path.glob("*.parquet"))

    def drawn(k: int, seed: int) -> list[tuple[str, int]]:
        rows = list(draw_rows(paths, pl.col("is_wanted"), k, rng(seed)))
        assert all(row.values["n"] == row.row for row in rows)
        return [(row.path.stem, row.row) for row in rows]

    every = [(name, n) for name in "ab" for n in (0, 2, 4, 6, 8)]
    assert drawn(100, 1) == every
    assert drawn(4, 1) == drawn(4, 1)
    draws = [drawn(4, seed) for seed in range(60)]
    assert all(len(set(rows)) == 4 and set(rows) <= set(every) for rows in draws)
    assert {row for rows in draws for row in rows} == set(every)
    assert drawn(0, 1) == []
    content = (tmp_path / "b.parquet").read_bytes()
    (tmp_path / "b.parquet").write_bytes(content[: len(content) // 2])  # found by its hash
    assert drawn(100, 1) == every[:5]

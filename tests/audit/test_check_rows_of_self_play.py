"""The audit makes every depth of self-play again, and finds each kind of edit."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from tests.support.findings_of import findings_of
from tests.support.self_play_study import DATASET, MODEL, at_depth, collect, study, sweep
from userturn.audit.check_rows import check_coverage, check_rows, check_table
from userturn.audit.check_verdicts import check_verdicts
from userturn.audit.pair import Pair
from userturn.prompts.perturbations import NO_ANSWER, NO_REFERENCE
from userturn.sources.registry import asked, judged
from userturn.storage.journal import decode_line, encode_line
from userturn.study.contents import FileContents
from userturn.study.grid import Grid
from userturn.study.record import study_record


@pytest.fixture(scope="module")
def grid(tmp_path_factory: pytest.TempPathFactory) -> Grid:
    """A finished study of four items, three turns long."""
    grid = study(tmp_path_factory.mktemp("self_play"), 3)
    sweep(grid)
    collect(grid)
    return grid


def audited(grid: Grid) -> list[tuple[str, str]]:
    record = study_record(grid.config, FileContents(grid.config, grid.results))
    pair = Pair(grid, record, MODEL, DATASET, True, frozenset())
    of_depths = [of for of in judged(grid).values() if of.folder.startswith("self_play/")]
    found = [*check_rows(pair), *(v for of in of_depths for v in check_verdicts(pair, of))]
    return [(finding.check, finding.artifact) for finding in findings_of(found)]


@pytest.mark.slow
def test_depths_that_follow_from_their_plans_and_journal_are_not_found(grid: Grid) -> None:
    assert audited(grid) == []


def changed(**columns: pl.Expr) -> Callable[[pl.DataFrame], pl.DataFrame]:
    """Return an edit of the first row of a table."""
    first = pl.int_range(pl.len()) == 0
    return lambda table: table.with_columns(
        **{name: pl.when(first).then(value).otherwise(name) for name, value in columns.items()}
    )


other_text = changed(text=pl.lit("Is it raining?"))
other_key = changed(key=pl.lit("0" * 64))
other_answer = changed(answer=pl.lit("It is raining."))
never_asked = changed(
    key=pl.lit(None, pl.String), answer=pl.lit(None, pl.String), error=pl.lit(NO_ANSWER)
)
other_label = changed(label=pl.lit("generic"), genuine=pl.lit(False))


def other_history(table: pl.DataFrame) -> pl.DataFrame:
    return table.with_columns(messages=pl.col("messages").shift(1).backward_fill())


@pytest.mark.parametrize(
    ("name", "edit", "checks"),
    [
        ("conversations", other_history, {"rows"}),
        ("conversations", lambda table: table[1:], {"rows"}),
        ("answers", other_text, {"rows"}),
        ("answers", other_key, {"keys", "rows"}),
        ("user_turns", other_text, {"rows", "verdicts"}),
        ("user_turns", other_key, {"keys", "rows"}),
        ("user_turns", other_answer, {"probes", "rows"}),
        ("user_turns", never_asked, {"probes", "rows"}),
        ("user_turns", lambda table: table[1:], {"rows"}),
        ("verdicts/heuristic", other_label, {"verdicts"}),
    ],
)
def test_an_edit_is_found(
    grid: Grid, name: str, edit: Callable[[pl.DataFrame], pl.DataFrame], checks: set[str]
) -> None:
    path = Path(grid.results, at_depth(grid, 3).folder, f"{name}.parquet")
    whole = path.read_bytes()
    try:
        edit(pl.read_parquet(path)).write_parquet(path)
        found = audited(grid)
    finally:
        path.write_bytes(whole)
    artifact = f"results/{at_depth(grid, 3).folder}/{name}.parquet"
    assert {check for check, where in found if where == artifact} >= checks - {"verdicts"}
    assert checks <= {check for check, _ in found}


def test_an_edited_journal_is_found_at_its_depth(grid: Grid) -> None:
    whole = {path: path.read_text() for path in grid.journal_folder(MODEL, DATASET).glob("*.jsonl")}
    try:
        for path, text in whole.items():
            path.write_text(text.replace("Question 2 of", "Question 9 of"))
        found = audited(grid)
    finally:
        for path, text in whole.items():
            path.write_text(text)
    assert ("rows", f"results/{at_depth(grid, 2).folder}/user_turns.parquet") in found


@pytest.mark.parametrize("end", ["halt", "length"])  # no engine's, and that of longer texts
def test_an_end_that_the_tokens_do_not_have_is_found_though_journal_and_table_agree(
    grid: Grid, end: str
) -> None:
    at = at_depth(grid, 3)
    table = Path(grid.results, at.folder, "user_turns.parquet")
    paths = [table, *grid.journal_folder(MODEL, DATASET).glob("*.jsonl")]
    whole, keys = {path: path.read_bytes() for path in paths}, pl.read_parquet(table)["key"]
    try:
        pl.read_parquet(table).with_columns(finish_reason=pl.lit(end)).write_parquet(table)
        for path in paths[1:]:
            lines = [decode_line(x) or {} for x in whole[path].splitlines(keepends=True)]
            ended = [{**x, "finish_reason": end} if x["key"] in keys else x for x in lines]
            path.write_bytes(b"".join(map(encode_line, ended)))
        assert audited(grid) == [("rows", f"results/{at.folder}/user_turns.parquet")]
    finally:
        for path, content in whole.items():
            path.write_bytes(content)


@pytest.mark.parametrize("stops", [True, "x", None])
def test_a_description_that_no_key_follows_from_is_found_where_keys_are_checked(
    grid: Grid, stops: object
) -> None:
    path = grid.results / "models" / f"{MODEL}.json"
    whole = path.read_text()
    try:
        path.write_text(json.dumps(json.loads(whole) | {"stop_token_ids": stops}))
        found = audited(grid)
    finally:
        path.write_text(whole)
    turns = [f"results/{at_depth(grid, depth).folder}/user_turns.parquet" for depth in (2, 3)]
    of_depths = [f for f in found if f[0] == "keys" and f[1].startswith("results/self_play")]
    assert [("keys", artifact) for artifact in turns] == of_depths


def test_more_failures_than_allowed_are_found_but_no_turns_that_a_dataset_leaves_out(
    grid: Grid, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(grid.config, "max_error_share", 0.5)
    record = study_record(grid.config, FileContents(grid.config, grid.results))
    path = f"results/{at_depth(grid, 3).folder}/user_turns.parquet"
    for error, found in (("broke", ["coverage"]), (NO_REFERENCE, [])):
        pair = Pair(grid, record, MODEL, DATASET, True, frozenset())
        failed = pair.read(path).with_columns(outcome=pl.lit("error"), error=pl.lit(error))
        pair._tables[path] = failed
        assert [finding.check for finding in check_coverage(pair, path)] == found


def test_samples_without_end_are_counted_and_not_written_out(grid: Grid) -> None:
    """As those of a forged configuration, which would fill the auditor's memory."""
    record = study_record(grid.config, FileContents(grid.config, grid.results))
    pair, (cell,) = Pair(grid, record, MODEL, DATASET, True, frozenset()), grid.cells
    turns = asked(grid)[f"results/cells/{cell.folder}/user_turns.parquet"]
    found = findings_of(check_table(pair, replace(turns, n_samples=10**12)))
    assert [finding.check for finding in found] == ["rows", "rows"]  # of plan and table

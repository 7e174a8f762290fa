"""From plan and journal to a table: complete, in order, errors with their reason."""

from pathlib import Path

import polars as pl
import pytest

from userturn.errors import UserError
from userturn.generation.collect import CUT_REASONING, add_reasoning, check_errors, collect
from userturn.generation.plan_files import PLAN_SCHEMA, read_plan
from userturn.generation.scores import check_complete
from userturn.prompts.answer_layout import AnswerLayout
from userturn.storage.journal import Writer
from userturn.storage.journal_table import read_outcomes


def plan(*rows: tuple[int, str | None]) -> pl.DataFrame:
    """Return a plan of rows (position, key); without a key a row could not be asked."""
    return pl.DataFrame(
        [
            {
                "position": position,
                "item": f"item-{position}",
                "sample": 0,
                "key": key,
                "error": None if key else "too long",
            }
            for position, key in rows
        ],
        schema=PLAN_SCHEMA,
    )


def journal(folder: Path, **outcomes: str) -> Path:
    with Writer(folder) as writer:
        for key, outcome in outcomes.items():
            writer.append(
                {
                    "key": key,
                    "item": "x",
                    "sample": 0,
                    "outcome": outcome,
                    "text": f"turn {key}",
                    "token_ids": [1],
                    "finish_reason": "stop",
                    "error": "lost" if outcome == "error" else None,
                }
            )
    return folder


def collected(table: pl.DataFrame, folder: Path) -> pl.DataFrame:
    found = read_outcomes(folder, table["key"])
    check_complete(table["key"].drop_nulls(), found, folder)
    return collect(table, found)


def test_rows_stand_in_the_order_of_the_plan(tmp_path: Path) -> None:
    table = collected(plan((0, "b"), (1, "a")), journal(tmp_path, a="ok", b="empty"))
    assert table["text"].to_list() == ["turn b", "turn a"]
    assert table["outcome"].to_list() == ["empty", "ok"]


def test_items_with_equal_requests_share_one_record(tmp_path: Path) -> None:
    table = collected(plan((0, "a"), (1, "a")), journal(tmp_path, a="ok"))
    assert table["text"].to_list() == ["turn a", "turn a"]


def test_errors_keep_their_reason_wherever_they_arose(tmp_path: Path) -> None:
    table = collected(plan((0, None), (1, "a")), journal(tmp_path, a="error"))
    assert table["outcome"].to_list() == ["error", "error"]
    assert table["error"].to_list() == ["too long", "lost"]


def test_request_without_a_record_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="1 of 2 requests have no record"):
        collected(plan((0, "a"), (1, "b")), journal(tmp_path, a="ok"))


def test_share_of_errors_at_the_limit_passes_and_over_it_fails() -> None:
    lost = pl.DataFrame({"outcome": ["error"], "error": ["lost"]})
    fine = pl.DataFrame({"outcome": ["ok"], "error": [None]})
    assert len(list(check_errors([lost, fine], 0.5, "m/d"))) == 2
    with pytest.raises(UserError, match=r"m/d: 1 of 2 requests ended in an error.*: lost"):
        list(check_errors([lost, fine], 0.4, "m/d"))


def test_plan_of_several_shards_is_one_in_the_datasets_order(tmp_path: Path) -> None:
    plan((1, "b"), (2, "c")).write_parquet(tmp_path / "1of2.parquet")
    plan((0, "a"), (2, "c")).write_parquet(tmp_path / "2of2.parquet")
    for n_rows in (1, 2, 3):
        parts = list(read_plan(tmp_path, n_rows))
        assert pl.concat(parts)["key"].to_list() == ["a", "b", "c"]


@pytest.mark.parametrize("is_new", [True, False])
def test_an_answer_cut_inside_its_reasoning_has_that_as_its_reason(is_new: bool) -> None:
    texts = ["2 + 2</think>Four.", "2 + 2", ""]
    asked = {"text": texts, "prompt_text": ["…<think>\n"] * 3, "token_ids": [[1], [1], []]}
    noted = {"outcome": ["ok", "ok", "empty"], "error": pl.Series([None] * 3, dtype=pl.String)}
    form = AnswerLayout(names_cut_reasoning=is_new)  # earlier studies have no such reason
    table = add_reasoning(pl.DataFrame(asked | noted), form)
    assert table["answer"].to_list() == ["Four.", "", ""]
    assert table["outcome"].to_list() == ["ok", "empty" if is_new else "ok", "empty"]
    assert table["error"].to_list() == [None, CUT_REASONING if is_new else None, None]

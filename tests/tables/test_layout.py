"""One layout gives the report, Markdown and LaTeX their rows, columns and texts."""

from importlib import import_module
from pathlib import Path

import polars as pl
import pytest

from userturn.tables.layout import (
    INTERVAL,
    TEMPERATURE,
    Layout,
    P,
    column,
    layouts,
    page_table,
    printed,
    printed_only,
    reported,
    texts,
)
from userturn.tables.make_tables import write_all

TABLE = pl.DataFrame(
    {
        "judge": ["b", "a", "a"],
        "label": ["off", "genuine", "off"],
        "temperature": [0.25, 1.0, None],
        "estimate": [0.1234, None, 0.5],
        "lower": [0.0456, None, None],
        "upper": [0.2011, None, None],
        "p_adjusted": [0.0004, 0.04567, None],
        "n": [3, 4, 5],
        "of": [10, 10, 10],
    }
)


def texts_of(*shown: object) -> list[tuple[object, ...]]:
    """Return the texts of all rows under columns."""
    return printed(Layout("A table", {}, shown), TABLE).rows()  # type: ignore[arg-type]


def test_numbers_have_limits_if_there_are_any_and_a_dash_if_there_are_none() -> None:
    of = ("estimate", *INTERVAL)
    found = texts_of(column("share", "share", *of), column("number", "number", *of))
    # 0.1234 is 12.3 percent, and 0.12 in two digits.
    assert found == [("12.3 [4.6, 20.1]", "0.12 [0.05, 0.2]"), ("–", "–"), ("50.0", "0.5")]


def test_small_p_values_are_below_a_thousandth() -> None:
    assert texts_of(P[1]) == [("<0.001",), ("0.046",), ("–",)]


def test_a_temperature_is_shown_as_it_was_set() -> None:
    assert texts_of(TEMPERATURE) == [("0.25",), ("1.0",), ("–",)]


def test_limits_are_in_percent_and_counts_are_out_of_others() -> None:
    found = texts_of(column("limits", "bounds", *INTERVAL), column("n", "of", "n", "of"))
    assert found == [("[4.6, 20.1]", "3 of 10"), ("–", "4 of 10"), ("–", "5 of 10")]


ONCE = Layout(
    "A table", {}, (*texts("judge"), *reported(*texts("label")), printed_only("n", "count"))
)


def test_a_column_may_be_in_one_form_alone() -> None:
    assert page_table(ONCE, TABLE, "a")["columns"] == [["judge", "text"], ["label", "text"]]
    assert printed(ONCE, TABLE).columns == ["judge", "n"]


def test_the_page_has_the_primary_judge_first() -> None:
    assert [judge for (judge,), _ in page_table(ONCE, TABLE, "a")["rows"]] == ["a", "a", "b"]


def test_values_of_a_column_are_spread_over_columns() -> None:
    shown = (*texts("judge"), column("share", "share", "estimate", printed="{} %"))
    spread = printed(Layout("A table", {}, shown, spread=("label",)), TABLE)
    assert spread.to_dicts() == [
        {"judge": "b", "off %": "12.3", "genuine %": "–"},
        {"judge": "a", "off %": "50.0", "genuine %": "–"},
    ]
    fixed = printed(Layout("A table", {}, shown, spread=("label", "genuine", "rude")), TABLE)
    assert fixed.columns == ["judge", "genuine %", "rude %"]
    assert fixed["rude %"].to_list() == ["–", "–"]


def test_markdown_and_latex_may_want_other_rows_and_have_the_reasons_if_there_are_none() -> None:
    layout = Layout("A table", {}, texts("judge"), printed={"judge": "a"})
    assert printed(layout, TABLE).height == 2
    reasons = TABLE.select("judge", reason=pl.lit("too few"))[:1]
    assert printed(layout, reasons).rows() == [("too few",)]


PARTS = [(name, part) for name, parts in sorted(layouts().items()) for part in parts]


@pytest.mark.parametrize(("name", "layout"), PARTS, ids=[part.title for _, part in PARTS])
def test_a_layout_shows_columns_of_its_table_and_each_heading_once(
    name: str, layout: Layout
) -> None:
    empty = pl.DataFrame(schema=import_module(f"userturn.tables.{name}").SCHEMA)
    headings = [column.heading for column in layout.columns if column.heading]
    shown = page_table(layout, empty, "heuristic")["columns"]
    assert [heading for heading, _ in shown] == headings == list(dict.fromkeys(headings))
    printed_headings = [c.printed for c in layout.columns if c.printed]
    assert len(printed_headings) == len(set(printed_headings))
    assert printed(layout, empty).is_empty()


def test_a_part_that_only_the_report_shows_is_not_in_markdown(tmp_path: Path) -> None:
    of_report = Layout("Every row", {}, reported(*texts("judge")))
    write_all(TABLE, [f"{tmp_path}/x.md"], "identity", (ONCE, of_report))
    assert "Every row" not in (tmp_path / "x.md").read_text()

"""Tables with another format have a column for it; all others stay as they are."""

import polars as pl

from userturn.tables.format_columns import in_default_format, join_formats, split_formats

JOINED = pl.DataFrame(
    {
        "family": ["f", "f+thinking", "f+thinking"],
        "model": ["f-1b", "f-1b+thinking", "all"],
        "n": [1, 2, 3],
    }
)


def test_format_has_a_column_after_the_model() -> None:
    assert split_formats(JOINED).to_dict(as_series=False) == {
        "family": ["f", "f", "f"],
        "model": ["f-1b", "f-1b", "all"],
        "format": ["default", "thinking", "thinking"],
        "n": [1, 2, 3],
    }


def test_joining_undoes_splitting() -> None:
    assert join_formats(split_formats(JOINED)).equals(JOINED)


def test_table_without_another_format_has_no_column_more() -> None:
    plain = JOINED[:1]
    assert split_formats(plain) is plain
    assert join_formats(plain) is plain
    none = pl.DataFrame({"judge": ["heuristic"]})
    assert split_formats(none) is none


def test_base_and_baseline_are_named_as_models() -> None:
    table = pl.DataFrame({"model": ["s+f"], "base": ["b+f"], "baseline": ["b+f"]})
    assert split_formats(table).row(0, named=True) == {
        "model": "s",
        "format": "f",
        "base": "b",
        "baseline": "b",
    }


def test_default_format_shows_each_model_once() -> None:
    assert in_default_format(JOINED)["model"].to_list() == ["f-1b"]

"""Turns of known kind have their label, language and conversation."""

from pathlib import Path

import polars as pl
import pytest

from userturn.judges.verdict import GENUINE
from userturn.tables.known_turns import add_true_labels, first_messages, lengths


def test_conversations_that_share_their_system_prompt_are_told_apart(tmp_path: Path) -> None:
    system = {"role": "system", "content": "Be brief."}
    messages = [[system, {"role": "user", "content": text}] for text in ("Hello?", "Why?", "Why?")]
    path = tmp_path / "d.parquet"
    pl.DataFrame({"item": ["a", "b", "c"], "messages": messages}).write_parquet(path)
    found = first_messages([str(path)])
    assert found["conversation"].to_list() == ["Hello?", "Why?", "Why?"]
    assert found["dataset"].unique().to_list() == ["d"]


def test_human_turns_have_the_language_of_their_item_where_the_dataset_tells_it(
    tmp_path: Path,
) -> None:
    messages = [[{"role": "user", "content": "Hallo"}]]
    table = pl.DataFrame({"item": ["a"], "messages": messages})
    table.write_parquet(tmp_path / "any.parquet")
    table.with_columns(language=pl.lit("de")).write_parquet(tmp_path / "told.parquet")
    found = first_messages([str(tmp_path / "any.parquet"), str(tmp_path / "told.parquet")])
    assert dict(found.select("dataset", "language").iter_rows()) == {"any": None, "told": "de"}


def test_labelled_turns_are_joined_by_their_item() -> None:
    verdicts = pl.DataFrame({"judge": ["j", "j"], "item": ["b", "a"], "label": ["generic", None]})
    items = pl.DataFrame(
        {"item": ["a", "b"], "conversation": ["x", "y"], "language": ["en", "de"]}
        | {"label": [GENUINE, "generic"]}
    )
    said = pl.DataFrame({"item": ["a", "b"], "text": ["Why?", "x" * 121]})
    found = add_true_labels(verdicts, items, said)
    assert found.select("cluster", "truth", "label", "length").rows() == [
        ("y", "generic", "generic", "over 120 characters"),
        ("x", GENUINE, None, "up to 30 characters"),
    ]


@pytest.mark.parametrize(
    ("n", "shown"),
    [
        (30, "up to 30 characters"),
        (31, "31 to 120 characters"),
        (120, "31 to 120 characters"),
        (121, "over 120 characters"),
    ],
)
def test_lengths_are_bins_of_characters(n: int, shown: str) -> None:
    assert pl.DataFrame({"t": ["x" * n]}).select(lengths(pl.col("t"))).item() == shown

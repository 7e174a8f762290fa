"""Human turns that belong to one conversation are counted together, others are not."""

from pathlib import Path

import polars as pl

from userturn.tables.controls import first_messages


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

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

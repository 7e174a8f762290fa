"""A table that comes in parts is the table that comes whole."""

from pathlib import Path

import polars as pl

from userturn.storage.parquet import PART, write_parts


def test_bytes_do_not_depend_on_where_the_parts_end(tmp_path: Path) -> None:
    n = PART + 10
    table = pl.DataFrame({"item": [f"i{i}" for i in range(n)], "said": [None, "x"] * (n // 2)})
    for name, size in (("whole", n), ("parts", 700)):
        write_parts(table.iter_slices(size), tmp_path / name, "identity")
    assert (tmp_path / "whole").read_bytes() == (tmp_path / "parts").read_bytes()
    assert pl.read_parquet(tmp_path / "parts").equals(table)

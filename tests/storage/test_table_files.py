"""A table that comes in parts is the table that comes whole."""

import os
import subprocess
from pathlib import Path

import polars as pl
import pytest

from userturn.disk_space import is_full_disk
from userturn.storage.table_files import PART, write_parts


def test_bytes_do_not_depend_on_where_the_parts_end(tmp_path: Path) -> None:
    n = PART + 10
    table = pl.DataFrame({"item": [f"i{i}" for i in range(n)], "said": [None, "x"] * (n // 2)})
    for name, size in (("whole", n), ("parts", 700)):
        write_parts(table.iter_slices(size), tmp_path / name, "identity")
    assert (tmp_path / "whole").read_bytes() == (tmp_path / "parts").read_bytes()
    assert pl.read_parquet(tmp_path / "parts").equals(table)


def test_a_disk_that_fills_up_is_told_and_leaves_no_file(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("mounting a small disk needs root")
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", disk]).returncode:
        pytest.skip("this machine lets nobody mount a small disk")
    try:
        with pytest.raises(OSError) as told:
            write_parts([pl.DataFrame({"n": range(9000)})], disk / "table", "identity")
        assert is_full_disk(told.value)
        assert not list(disk.iterdir())
    finally:
        subprocess.run(["umount", disk], check=True)

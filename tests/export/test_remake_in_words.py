"""What a remake says of the files that it made and left out."""

from pathlib import Path

from userturn.export.remake import NAMED, Outcome, format_outcome


def test_files_left_out_for_one_reason_share_a_line() -> None:
    cells = {f"results/report/data/cell-{i}.js": "rows of a" for i in range(NAMED + 2)}
    tables = {f"results/tables/costs.{ending}": "no journals" for ending in ("csv", "parquet")}
    outcome = Outcome(["results/tables/x.csv"], {"results/figures/y.svg": "why"}, cells | tables)
    said = format_outcome(outcome, Path("made")).splitlines()
    assert said[0].endswith("1 equal byte for byte, 1 unequal, 34 left out")
    assert said[1] == "unequal: results/figures/y.svg: why"
    assert said[2].startswith("left out: 32 files (results/report/data/cell-0, ")
    assert said[2].endswith("cell-29 and 2 more): rows of a")
    assert said[3:] == ["left out: 2 files (results/tables/costs): no journals"]

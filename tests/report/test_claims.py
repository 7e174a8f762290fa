"""The claims sheet of an archive: every number is in its file, every file is there."""

import re
from pathlib import Path
from zipfile import ZipFile

import polars as pl
import pytest

from userturn.audit.run import audit
from userturn.cli.main import main
from userturn.report.claims import SHEET, claims_sheet
from userturn.tables.layout import layouts

pytestmark = pytest.mark.slow

NUMBER = re.compile(r"^\| [^|]+ \| ([\d.]+) \[.*?\] \| \d+ \| ([^|]+) \| results/(\S+) \|$", re.M)
FILE = re.compile(r"^\| [^|]+ \| (results/\S+) \| `snakemake --cores 2 --force (\S+)` \|$", re.M)


def test_every_number_stands_in_the_row_and_file_that_the_sheet_names(finished_study: Path) -> None:
    sheet = claims_sheet(finished_study / "results")
    found = NUMBER.findall(sheet)
    assert {path for _, _, path in found} >= {"tables/rates.csv", "tables/accuracy.csv"}
    for value, row, path in found:
        table = pl.read_csv(finished_study / "results" / path, infer_schema_length=None)
        for named in row.split(", "):
            name = next(name for name in table.columns if named.startswith(f"{name} "))
            wanted = named.removeprefix(f"{name} ")
            table = table.filter(pl.col(name).cast(pl.String) == wanted)
        assert table.height == 1
        shares = [table[0, name] for name in ("estimate", "floor") if name in table.columns]
        assert f"{100 * shares[0]:.1f}" == value
    assert "the judge alone: heuristic is not validated" in sheet


def test_every_file_of_the_sheet_is_in_the_archive(finished_study: Path, tmp_path: Path) -> None:
    archive = tmp_path / "results.zip"
    assert main(["export", str(finished_study / "results"), "--to", str(archive)]) == 0
    with ZipFile(archive) as packed:
        files = FILE.findall(packed.read(SHEET).decode())
        made = {path for path in packed.namelist() if path.endswith((".svg", ".csv"))}
    titled = {f"results/tables/{name}.csv" for name in layouts()}
    listed = {path for path in made if path in titled or path.startswith("results/figures/")}
    assert {path for path, _ in files} == listed and len(listed) > 10
    assert all(path == target for path, target in files)


def test_an_edited_number_of_the_sheet_is_found(study: Path) -> None:
    sheet = claims_sheet(study / "results")
    (study / SHEET).write_text(sheet)
    assert audit(study / "results").findings == []
    value, _, path = NUMBER.findall(sheet)[0]
    (study / SHEET).write_text(sheet.replace(f"| {value} [", "| 99.9 [", 1))
    (finding,) = audit(study / "results").findings
    assert finding.artifact == SHEET and f"| results/{path} |" in finding.expected

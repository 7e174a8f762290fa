"""A finished study is made again from its archive alone; what differs or is missing is named."""

import json
from pathlib import Path
from zipfile import ZipFile

import pytest

from userturn.cli.main import main
from userturn.export.read_archive import LEFT_OUT
from userturn.export.remake import remake_after_verdicts
from userturn.export.write_archive import export
from userturn.storage.hashing import file_sha256

pytestmark = pytest.mark.slow

MADE = ("results/tables/", "results/figures/", "results/report/")
# These count accounts, which an archive without journals lacks.
COUNTED = {f"results/tables/{name}" for name in ("costs.csv", "costs.parquet")}


def test_archive_alone_gives_equal_tables_figures_and_report(
    finished_study: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    elsewhere = tmp_path / "a folder"
    elsewhere.mkdir()
    export(finished_study / "results", elsewhere / "results.zip")
    monkeypatch.chdir(elsewhere)
    assert main(["remake", "results.zip", "--to", "remade"]) == 0
    with ZipFile("results.zip") as archive:
        wanted = {name for name in archive.namelist() if name.startswith(MADE)}
        made = {p.as_posix() for f in MADE for p in Path("remade", f).rglob("*") if p.is_file()}
        assert {f"remade/{name}" for name in wanted - COUNTED} == made
        for name in wanted - COUNTED:
            assert Path("remade", name).read_bytes() == archive.read(name), name
    assert main(["compare", "results.zip", str(finished_study / "results")]) == 0
    said = capsys.readouterr().out
    assert "4 shared cells, 4 of them made with the same settings" in said
    assert f"{len(made)} equal byte for byte, 0 unequal, {len(COUNTED)} left out" in said
    assert "(results/tables/costs): it is counted in accounts" in said


def test_an_altered_table_is_made_right_and_named(
    study: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = study / "results" / "tables" / "rates.csv"
    right = path.read_bytes()
    path.write_bytes(right.replace(b"word-problems", b"other-problems"))
    assert main(["remake", str(study / "results"), "--to", str(tmp_path / "made")]) == 1
    assert "unequal: results/tables/rates.csv" in capsys.readouterr().out
    assert (tmp_path / "made" / "results" / "tables" / "rates.csv").read_bytes() == right


def test_what_is_made_from_withheld_rows_is_left_out_with_the_reason(
    study: Path, tmp_path: Path
) -> None:
    path = "results/cells/tiny/word-problems/t0/none/verdicts/heuristic.parquet"
    listed = {"path": path, "sha256": file_sha256(study / path), "reason": "rows of a dataset"}
    (study / LEFT_OUT).write_text(json.dumps({"files": [listed]}))
    (study / path).unlink()
    outcome = remake_after_verdicts(study / "results", tmp_path / "made")
    assert outcome.unequal == {}
    assert outcome.left_out["results/tables/contrasts.parquet"].endswith(": rows of a dataset")
    assert outcome.left_out["results/report/index.html"].endswith(": rows of a dataset")
    assert "results/tables/accuracy.parquet" in outcome.equal  # of grades, not of verdicts
    assert "results/figures/rates_by_temperature.svg" in outcome.equal  # its tables are there


def test_a_damaged_input_is_a_reason_and_no_traceback(study: Path, tmp_path: Path) -> None:
    path = study / "results" / "grades" / "tiny" / "word-problems.parquet"
    path.write_bytes(path.read_bytes()[:-20])
    outcome = remake_after_verdicts(study / "results", tmp_path / "made")
    assert "is damaged" in outcome.left_out["results/tables/accuracy.parquet"]
    assert (tmp_path / "made" / "results" / "tables" / "judges.parquet").is_file()

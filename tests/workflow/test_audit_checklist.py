"""An audit says of every artifact whether it was compared, and what it lacked to compare it."""

import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.forgery import first_row, forge, rewrite
from userturn.audit.check_replay import OTHER_FONTS
from userturn.audit.findings import COMPARED, OTHER, ROOT
from userturn.audit.result import NO_JOURNALS, Audit
from userturn.audit.run import audit
from userturn.cli.main import main
from userturn.workflow.job_record import read_record, write_record

pytestmark = pytest.mark.slow


def states(done: Audit) -> Counter[str]:
    return Counter(status.state for status in done.statuses)


def reason(done: Audit, path: str) -> str:
    """Return why a file was not compared."""
    (status,) = [of for of in done.statuses if of.artifact == f"results/{path}"]
    assert status.state == OTHER
    return status.why


def test_every_artifact_of_a_whole_study_is_compared_or_a_root(study: Path) -> None:
    done = audit(study / "results")
    assert done.findings == []
    assert states(done)[OTHER] == 0
    assert len(done.statuses) == done.n_artifacts == states(done).total()
    roots = {of.artifact.split("/")[1] for of in done.statuses if of.state == ROOT}
    assert roots == {"study.json", "models", "revisions", "requests", "drawn"}


def without(path: str) -> Callable[[Path], None]:
    def remove(study: Path) -> None:
        place = study / path
        shutil.rmtree(place) if place.is_dir() else place.unlink()

    return remove


def of_other_altair(study: Path) -> None:
    """Let the figures be those of another altair, which draws other bytes."""
    path = study / "results/provenance/draw_figures.json"
    record = read_record(path)
    assert record is not None
    record["made"]["versions"]["altair"] = "1.0"
    write_record(path, record)
    chart = study / "results/figures/rates_by_temperature.vl.json"
    chart.write_text(chart.read_text() + " ")
    forge(study / "results", "figures/rates_by_temperature.vl.json", everywhere=True)


def of_other_fonts(study: Path) -> None:
    """Let every picture be drawn as a machine with other fonts draws it."""
    for picture in sorted((study / "results/figures").glob("*.[sp][vn]g")):
        picture.write_bytes(picture.read_bytes() + b"\n")
        forge(study / "results", f"figures/{picture.name}", everywhere=True)


CHART, PICTURE = (f"figures/rates_by_temperature.{ending}" for ending in ("vl.json", "svg"))
TAKEN_AWAY = {  # what is, how, an artifact that is then not compared, and why not
    "data": (without("data"), "report/index.html", "data/captions/accuracy.rst is missing"),
    "labelled turns": (without("data/labelled"), "humans/first/task.html", "data/labelled/turns"),
    "journals": (without("results/journal"), "answers/tiny/word-problems.parquet", NO_JOURNALS),
    "altair": (of_other_altair, CHART, "it was made with altair 1.0, and altair"),
    "fonts": (of_other_fonts, PICTURE, OTHER_FONTS),
    "a tokenizer": (without("models"), "models/tiny.json", "not rendered again: the tokenizer of"),
}


@pytest.mark.parametrize("what", TAKEN_AWAY)
def test_an_input_that_is_taken_away_is_named_and_accuses_nobody(what: str, study: Path) -> None:
    change, path, why = TAKEN_AWAY[what]
    change(study)
    done = audit(study / "results", with_tokenizers=what == "a tokenizer")
    assert done.findings == [] and reason(done, path).startswith(why)
    assert states(done).total() == len(done.statuses) == done.n_artifacts


def test_the_command_says_how_many_artifacts_were_not_compared_and_why(
    study: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change, _, why = TAKEN_AWAY["data"]
    change(study)
    now = states(audit(study / "results"))
    command = ["audit", str(study / "results"), "--to", str(tmp_path / "said")]
    assert now[OTHER] > 0 and main(command) == 3
    counts = f"{now[COMPARED]} compared, {now[ROOT]} roots, {now[OTHER]} not compared"
    said, page = capsys.readouterr().out, (tmp_path / "said" / "audit.html").read_text("utf-8")
    assert said.count(counts) == 1 and counts in page and f"): {why}" in said


def test_a_forged_report_of_a_study_without_captions_is_not_called_right(study: Path) -> None:
    results = study / "results"
    without("data/captions")(study)
    page = results / "report/index.html"
    page.write_text(page.read_text("utf-8").replace("<main", "<script>1</script><main", 1), "utf-8")
    forge(results, "report/index.html", everywhere=True)
    assert reason(audit(results), "report/index.html").startswith("data/captions/")


def test_of_what_is_made_from_a_forged_table_only_the_table_is_told(study: Path) -> None:
    results, path = study / "results", "tables/accuracy.parquet"
    rewrite(results / path, first_row(n_graded=1234))
    forge(results, path, everywhere=True)
    done = audit(results)
    assert {finding.artifact for finding in done.findings} <= {
        f"results/{path}",
        "results/tables/accuracy.csv",
    }
    assert f"made from results/{path}" in reason(done, "figures/accuracy_and_followup.vl.json")

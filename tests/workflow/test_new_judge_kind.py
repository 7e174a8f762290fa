"""A judge kind that is added as docs/extending.md says judges cells and is audited."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from tests.support.snakemake_runs import ROOT, run

pytestmark = pytest.mark.slow

KIND = '''"""`kind: question_mark`: a turn that asks is a genuine follow-up."""

from userturn.judges.verdict import GENUINE, Verdict

IS_DETERMINISTIC = True
SAW_LABELLED_TURNS = False
HAS_ENDPOINT = False
HAS_PROBABILITIES = False
IS_ENGLISH_ONLY = False


def complete(entry, defaults):
    return dict(entry)


def check(where, entry, config):
    pass


def identity(entry):
    return dict(entry)


def price(entry, n_calls, n_tokens):
    return 0.0, 0.0


def judge_turns(judge, turns, paid_by):
    mark = judge.settings["mark"]
    return [Verdict(GENUINE if mark in turn.text else "generic", "r") for turn in turns]


def verdicts(judge, cell, n_at_once):
    yield cell, recorded_verdicts(judge, {}, {}, cell)


def recorded_verdicts(judge, identity, texts, cell):
    return judge_turns(judge, [turn for turn in cell.user_turns()], "")
'''


def add_kind(project: Path) -> None:
    """Do what docs/extending.md says."""
    shutil.copytree(ROOT / "src", project / "src")
    (project / "src/userturn/judges/question_mark.py").write_text(KIND)
    keys = project / "src/userturn/config/judge_keys.py"
    text = keys.read_text()
    changed = text.replace('"scored"]', '"scored", "question_mark"]', 1)
    own = '    """The keys of every kind of judge."""\n'
    more = '    mark: Annotated[str, harmless("What marks a follow-up.")]\n'
    assert changed != text and own in changed
    keys.write_text(changed.replace(own, own + more))
    with (project / "study.yaml").open("a") as study:
        study.write("judges:\n  asks: {kind: question_mark, mark: '?'}\n")
    study_file = project / "study.yaml"
    selected = "run:\n  judges: [heuristic, asks]\n"
    study_file.write_text(study_file.read_text().replace("run:\n", selected, 1))


def test_new_kind_judges_a_finished_study_and_is_audited(
    study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_kind(study)
    monkeypatch.setenv("PYTHONPATH", f"{study / 'src'}{os.pathsep}{ROOT}")
    run(study)
    path = study / "results/cells/tiny/word-problems/t0/none/verdicts/asks.parquet"
    verdicts = pl.read_parquet(path)
    turns = pl.read_parquet(path.parents[1] / "user_turns.parquet")
    assert verdicts["genuine"].to_list() == ["?" in (text or "") for text in turns["text"]]

    def audited() -> str:
        code = (
            "import sys; from userturn.cli.main import main; sys.exit(main(['audit', 'results']))"
        )
        command = [sys.executable, "-c", code]
        return subprocess.run(command, cwd=study, capture_output=True, text=True).stdout

    assert "no finding" in audited()
    forged = verdicts.with_columns(rationale=pl.lit("forged"))
    forged.write_parquet(path, metadata=pl.read_parquet_metadata(path))
    assert "verdicts/asks.parquet" in audited()

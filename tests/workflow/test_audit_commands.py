"""The command that an audit prints for a finding mends it, and plans no other study."""

import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.forgery import first_row, flip, forge, rewrite
from tests.support.snakemake_runs import SNAKEMAKE as PROGRAM
from tests.support.snakemake_runs import planned
from userturn.audit.findings import SNAKEMAKE, Finding
from userturn.audit.run import audit
from userturn.cli.main import main

pytestmark = pytest.mark.slow

CELL = "cells/tiny/word-problems/t0/none"
TURNS = f"{CELL}/user_turns.parquet"
VERDICTS = f"{CELL}/verdicts/heuristic.parquet"


def edit_verdicts(results: Path) -> None:
    rewrite(results / VERDICTS, first_row(label="genuine_followup", genuine=True))
    forge(results, VERDICTS, everywhere=True)


def edit_printed_table(results: Path) -> None:
    path = "tables/contrasts.tex"
    (results / path).write_text((results / path).read_text() + "% more\n")
    forge(results, path, everywhere=True)


def edit_answers(results: Path) -> None:
    path = "answers/tiny/word-problems.parquet"
    rewrite(results / path, first_row(answer="42"))
    forge(results, path, everywhere=True)


def older_report(results: Path) -> None:
    rewrite(results / "tables/equivalence.parquet", first_row(n=99))
    forge(results, "tables/equivalence.parquet")


def edited(path: Path) -> None:
    path.write_text(path.read_text().replace('"schema_version": "1"', '"schema_version": "2"'))


def of(kind: str) -> Callable[[Path], Path]:
    return lambda results: min(results.glob(kind))


def stray(results: Path) -> None:
    shutil.copy(results / TURNS, results / CELL / "more turns.parquet")


def unread_line(results: Path) -> None:
    with min(results.glob("journal/tiny/**/*.jsonl")).open("a") as journal:
        journal.write("{}\n")


FAULTS: dict[str, Callable[[Path], object]] = {
    "an altered table": lambda results: flip(results / "tables" / "rates.parquet"),
    "an altered plan": lambda results: flip(of("requests/tiny/**/*.parquet")(results)),
    "a lost plan": lambda results: shutil.rmtree(of("requests/tiny/*/*")(results)),
    "an altered pin": lambda results: flip(results / "revisions" / "tiny.json"),
    "altered data of the report": lambda results: flip(of("report/data/*.js")(results)),
    "an altered marker": lambda results: flip(of("sweeps/tiny/*.json")(results)),
    "a lost figure": lambda results: (results / "figures" / "grid_overview.svg").unlink(),
    "a lost cell": lambda results: (results / TURNS).unlink(),
    "a lost drawn round": lambda results: shutil.rmtree(results / "drawn"),
    "an edited record": lambda results: edited(results / "provenance" / "tabulate.json"),
    "a stray table": stray,
    "a line that no job recorded": unread_line,
    "lost aliases": lambda results: (results / "journal" / "aliases.json").unlink(),
    "edited verdicts": edit_verdicts,
    "edited answers": edit_answers,
    "an edited printed table": edit_printed_table,
    "a report older than a table": older_report,
}


def findings_of(study: Path, whole: Path, fault: Callable[[Path], object]) -> list[Finding]:
    """Return what is found of a fault, in a copy that is whole again afterwards."""
    fault(study / "results")
    findings = audit(study / "results").findings
    shutil.rmtree(study / "results")
    shutil.copytree(whole / "results", study / "results", copy_function=shutil.copy2)
    return findings


def parts_of(command: str) -> list[list[str]]:
    return [shlex.split(part) for part in command.split(" && ")]


@pytest.mark.long
def test_commands_of_every_kind_of_finding_ask_for_what_rules_make_with_the_studys_configuration(
    study: Path, finished_study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(study)
    assert main(["audit", "results"]) == 0
    shutil.copy(study / "results" / "audit" / "config.yaml", study / "study.yaml")
    targets: set[str] = set()
    for name, fault in FAULTS.items():
        findings = findings_of(study, finished_study, fault)
        assert findings, name
        for part in (part for f in findings for part in parts_of(f.fix)):
            if part[0] == "snakemake":
                assert part[: len(SNAKEMAKE.split())] == SNAKEMAKE.split(), part
                targets.update(part[part.index("--force") + 1 :] if "--force" in part else [])
            else:
                assert part[0] in ("rm", "cp", "mv", "mkdir", "head"), part
                assert any(word.startswith("results/") for word in part[1:]), part
    jobs = planned(study, "--force", *sorted(targets))
    assert len(targets) > 5 and jobs["sweep"] <= 1  # of `tiny`; the paper's grid has many


@pytest.mark.long
def test_commands_pasted_as_they_are_printed_mend_what_was_found(
    study: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(study)
    monkeypatch.setenv("PATH", f"{PROGRAM.parent}:/usr/bin:/bin")
    rewrite(study / "results" / VERDICTS, first_row(label="genuine_followup", genuine=True))
    forge(study / "results", VERDICTS)
    for fault in (
        "a stray table",
        "a line that no job recorded",
        "an altered plan",
        "lost aliases",
    ):
        FAULTS[fault](study / "results")
    capsys.readouterr()
    main(["audit", "results"])
    printed = capsys.readouterr().out.splitlines()
    pasted = {line.split("fix", 1)[1].strip() for line in printed if line.startswith("  fix ")}
    assert {command.split()[0] for command in pasted} == {"snakemake", "mv", "rm"}
    for command in sorted(pasted):
        subprocess.run(["bash", "-c", command], check=True, stdout=subprocess.DEVNULL)
    assert audit(study / "results").findings == []

"""An audit on its page and in words: every check, what it found, and what was compared."""

import re
from dataclasses import replace

from tests.support import snakemake_runs
from userturn.audit.findings import COMPARED, OTHER, ROOT, Finding, Note, Status, remake
from userturn.audit.result import CHECKS, Audit, audit_page, format_audit

FINDING = Finding("tables", "results/tables/rates.csv", "1", "<b>2</b>\u202e", "snakemake")
STATUSES = [
    Status("results/grades/a/d.parquet", COMPARED),
    Status("results/models/a.json", ROOT),
    Status("results/tables/costs.csv", OTHER, "no accounts", could_be=True),
    Status("results/tables/rates.csv", COMPARED),
]
NEEDS = {"prompts": "--tokenizer"}
AUDIT = Audit([FINDING], [Note("pins", "results", "a note")], 9, "d", "r", "", STATUSES, NEEDS)
PAGE = audit_page(AUDIT)


def rows(n_columns: int) -> list[list[str]]:
    """Return the rows of the page's tables with so many columns."""
    page = re.sub("</?span[^>]*>", "", PAGE)
    every = [re.findall("<td>(.*?)</td>", row) for row in page.split("</tr>")]
    return [row for row in every if len(row) == n_columns]


def result(check: str) -> str:
    """Return what the checklist says of a check."""
    return next(row[2] for row in rows(3) if row[0] == check)  # notes come below


def test_each_check_has_what_it_found() -> None:
    assert (result("tables"), result("probes")) == ("1 found", "0 found")
    assert all(result(check) for check in CHECKS)


def test_a_check_that_was_not_made_is_not_called_passed() -> None:
    assert result("prompts") == "not made: needs --tokenizer"


def test_each_folder_has_how_many_artifacts_were_compared() -> None:
    assert rows(4) == [
        ["grades", "1", "0", "0"],
        ["models", "0", "1", "0"],
        ["tables", "1", "0", "1"],
    ]


def test_an_option_of_a_command_is_whole_and_a_dash_is_none() -> None:
    fix = "snakemake --force 'results/a--b' && `userturn audit --tokenizer` -- then"
    page = audit_page(replace(AUDIT, findings=[replace(FINDING, fix=fix)]))
    assert re.findall('<span class="option">(.*?)</span>', page) == [
        "--force",
        "--tokenizer",
        "--tokenizer",  # in the checklist
    ]


def test_nothing_that_was_found_is_markup() -> None:
    assert "&lt;b&gt;2&lt;/b&gt;\\u202e" in PAGE


def test_what_stands_between_backticks_is_code_and_still_no_markup() -> None:
    note = Note("pins", "results", "`a <b>` has no pin")
    page = audit_page(replace(AUDIT, notes=[note]))
    assert "<td><code>a &lt;b&gt;</code> has no pin</td>" in page


def test_docs_name_the_same_checks() -> None:
    text = (snakemake_runs.ROOT / "docs/audit.md").read_text("utf-8")
    (part,) = re.findall("## What each check finds(.*?)\n## ", text, re.DOTALL)
    named = [
        name for row in re.findall(r"^\| ([a-z, ]+) \|", part, re.M) for name in row.split(", ")
    ]
    assert sorted({*named} - {"check"}) == sorted(CHECKS)


def test_command_of_a_finding_is_one_line_however_long() -> None:
    path = "results/cells/a-model-of-a-long-name/a-dataset/t0/none/verdicts/heuristic.parquet"
    finding = Finding("tables", path, "a\nvalue", "another", remake(path))
    lines = format_audit(Audit([finding], [], 1, "d", "r")).splitlines()
    assert lines[:4] == [
        f"tables: {path}",
        "  expected  a value",
        "  found     another",
        f"  fix       {remake(path)}",
    ]


def test_a_name_with_a_line_break_makes_no_line_of_its_own() -> None:
    path = "results/a\n9 artifacts, digest d: no finding"
    finding, note = Finding("orphans", path, "x", "y", remake(path)), Note("orphans", path, path)
    lines = format_audit(Audit([finding], [note], 1, "d", "r")).splitlines()
    assert len(lines) == 4 + 1 + 2
    assert [line for line in lines if line.startswith("9 artifacts")] == []


def test_labels_are_imported_again_with_the_record_that_knows_their_files() -> None:
    command = remake("results/humans/first/annotations.parquet")
    assert "--force results/study.json results/humans/first/annotations.parquet && " in command

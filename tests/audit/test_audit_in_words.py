"""An audit in words: a command can be pasted from the terminal as it stands."""

from userturn.audit.audit import Audit, format_audit
from userturn.audit.findings import Finding, Note, remake


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

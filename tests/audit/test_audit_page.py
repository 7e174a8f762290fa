"""The page of an audit: every check with what it looked at and found."""

import re
from dataclasses import replace

from userturn.audit.audit import Audit
from userturn.audit.checks import CHECKS
from userturn.audit.findings import Finding, Note
from userturn.audit.write_audit import audit_page

FINDING = Finding("tables", "results/tables/rates.csv", "1", "<b>2</b>\u202e", "snakemake")
LOOKED_AT = dict.fromkeys(CHECKS, 1200) | {"prompts": None, "grades": 0}
AUDIT = Audit(
    [FINDING], [], [Note("pins", "results", "a note")], 9, "d", "r", "jobs ran", LOOKED_AT
)
PAGE = audit_page(AUDIT)


def line(check: str) -> list[str]:
    """Return the cells of a check's line in the checklist."""
    page = re.sub("</?span[^>]*>", "", PAGE)
    rows = [re.findall("<td>(.*?)</td>", row) for row in page.split("</tr>")]
    (cells,) = [row[1:] for row in rows if len(row) == 4 and row[0] == check]
    return cells


def test_each_check_has_what_it_looked_at_and_what_it_found() -> None:
    assert line("tables")[1:] == ["1,200", "1 found"]
    assert line("probes")[1:] == ["1,200", "nothing found"]
    assert all(line(check) for check in CHECKS)


def test_a_check_that_was_not_made_or_had_nothing_to_look_at_is_not_called_passed() -> None:
    assert line("prompts")[1:] == ["", "not made: needs --tokenizer"]
    assert line("grades")[1:] == ["0", "nothing to look at"]


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

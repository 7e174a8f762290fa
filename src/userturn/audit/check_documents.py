"""Are a study's description of its files, and an archive's claims, those of this version?"""

from collections.abc import Iterator
from shlex import quote

from userturn.audit.findings import Finding
from userturn.config.load import INSTALLATION
from userturn.report.claims import SHEET, claims_sheet
from userturn.workflow.study_files import FAULTS, Files

README = "results/README.md"
AGAIN = "export the study again: its sheet is written from its tables"


def check_documents(files: Files, broken: frozenset[str]) -> Iterator[Finding]:
    """Yield what describes a study and is another than this version writes of it.

    Another version may say otherwise, and of a copy that lacks tables, less can be said.
    """
    if any(map(files.other_code, files.makers)):
        return
    ours, there = INSTALLATION / README, files.at(README)
    if ours.is_file() and there.is_file() and ours.read_bytes() != there.read_bytes():
        fix = f"cp {quote(str(ours))} {README}"
        yield Finding("pages", README, "what this version says of its files", "another text", fix)
    if not files.at(SHEET).is_file() or any(path.startswith("results/tables/") for path in broken):
        return
    try:
        said = files.at(SHEET).read_text(encoding="utf-8").splitlines()
        lines = claims_sheet(files.results).splitlines()
    except FAULTS:
        return  # reported elsewhere, or not our sheet
    if (line := next((line for line in lines if line not in said), None)) is not None:
        yield Finding("tables", SHEET, line, "no such line", AGAIN)

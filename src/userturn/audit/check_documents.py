"""Are a study's description of its files, and an archive's claims, those of this version?"""

from collections.abc import Iterator
from shlex import quote

from userturn.audit.findings import Finding
from userturn.config.installation import INSTALLATION
from userturn.provenance.study_files import FAULTS, Files
from userturn.remake.claims import SHEET, claims_sheet, numbers_of


def check_readme(files: Files) -> Iterator[Finding]:
    """Yield the description of all files if it is another than this version's."""
    path = "results/README.md"
    ours, there = INSTALLATION / path, files.at(path)
    if not (ours.is_file() and there.is_file()) or any(map(files.other_code, files.makers)):
        return
    if ours.read_bytes() != there.read_bytes():
        fix = f"cp {quote(str(ours))} {path}"
        yield Finding("pages", path, "what this version says of its files", "another text", fix)


def check_claims(files: Files, broken: frozenset[str]) -> Iterator[Finding]:
    """Compare the numbers of an archive's claims sheet with those of its tables.

    Another version may name other rows, so only those are compared that both have.
    """
    sheet = files.at(SHEET)
    if not sheet.is_file():
        return
    try:
        said = numbers_of(sheet.read_text(encoding="utf-8"))
        made = numbers_of(claims_sheet(files.results))
    except FAULTS:
        return  # reported above, or not our sheet
    for (file, row), number in said.items():
        found = made.get((file, row), number)
        if found != number and broken.isdisjoint((file, file.replace(".csv", ".parquet"))):
            expected, noted = (f"{shown} of {n}" for shown, n in (found, number))
            fix = "export the study again: its sheet is written from its tables"
            yield Finding("tables", SHEET, f"{expected} in row {row} of {file}", noted, fix)

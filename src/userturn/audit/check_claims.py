"""Do the records of tables name what they are made from, and has a claims sheet their numbers?"""

from collections.abc import Iterator

from userturn.audit.findings import Finding, remake
from userturn.provenance.study_files import FAULTS, Files
from userturn.remake.claims import SHEET, claims_sheet, numbers_of
from userturn.workflow.run_job import identity_of, inputs_of
from userturn.workflow.study import Study


def check_inputs_of_tables(files: Files, study: Study) -> Iterator[Finding]:
    """Yield what the tables of this version were made from if their records do not name it."""
    for rule in study.tables.rules:
        record = files.records.get(f"results/provenance/{rule}.json")
        if record is None or record["identity"] != identity_of(study, rule):
            continue
        needs = {path for paths in inputs_of(study, rule).values() for path in paths}
        made, unnamed = min(record["outputs"]), needs - {*record["inputs"]}
        if unnamed and files.other_code(made) is None:
            noted = "its record does not name it"
            yield Finding("chain", made, f"made from {min(unnamed)}", noted, remake(made))


def check_claims(files: Files, broken: frozenset[str]) -> Iterator[Finding]:
    """Compare the numbers of an archive's claims sheet with those of its tables.

    Another version may name other rows, so only those are compared that both have.

    Args:
        files: the files of a results folder.
        broken: artifacts that were already reported.
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

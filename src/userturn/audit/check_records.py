"""Does every record say the rule, wildcards and identity of the job that its path names?"""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import PurePosixPath

from userturn.audit.findings import Finding, remake
from userturn.sources.registry import judge_rules
from userturn.storage.files import SCHEMA_VERSION
from userturn.storage.hashing import short_hash
from userturn.workflow.artifacts import Identities
from userturn.workflow.job_record import PROVENANCE, SWEEPS, JobRecord
from userturn.workflow.run_job import identity_of, inputs_of
from userturn.workflow.study import Study
from userturn.workflow.study_files import Files

SET_BACK = timedelta(hours=-1)
# What stands before a wildcard in the paths of user turns, such as the t of t0.7.
IN_PATHS = {
    name: before
    for rule in judge_rules()
    for before, name in re.findall(r"([^/{}]+)\{(\w+)\}", rule.folder)
}


def check_records(
    files: Files, wanted: Identities, labels: Mapping[str, Mapping[str, str]]
) -> Iterator[Finding]:
    """Yield the records of other jobs, and those of other settings or people's files."""
    for path, record in files.readable:
        made = min(record["outputs"], key=lambda name: (name not in wanted, name))
        rule, *names = PurePosixPath(path).relative_to(PROVENANCE).with_suffix("").parts
        if not _is_of(record, rule, names):
            said = " ".join([record["rule"], *record["wildcards"].values()])
            expected = f"the record of {' '.join([rule, *names])}"
            yield Finding("records", path, expected, f"that of {said}", remake(made))
        began, ended = (record["made"].get(name) for name in ("began", "ended"))
        if not _is_in_turn(began, ended):
            expected = f"a job that began before {ended}"
            yield Finding("records", path, expected, f"one that began {began}", remake(made))
        for name, digest in labels.get(record["wildcards"].get("round", ""), {}).items():
            is_import = record["rule"].startswith("import_")
            noted = record["inputs"].get(name, None if is_import else digest)
            if noted != digest:
                expected = f"{name} with sha256 {short_hash(digest)}, as in results/study.json"
                yield Finding("records", path, expected, short_hash(noted), remake(made))
        others = {wanted.get(name) for name in record["outputs"]}
        own = {"identity": wanted.get(made), "schema_version": SCHEMA_VERSION}
        for what, asked in own.items():
            found = record[what]
            # A depth of self-play is one job that writes answers and turns, each of an identity.
            if None not in (found, asked) and found not in {asked, *others}:
                noted = f"{what} {short_hash(found)} in its record"
                yield Finding("identities", made, f"{what} {short_hash(asked)}", noted)


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
            yield Finding("chain", made, f"made from {min(unnamed)}", noted)


def _is_of(record: JobRecord, rule: str, names: list[str]) -> bool:
    """Return whether a record is of a rule and of wildcards in any order."""
    values = [f"{IN_PATHS.get(name, '')}{v}" for name, v in record["wildcards"].items()]
    is_named = record["rule"] == rule or {record["rule"], rule} <= {*SWEEPS}
    return is_named and sorted(values) == sorted(names)


def _is_in_turn(began: str | None, ended: str | None) -> bool:
    """Return whether a job ended after it began, or the clock was set back by an hour at most."""
    if began is None or ended is None:
        return True
    try:
        return datetime.fromisoformat(ended) - datetime.fromisoformat(began) >= SET_BACK
    except (ValueError, TypeError):
        return False

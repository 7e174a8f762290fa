"""Does every file exist, unchanged, and was it made from the present inputs?

Every artifact belongs to the record of one job, with its hash, and the hashes of a job's inputs
must be those of the artifacts they came from. File times are never read. No file may hold a secret,
and the documents that describe a study must be those that this version writes.
"""

import json
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath
from shlex import quote

import pyarrow as pa

from userturn.audit.check_journals import check_journals
from userturn.audit.check_rounds import check_round_copies
from userturn.audit.findings import SNAKEMAKE, Finding, Note, remake
from userturn.config.load import INSTALLATION
from userturn.export.secrets import find_secrets, key_values
from userturn.report.claims import SHEET, claims_sheet
from userturn.storage.hashing import short_hash
from userturn.study.record import StudyRecord
from userturn.study.sweep_notes import whole_splits
from userturn.wording import number_of
from userturn.workflow.job_record import SWEEPS, JobRecord
from userturn.workflow.registry import FIGURES, TABLES
from userturn.workflow.study import Identities
from userturn.workflow.study_files import FAULTS, Files, is_hidden

# What is written once and outlives its job: pins, and notes of what a sweep has finished.
PERMANENT = ("results/revisions/", "results/served/", "results/sweeps/")
MARKERS = ("results/sweeps/", "results/judging/")  # each later job of a model rewrites them
READ = (".parquet", ".json", ".jsonl")  # files that the pipeline and its readers would read
OF_STUDY = ("results/tables/", "results/figures/")  # a study has those that its grid gives rows
NOT_NEEDED = "restore it from a copy or delete it: the study does not need it"
DRAWN_ONCE = ("draw_annotation_round", "draw_pairs")  # a round stays even if its cells change


def check_files(files: Files, required: Identities) -> list[Finding | Note]:
    """Return all findings and notes about files and records."""
    needed = _needed(files, required)
    return [
        *(_unreadable(files, path) for path, record in files.records.items() if record is None),
        *_missing(files, required, needed),
        *_altered(files, needed),
        *_claimed_twice(files),
        *_orphans(files, required),
        *_stale(files, required),
        *check_round_copies(files),
        *check_journals(files),
    ]


def _unreadable(files: Files, path: str) -> Finding:
    """Return the finding of a damaged record. Its fix makes the recorded outputs again."""
    try:
        outputs = map(str, json.loads(files.at(path).read_bytes())["outputs"])
        named = [name for name in outputs if name.startswith("results/")]
    except FAULTS:
        named = []
    again = "remove the record and audit again: findings then name what to make again"
    fix = remake(min(named)) if named else again
    expected = "a record with the checksum of its content"
    return Finding("records", path, expected, "another content", fix)


def _is_current(record: JobRecord, required: Identities) -> bool:
    """Return whether the configuration still needs a job's outputs.

    Tables about what a study no longer has, such as removed trained models, are not needed.
    """
    is_table = all(name.startswith(OF_STUDY) for name in record["outputs"])
    is_of_all = not record["wildcards"] and not is_table
    return is_of_all or not required.keys().isdisjoint(record["outputs"])


def _needed(files: Files, required: Identities) -> set[str]:
    """Return the paths of all files made by jobs that the configuration still needs.

    Besides outputs these are pins, and plans of required cells.
    """
    identities, needed = set(required.values()), {*required}
    for _, record in files.readable:
        if _is_current(record, required) or record["rule"] in SWEEPS:
            needed |= record["outputs"].keys()
            for path in record["beside"]:
                if path.startswith(PERMANENT) or PurePosixPath(path).parent.name in identities:
                    needed.add(path)
    return needed


def _is_planned_otherwise(files: Files, plan: str) -> bool:
    """Return whether the requests of a lost plan are in plans for another number of shards."""
    folder = f"{PurePosixPath(plan).parent}/"
    there = [PurePosixPath(path).stem for path in files.hashes if path.startswith(folder)]
    return plan.startswith("results/requests/") and whole_splits(there) != []


def _missing(files: Files, required: Identities, needed: set[str]) -> Iterator[Finding]:
    for artifact in sorted(needed):
        if artifact not in files.hashes and not _is_planned_otherwise(files, artifact):
            digest = files.noted.get(artifact)
            expected = "to be there" if digest is None else f"sha256 {short_hash(digest)}"
            fix = SNAKEMAKE if artifact in required else remake(artifact)
            yield Finding("completeness", artifact, expected, "no such file", fix)
        elif artifact not in files.makers:
            yield Finding("records", artifact, "the record of the job that made it", "none")


def _altered(files: Files, needed: set[str]) -> Iterator[Finding]:
    for artifact, noted in files.noted.items():
        digest = files.hashes.get(artifact)
        if digest is not None and digest != noted:
            fix, expected = "" if artifact in needed else NOT_NEEDED, f"sha256 {short_hash(noted)}"
            there = f"sha256 {short_hash(digest)}"
            yield Finding("hashes", artifact, f"{expected}, as it was made", there, fix)


def _claimed_twice(files: Files) -> Iterator[Finding]:
    for artifact, makers in files.makers.items():
        # Shards of one model share the note of a pinned revision, nothing else.
        rules = {record["rule"] for m in makers if (record := files.records[m]) is not None}
        if len(makers) > 1 and not rules <= {*SWEEPS}:
            yield Finding("records", artifact, "one job that made it", ", ".join(makers))


def _orphans(files: Files, required: Identities) -> Iterator[Finding | Note]:
    """Yield a finding for each file of no job that the pipeline would read, else a note."""
    others = []
    declared: Mapping[str, Collection[str]] = {"results/tables": TABLES, "results/figures": FIGURES}
    for artifact in files.present:
        if artifact in files.makers or artifact in required:
            continue
        folder, _, name = artifact.rpartition("/")
        is_of_before = folder in declared and name.partition(".")[0] not in declared[folder]
        if is_hidden(artifact) or not artifact.endswith(READ) or is_of_before:
            others.append(artifact)
        elif artifact.startswith("results/requests/") and artifact.endswith(".parquet"):
            text = "plan of an unfinished sweep; the next sweep of its cell writes it again"
            yield Note("orphans", artifact, text)
        else:
            fix = f"mv {quote(artifact)} ."
            yield Finding("orphans", artifact, "a file that a job made", "no job's", fix)
    if others:
        some = ", ".join(sorted(others)[:3])
        text = f"{number_of(len(others), 'file')} of no job ({some}), which nothing reads or counts"
        yield Note("orphans", "results", text)


def _stale(files: Files, required: Identities) -> Iterator[Finding | Note]:
    """Yield artifacts that were made from other inputs than the present ones.

    Files beside the results (rubric, captions) may belong to another project, so a different
    content there is only a note.
    """
    beside = set()
    for name, noted, output in _noted_inputs(files, required):
        own = files.noted.get(name) if name.startswith("results/") else files.hashes.get(name)
        if own is None or own == noted:  # a changed artifact is reported once, by `_altered`
            continue
        if not name.startswith("results/"):
            beside.add(name)
            continue
        expected = f"made from {name} with sha256 {short_hash(own)}"
        yield Finding("chain", output, expected, f"made from one with sha256 {short_hash(noted)}")
    for name in sorted(beside):
        text = "not the file that the study was made with; run `snakemake` if this is its project"
        yield Note("chain", name, text)


def _noted_inputs(files: Files, required: Identities) -> Iterator[tuple[str, str, str]]:
    """Yield (input, its recorded hash, an artifact made from it) for the jobs still needed."""
    for _, record in files.readable:
        if not _is_current(record, required) or record["rule"] in DRAWN_ONCE:
            continue
        there = [name for name in record["outputs"] if name in files.hashes]
        if not there:
            continue  # missing, and found so
        output = min(there, key=lambda name: (name not in required, name))
        for name, noted in record["inputs"].items():
            if not name.startswith(MARKERS):
                yield name, noted, output


def check_secrets(results: Path, record: StudyRecord, broken: frozenset[str]) -> Iterator[Finding]:
    """Yield every place with a likely secret, which itself is never shown."""
    values = key_values(record.config)
    fix = "revoke that key where it was issued, then remove it from the file"
    for path in sorted(path for path in results.rglob("*") if path.is_file()):
        with suppress(*FAULTS, pa.ArrowException):  # a damaged file is reported as altered
            name = f"results/{path.relative_to(results)}"
            for secret in find_secrets(path, values):
                description = f"{secret.kind} at {secret.where}"
                yield Finding("secrets", name, "no secret", description, fix)


README = "results/README.md"
AGAIN = "export the study again: its sheet is written from its tables"


def check_documents(files: Files, broken: frozenset[str]) -> Iterator[Finding]:
    """Yield documents about a study that differ from what this version writes.

    A study by another version, or a copy that lacks tables, may have others.
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
        own_lines = files.at(SHEET).read_text(encoding="utf-8").splitlines()
        lines = claims_sheet(files.results).splitlines()
    except FAULTS:
        return  # reported elsewhere, or not our sheet
    if (line := next((line for line in lines if line not in own_lines), None)) is not None:
        yield Finding("tables", SHEET, line, "no such line", AGAIN)

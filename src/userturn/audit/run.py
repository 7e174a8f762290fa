"""Audit a results folder: needs only the folder, no GPU, no network, no project.

docs/audit.md says what each check promises.
"""

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from tabulate import tabulate

from userturn.audit.audit import Audit
from userturn.audit.audit_page import audit_page
from userturn.audit.check_files import check_files
from userturn.audit.check_reruns import rerun
from userturn.audit.check_rows import check_answers, check_user_turns
from userturn.audit.check_secrets import check_secrets
from userturn.audit.check_settings import check_settings
from userturn.audit.check_tables import check_tables
from userturn.audit.check_verdicts import check_grades, check_verdicts
from userturn.audit.findings import Finding, Note
from userturn.audit.pair import Pair
from userturn.errors import UserError
from userturn.export.read_archive import opened, read_left_out
from userturn.logs import say
from userturn.provenance.job_record import code_sha256
from userturn.provenance.study_files import Files, digest_of
from userturn.storage.atomic_files import write_text
from userturn.study.record import StudyRecord, read_study_record
from userturn.workflow.artifacts import asked_for, is_optional
from userturn.workflow.study import Study

FEW_CELLS = 40  # which one process goes through before others have started


def open_record(results: Path) -> tuple[StudyRecord, Study]:
    """Return the record of a results folder, and the study that it is of.

    Raises:
        UserError: there is no record, or none of a study.
    """
    record = read_study_record(results)
    try:
        study = Study(record.grid(results))
        study.grid.verdict_identities  # noqa: B018  a record that lacks something is found here
        return record, study
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        raise UserError(
            f"'{results}/study.json' has no configuration that this version understands "
            f"({type(error).__name__}: {error}); audit it with the version that made it"
        ) from error


def audit(results: Path) -> Audit:
    """Check a results folder.

    Raises:
        UserError: it is none.
    """
    record, study = open_record(results)
    asked = asked_for(study)
    files = Files(results, read_left_out(results))
    wanted = {path: asked[path] for path in asked if path in files.makers or not is_optional(path)}
    found = check_files(files, wanted)
    altered = {item.artifact for item in found if isinstance(item, Finding)}
    broken = frozenset(altered | files.left_out.keys())
    found += check_settings(files, record, study, wanted)
    found += _content(results, study, broken)
    if any(isinstance(item, Finding) for item in found):
        found += _other_code(files)
    return Audit(
        sorted({item for item in found if isinstance(item, Finding)}),
        sorted({item for item in found if isinstance(item, Note)}),
        len(files.present),
        digest_of({path: files.hashes[path] for path in files.known}),
    )


def _other_code(files: Files) -> Iterator[Note]:
    """Yield which other code made the study: what differs may follow from that."""
    made = [record["made"] for _, record in files.readable]
    others = {m["commit"] or "of no commit" for m in made if m["code_sha256"] != code_sha256()}
    if others:
        yield Note(
            "code",
            "results",
            f"made by another version of userturn ({', '.join(sorted(others))}), so identities and "
            "tables may differ without anybody having altered them; run `snakemake` to make them "
            "again, which asks no model, or audit with that version",
        )


def _content(results: Path, study: Study, broken: frozenset[str]) -> Iterator[Finding | Note]:
    """Check the contents of files; parts of a large study in parallel processes."""
    pairs = [(model, dataset) for model in study.grid.models for dataset in study.grid.datasets]
    parts: list[Callable[[], Iterable[Finding | Note]]] = [
        partial(_tables, results, broken),
        partial(check_secrets, results),
        *(partial(_rows, results, broken, *pair) for pair in pairs),
    ]
    if len(study.grid.cells) <= FEW_CELLS:
        for part in parts:
            yield from part()
        return
    os.environ.setdefault("POLARS_MAX_THREADS", "1")  # of each process, which reads it as it starts
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        for running in [pool.submit(part) for part in parts]:
            yield from running.result()


def _tables(results: Path, broken: frozenset[str]) -> list[Finding]:
    record, study = open_record(results)
    return check_tables(Files(results, read_left_out(results)), record, study, broken)


def _rows(results: Path, broken: frozenset[str], model: str, dataset: str) -> list[Finding | Note]:
    record = read_study_record(results)
    pair = Pair(
        record.grid(results), record, model, dataset, Files(results, {}).has_journals, broken
    )
    found: list[Finding | Note] = [*check_answers(pair), *check_grades(pair)]
    for cell in pair.cells:
        found += [*check_user_turns(pair, cell), *check_verdicts(pair, cell)]
    return found


def write_audit(found: Audit, folder: Path) -> None:
    """Write an audit as JSON and as a page."""
    write_text(json.dumps(asdict(found), indent=1) + "\n", folder / "audit.json")
    write_text(audit_page(found), folder / "audit.html")


def format_audit(found: Audit) -> str:
    """Return an audit as text: a table of findings, then notes, then the sum."""
    lines = []
    if found.findings:
        rows = [(f.check, f.artifact, f.expected, f.found, f.fix) for f in found.findings]
        names = ("check", "artifact", "expected", "found", "fix")
        lines.append(tabulate(rows, names, "simple", maxcolwidths=[None, 40, 30, 30, 40]))
    lines += [f"note: {note.artifact}: {note.text} ({note.check})" for note in found.notes]
    counts = Counter(finding.check for finding in found.findings)
    kinds = ", ".join(f"{n} {check}" for check, n in sorted(counts.items()))
    verdict = f"{len(found.findings)} findings ({kinds})" if kinds else "no finding"
    lines.append(f"{found.n_artifacts} artifacts, digest {found.digest}: {verdict}")
    return "\n".join(lines)


def run_audit(
    path: str | Path, folder: str | Path, n_regenerated: int = 0, n_rejudged: int = 0
) -> int:
    """Audit a results folder or an archive of one, say and write what was found.

    Args:
        path: of the folder or archive.
        folder: for audit.json and audit.html.
        n_regenerated: requests to run again on the machine at hand.
        n_rejudged: verdicts to ask for again.

    Returns:
        0, or 1 with findings.
    """
    with opened(Path(path)) as results:
        found = audit(results)
        reruns = rerun(results, n_regenerated, n_rejudged)
    whole = replace(
        found,
        findings=sorted([*found.findings, *reruns.findings]),
        notes=sorted([*found.notes, *reruns.notes]),
    )
    say(format_audit(whole))
    try:
        write_audit(whole, Path(folder))
    except OSError as error:
        raise UserError(
            f"audit.json and audit.html could not be written to '{folder}' ({error.strerror}); "
            "name another folder with `--to`"
        ) from error
    return 1 if whole.findings else 0

"""Audit a results folder: it needs no more than that. docs/audit.md says what each check finds."""

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from userturn.audit.audit import Audit
from userturn.audit.check_aliases import check_aliases
from userturn.audit.check_claims import check_claims, check_inputs_of_tables
from userturn.audit.check_files import check_files
from userturn.audit.check_likelihood import check_likelihood
from userturn.audit.check_markers import check_markers
from userturn.audit.check_pairs import check_pairs
from userturn.audit.check_paths import check_paths
from userturn.audit.check_readme import check_readme
from userturn.audit.check_records import check_records
from userturn.audit.check_replay import check_replay, replayable
from userturn.audit.check_reruns import Samples
from userturn.audit.check_rounds import check_rounds
from userturn.audit.check_rows import check_rows
from userturn.audit.check_secrets import check_secrets
from userturn.audit.check_settings import check_settings
from userturn.audit.check_sources import check_sources
from userturn.audit.check_training import check_training
from userturn.audit.check_verdicts import check_grades, check_verdicts
from userturn.audit.checklist import checklist
from userturn.audit.checks import looked_at
from userturn.audit.findings import Finding, Item, Note, with_present_sweeps
from userturn.audit.pair import Pair
from userturn.export.read_archive import read_left_out
from userturn.no_network import forbid_network
from userturn.provenance.study_files import (
    FAULTS,
    Files,
    records_digest,
    study_digest,
    times_and_commits,
)
from userturn.remake.outcome import MADE_AGAIN
from userturn.sources.registry import judged
from userturn.storage.atomic_files import read_identity
from userturn.study.record import read_study_record
from userturn.workflow.artifacts import Identities, asked_for, is_optional
from userturn.workflow.recorded_study import open_record
from userturn.workflow.study import Study


def wanted_of(files: Files, study: Study) -> Identities:
    """Return the artifacts that a study must have, with their identities.

    Tables and what shows them have None: they are made again and compared, whatever an earlier
    version called them. Samples for people may be missing, or be those that an earlier round was
    drawn from.
    """
    before = drawn_from_before(files, study)
    return {
        path: None if path.startswith(MADE_AGAIN) else identity
        for path, identity in asked_for(study).items()
        if not is_optional(path) or (path in files.makers and path not in before)
    }


def drawn_from_before(files: Files, study: Study) -> set[str]:
    """Return the samples for people that a round was drawn from and that nothing made again since.

    A round is drawn once. Where a cell's verdicts changed after that, by another judge, setting or
    version of the code, its sample stays what the round was drawn from, and no job needs it.
    """
    if not any(path in files.makers for path in study.humans.keys):
        return set()
    asked = {path: identity for path, identity in asked_for(study).items() if is_optional(path)}
    return {
        path
        for path, identity in asked.items()
        if files.at(path).is_file()
        and path in files.makers
        and (files.made_of_others(path) or read_identity(files.at(path)) != identity)
    }


NO_SAMPLES = Samples()
FEW_CELLS = 40  # one process checks so many before others have started


def audit(results: Path, samples: Samples = NO_SAMPLES) -> Audit:
    """Check a results folder.

    Args:
        results: the results folder.
        samples: their nonce draws the answers that are graded again.

    Raises:
        UserError: it is not a results folder.
    """
    record, study = open_record(results)
    files = Files(results, read_left_out(results))
    wanted = wanted_of(files, study)
    found: list[Item] = [*check_paths(files, record), *check_files(files, wanted)]
    altered = {item.artifact for item in found if isinstance(item, Finding)}
    broken = frozenset(altered | files.left_out.keys() | drawn_from_before(files, study))
    found += check_settings(files, record, study, wanted)
    of_jobs = [*check_markers(files, wanted), *check_training(files, study.grid)]
    found += [item for item in of_jobs if item.artifact not in broken]
    found += [
        *check_records(files, wanted, record.contents.annotations),
        *check_aliases(files, study.grid),
    ]
    found += _content(files, study, broken, samples)
    grid = study.grid
    sweeps = {grid.places.of_model(m): study.generation.markers(m) for m in grid.models}
    findings = sorted(
        {with_present_sweeps(item, sweeps) for item in found if isinstance(item, Finding)}
    )
    others = [finding for finding in findings if _is_of_another_version(files, finding)]
    statuses = checklist(files, wanted, broken, found)
    return Audit(
        [item for item in findings if item not in others],
        others,
        sorted({item for item in found if isinstance(item, Note)}),
        len(files.recorded),
        study_digest(files),
        records_digest(files),
        times_and_commits(files),
        looked_at(files, statuses),
        statuses,
    )


def _is_of_another_version(files: Files, finding: Finding) -> bool:
    """Return whether other code may explain a finding about a recomputed or a new file.

    Requests and their rows are never excused: no version may change them.
    """
    if finding.artifact not in files.makers:
        is_new = finding.check == "completeness"
        return is_new and files.other_code("results/study.json") is not None
    if finding.check == "sources" and finding.artifact.endswith("/annotations.parquet"):
        return files.other_code(finding.artifact) is not None  # labels may gain a column
    recomputed = (
        "controls",
        "figures",
        "identities",
        "markers",
        "verdicts",
        "grades",
        "samples",
        "tables",
    )
    return finding.check in recomputed and files.other_code(finding.artifact) is not None


def _content(
    files: Files, study: Study, broken: frozenset[str], samples: Samples
) -> Iterator[Item]:
    """Check the contents of files; parts of a large study in parallel processes."""
    results = files.results
    pairs = [(model, dataset) for model in study.grid.models for dataset in study.grid.datasets]
    small = len(study.grid.cells) <= FEW_CELLS
    n_parts, jobs = 1 if small else 4 * (os.cpu_count() or 1), replayable(files, False)
    parts: list[Callable[[], Iterable[Item]]] = [
        partial(_replayed, results, broken, replayable(files, True)),
        *(partial(_replayed, results, broken, jobs[n::n_parts]) for n in range(n_parts)),
        partial(_of_people, results, broken),
        partial(check_secrets, results),
        partial(_sources, results, broken),
        partial(_other_verdicts, results, broken),
        partial(_likelihood, results, broken),
        *(partial(_rows, results, broken, samples, *pair) for pair in pairs),
    ]
    if small:
        for part in parts:
            yield from part()
        return
    os.environ.setdefault("POLARS_MAX_THREADS", "1")  # of each process, which reads it as it starts
    context = get_context("spawn")
    with ProcessPoolExecutor(os.cpu_count(), context, initializer=forbid_network) as pool:
        for running in [pool.submit(part) for part in parts]:
            yield from running.result()


def _replayed(results: Path, broken: frozenset[str], jobs: list[str]) -> list[Item]:
    record, study = open_record(results)
    files = Files(results, read_left_out(results))
    return check_replay(files, record, study, frozenset(wanted_of(files, study)), broken, jobs)


def _of_people(results: Path, broken: frozenset[str]) -> list[Item]:
    _, study = open_record(results)
    files = Files(results, read_left_out(results))
    rounds = [*check_rounds(files, study.humans, broken), *check_pairs(files, study.pairs, broken)]
    tables = [*check_inputs_of_tables(files, study), *check_claims(files, broken)]
    return [*rounds, *tables, *check_readme(files)]


def _sources(results: Path, broken: frozenset[str]) -> list[Item]:
    return list(check_sources(results, read_study_record(results), broken))


def _other_verdicts(results: Path, broken: frozenset[str]) -> list[Item]:
    """Check the verdicts on turns that no selected model wrote after a selected dataset."""
    record, with_journals = read_study_record(results), Files(results, {}).has_journals
    grid, found = record.grid(results), list[Item]()
    for turns in judged(grid).values():
        if turns.model not in grid.models or turns.dataset not in grid.datasets:
            pair = Pair(grid, record, turns.model, turns.dataset, with_journals, broken)
            found += check_verdicts(pair, turns)
    return found


def _likelihood(results: Path, broken: frozenset[str]) -> list[Item]:
    return list(check_likelihood(results, read_study_record(results), broken))


def _rows(
    results: Path, broken: frozenset[str], samples: Samples, model: str, dataset: str
) -> list[Item]:
    record = read_study_record(results)
    grid = record.grid(results)
    place = grid.places.of_pair(model, dataset)
    of_pair = tuple(f"results/{kind}/{place}/" for kind in ("requests", "journal"))
    is_whole = not any(path.startswith(of_pair) for path in read_left_out(results))
    with_journals = is_whole and Files(results, {}).has_journals
    pair = Pair(grid, record, model, dataset, with_journals, broken)
    found: list[Item] = []
    try:
        pair.outcomes if with_journals else None  # noqa: B018  its lines may have any form
    except FAULTS as error:
        journal, fix = f"results/journal/{place}", "restore the folder from a copy"
        found += [Finding("journals", journal, "finished requests", type(error).__name__, fix)]
        pair = replace(pair, with_journals=False)
    found += check_rows(pair)
    found += check_grades(pair, samples.rng("grades", model, dataset))
    for turns in judged(grid).values():
        if (turns.model, turns.dataset) == (model, dataset):
            found += check_verdicts(pair, turns)
    return found

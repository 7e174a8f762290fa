"""Audit a results folder from its own files. docs/audit.md says what each check finds.

`run_audit` makes every check, prints the result and writes it.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from userturn.audit.check_files import check_documents, check_files, check_secrets
from userturn.audit.check_journals import check_aliases
from userturn.audit.check_records import check_inputs_of_tables, check_markers, check_records
from userturn.audit.check_replay import check_replay, other_version, replayable
from userturn.audit.check_reruns import Samples, rerun
from userturn.audit.check_rounds import check_rounds
from userturn.audit.check_rows import check_likelihood, check_rows
from userturn.audit.check_settings import STUDY, check_paths, check_settings
from userturn.audit.check_sources import check_sources, check_training
from userturn.audit.check_verdicts import check_grades, check_verdicts
from userturn.audit.findings import Finding, Item, Note, name_present_sweeps
from userturn.audit.pair import Pair
from userturn.audit.result import (
    Audit,
    checklist,
    format_audit,
    locate_config,
    needs_of,
    write_audit,
)
from userturn.export.read_archive import opened, read_left_out
from userturn.export.remake import REMADE, Remaking
from userturn.logs import say
from userturn.processes import block_network, forbid_network
from userturn.sources.registry import asked, judged
from userturn.storage.files import read_identity
from userturn.study.powers import check_may_run
from userturn.study.record import StudyRecord, read_study_record
from userturn.workflow.study import Identities, Study, asked_for, is_optional, open_record
from userturn.workflow.study_files import (
    FAULTS,
    Files,
    records_digest,
    study_digest,
    times_and_commits,
)

Part = Callable[[], Iterable[Item]]


def required_identities(files: Files, study: Study) -> Identities:
    """Return the identities of the artifacts that a study must have, by path.

    Tables, figures and the report have None, since they are made again and compared whatever their
    identity. Samples for people are left out if no job made them, or if they are outdated.
    """
    before = outdated_samples(files, study)
    return {
        path: None if path.startswith(REMADE) else identity
        for path, identity in asked_for(study).items()
        if not is_optional(path) or (path in files.makers and path not in before)
    }


def outdated_samples(files: Files, study: Study) -> set[str]:
    """Return the paths of samples that are outdated, if any round was drawn.

    A sample is outdated if its inputs or its identity have changed. A round is drawn once, so no
    job needs the samples after that, and none makes them again.
    """
    if not any(path in files.makers for path in study.humans.keys):
        return set()
    identities = {
        path: identity for path, identity in asked_for(study).items() if is_optional(path)
    }
    return {
        path
        for path, identity in identities.items()
        if files.at(path).is_file()
        and path in files.makers
        and (files.has_changed_inputs(path) or read_identity(files.at(path)) != identity)
    }


NO_SAMPLES = Samples()
RECOMPUTED = ("identities", "markers", "verdicts", "grades", "samples")  # compared without a replay
OF_ROWS = ("keys", "rows", "probes", "verdicts", "grades", "samples", "sources")
FEW_CELLS = 40  # one process checks so many before others have started


def audit(results: Path, samples: Samples = NO_SAMPLES, with_tokenizers: bool = False) -> Audit:
    """Check a results folder, and run the samples of requests again.

    With tokenizers, prompts are also rendered and texts decoded again.

    Raises:
        UserError: it is not a results folder.
    """
    results = results.resolve()  # a study's inputs lie beside its folder, not beside a link to it
    record, study = open_record(results)
    files, grid = Files(results, read_left_out(results)), study.grid
    required = required_identities(files, study)
    with block_network():
        items: list[Item] = [*check_paths(files, record), *check_files(files, required)]
        altered = {item.artifact for item in items if isinstance(item, Finding)}
        broken = frozenset(altered | files.left_out.keys() | outdated_samples(files, study))
        items += check_settings(files, record, study, required)
        of_jobs = [*check_markers(files, required), *check_training(files, grid)]
        items += [item for item in of_jobs if item.artifact not in broken]
        items += check_records(files, required, record.contents.annotations)
        items += check_aliases(files, grid)
        items += _content(files, study, broken, samples)
    items += rerun(results, samples)
    if with_tokenizers:
        from userturn.audit.check_prompts import check_prompts  # transformers

        items += check_prompts(results)
    sweeps = {grid.places.model_name(m): study.generation.every_marker(m) for m in grid.models}
    findings = sorted(
        {name_present_sweeps(item, sweeps) for item in items if isinstance(item, Finding)}
    )
    excused = {item.artifact: why for item in findings if (why := _excuse(files, item))}
    statuses = checklist(files, required, broken, items, excused)
    return Audit(
        [item for item in findings if _excuse(files, item) is None],
        sorted({item for item in items if isinstance(item, Note)}),
        len(statuses),
        study_digest(files),
        records_digest(files),
        times_and_commits(files),
        statuses,
        needs_of(files.has_journals, samples.n_regenerated, samples.n_rejudged, with_tokenizers),
    )


def _excuse(files: Files, finding: Finding) -> str | None:
    """Return a sentence if another version may explain a finding about a file, else None.

    Requests and their rows are never excused: no version may change them.
    """
    path, check = finding.artifact, finding.check
    if path not in files.makers:
        return other_version(files, STUDY) if check == "completeness" else None
    return other_version(files, path) if check in RECOMPUTED else None


def _content(
    files: Files, study: Study, broken: frozenset[str], samples: Samples
) -> Iterator[Item]:
    """Check the contents of files, rows first, since artifacts made from wrong rows are wrong."""
    results, grid = files.results, study.grid
    pairs = {(of.model, of.dataset) for of in asked(grid).values()}
    pairs |= {(turns.model, turns.dataset) for turns in judged(grid).values()}
    is_small = len(grid.cells) <= FEW_CELLS
    n_parts, jobs = 1 if is_small else 4 * (os.cpu_count() or 1), replayable(files, False)
    checks: list[Part] = [
        *(partial(_once, results, broken, check) for check in ONCE),
        *(partial(_rows, results, broken, samples, *pair) for pair in sorted(pairs)),
    ]
    with _part_runner(is_small) as run_parts:
        row_items = [*run_parts(checks)]
        yield from row_items
        items = [item for item in row_items if isinstance(item, Finding) and item.check in OF_ROWS]
        wrong = broken | {item.artifact for item in items}
        replays: list[Part] = [
            partial(_replayed, results, wrong, replayable(files, True)),
            *(partial(_replayed, results, wrong, jobs[n::n_parts]) for n in range(n_parts)),
        ]
        yield from run_parts(replays)


@contextmanager
def _part_runner(is_small: bool) -> Iterator[Callable[[list[Part]], Iterator[Item]]]:
    """Yield a function that runs the parts of a check, for a large study in parallel processes."""
    if is_small:
        yield lambda parts: (item for part in parts for item in part())
        return
    os.environ.setdefault("POLARS_MAX_THREADS", "1")  # of each process, which reads it as it starts
    context = get_context("spawn")
    with ProcessPoolExecutor(os.cpu_count(), context, initializer=forbid_network) as pool:
        try:
            yield lambda parts: (
                item
                for running in [pool.submit(part) for part in parts]
                for item in running.result()
            )
        except BrokenProcessPool as error:
            raise MemoryError from error  # only a lack of memory ends a process


def _replayed(results: Path, broken: frozenset[str], jobs: list[str]) -> list[Item]:
    here = Remaking.load(results, results, prefers_remade=False)
    return check_replay(here, frozenset(required_identities(here.files, here.study)), broken, jobs)


def _documents(results: Path, record: StudyRecord, broken: frozenset[str]) -> Iterator[Item]:
    here = Remaking.load(results, results, prefers_remade=False)
    yield from check_rounds(here.files, here.study.humans, here.study.pairs, broken)
    yield from check_inputs_of_tables(here.files, here.study)
    yield from check_documents(here.files, broken)


Check = Callable[[Path, StudyRecord, frozenset[str]], Iterator[Item]]
ONCE: tuple[Check, ...] = (check_sources, check_secrets, _documents)


def _once(results: Path, broken: frozenset[str], check: Check) -> list[Item]:
    return list(check(results, read_study_record(results), broken))


def _rows(
    results: Path, broken: frozenset[str], samples: Samples, model: str, dataset: str
) -> list[Item]:
    record = read_study_record(results)
    grid = record.grid(results)
    names = grid.places.pair_folder(model, dataset)
    of_pair = tuple(f"results/{kind}/{names}/" for kind in ("requests", "journal"))
    is_whole = not any(path.startswith(of_pair) for path in read_left_out(results))
    with_journals = is_whole and Files(results, {}).has_journals
    pair = Pair(grid, record, model, dataset, with_journals, broken)
    items: list[Item] = []
    try:
        pair.outcomes if with_journals else None  # noqa: B018  its lines may have any form
    except FAULTS as error:
        journal, fix = f"results/journal/{names}", "restore the folder from a copy"
        items += [Finding("journals", journal, "finished requests", type(error).__name__, fix)]
        pair = replace(pair, with_journals=False)
    items += check_rows(pair)
    items += check_likelihood(pair)
    items += check_grades(pair, samples.rng("grades", model, dataset))
    for turns in judged(grid).values():
        if (turns.model, turns.dataset) == (model, dataset):
            items += check_verdicts(pair, turns)
    return items


INSTEAD = "leave it out: an audit without it runs no model and asks nobody"


def run_audit(path: Path, folder: Path, samples: Samples, with_tokenizers: bool = False) -> int:
    """Audit a results folder or an archive of one, print the result and write it into a folder.

    Raises:
        UserError: there is no study, the result cannot be written, or models or judges would be
            asked for a study that is neither the user's own nor trusted.

    Returns:
        The exit code: 1 with findings, 3 without one if some artifact was not compared although it
        could be (such as one by another version), else 0.
    """
    with opened(path) as results:
        config = read_study_record(results).config
        if (option := samples.option) is not None:
            own, trusted = samples.configfiles, samples.trusted
            check_may_run(path, results, config, option, INSTEAD, own, trusted)
        items = audit(results, samples, with_tokenizers)
    whole = locate_config(items, folder)
    say(format_audit(whole))
    write_audit(whole, config, folder)
    if whole.findings:
        return 1
    return 3 if whole.is_partial else 0

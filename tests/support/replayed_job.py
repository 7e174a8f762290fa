"""A job of a made-up study, run again by the audit."""

from collections.abc import Sequence
from pathlib import Path

from tests.support.job_records import job_record
from userturn.audit.check_replay import check_replay, replayable
from userturn.audit.findings import COMPARED, Item, Status
from userturn.audit.pair import Pair
from userturn.export.remake import Remaking
from userturn.storage.hashing import file_sha256
from userturn.workflow.job_record import PROVENANCE, code_sha256, write_record
from userturn.workflow.run_job import inputs_of
from userturn.workflow.study import Study
from userturn.workflow.study_files import Files


def replayed(pair: Pair, rule: str, outputs: Sequence[str], **wildcards: str) -> list[Item]:
    """Record a job of what a study has now, run it again, and return what the audit says of it."""
    results = pair.grid.results
    study = Study(pair.study.grid(results))
    inputs = [p for paths in inputs_of(study, rule, wildcards).values() for p in paths]
    record = job_record(
        rule,
        wildcards=wildcards,
        inputs={path: _sha256(results, path) for path in inputs},
        outputs={path: _sha256(results, path) for path in outputs},
        made={"code_sha256": code_sha256(), "commit": None},
    )
    write_record(results / Path(PROVENANCE).relative_to("results") / f"{rule}.json", record)
    here = Remaking(Files(results, {}), pair.study, study, results, prefers_remade=False)
    wanted, jobs = frozenset(outputs), replayable(here.files, of_tables=False)
    found = check_replay(here, wanted, frozenset(), jobs)
    assert {item.artifact for item in found if item == Status(item.artifact, COMPARED)} == wanted
    return [item for item in found if item != Status(item.artifact, COMPARED)]


def _sha256(results: Path, path: str) -> str:
    return file_sha256(results / path.removeprefix("results/"))

"""How many random edits of a finished study an audit finds.

`python benchmarks/mutations.py RESULTS 150` mutates 150 random places of a copy of a study's
results, one at a time, in each of four ways: bytes; values of a valid file; values, with the hash
in the record of its job corrected; values, with the hash in every record corrected. It prints how
many an audit finds, and every one that it does not find.
"""

import shutil
import sys
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.support.mutations import LEVELS, mutated_bytes, mutated_values
from userturn.audit.check_files import check_files
from userturn.audit.check_pictures import check_pictures
from userturn.audit.findings import Finding
from userturn.audit.run import audit
from userturn.audit.wanted import wanted_of
from userturn.errors import UserError
from userturn.provenance.job_record import read_record, write_record
from userturn.provenance.study_files import Files
from userturn.provenance.surroundings import code_sha256
from userturn.workflow.recorded_study import open_record

Mutation = Callable[[Path, np.random.Generator], str]
MUTATIONS: dict[str, Mutation] = {
    "bytes": mutated_bytes,
    **{level: partial(mutated_values, level=level) for level in LEVELS},
}


def said_of(results: Path) -> str:
    """Return what an audit says of a study: found, refused, or missed."""
    try:
        files, (_, study) = Files(results, {}), open_record(results)
        quickly = check_files(files, wanted_of(files, study))  # enough for most, in a tenth
        is_found = any(isinstance(item, Finding) for item in quickly)
        return "found" if is_found or _found_by_a_whole_audit(results) else "missed"
    except UserError:
        return "refused"


def _found_by_a_whole_audit(results: Path) -> bool:
    return bool(audit(results).findings) or any(
        isinstance(item, Finding) for item in check_pictures(results, frozenset())
    )


def call_it_ours(results: Path) -> None:
    """Let records say that the present code made a study: an audit compares no pages of others."""
    for path in (results / "provenance").rglob("*.json"):
        record = read_record(path)
        assert record is not None
        record["made"]["code_sha256"] = code_sha256()
        write_record(path, record)


def restore(results: Path, whole: Path) -> None:
    """Make good every change of a copy of a study."""
    for path in [path for path in results.rglob("*") if path.is_file()]:
        if not (whole / path.relative_to(results)).is_file():
            path.unlink()
    for path in whole.rglob("*"):
        copy = results / path.relative_to(whole)
        if path.is_file() and (not copy.is_file() or copy.read_bytes() != path.read_bytes()):
            shutil.copyfile(path, copy)


def count(whole: Path, mutate: Mutation, seeds: range) -> Counter[str]:
    """Count what an audit said of a study after each mutation; print where it found nothing.

    Args:
        whole: results folder of a study without findings.
        mutate: alters a results folder and returns the path of the altered file.
        seeds: one for each mutation.
    """
    said: Counter[str] = Counter()
    with TemporaryDirectory() as folder:
        ours, results = Path(folder) / "ours", Path(folder) / "results"
        shutil.copytree(whole, ours)
        call_it_ours(ours)
        if (whole.parent / "data").is_dir():  # texts that an archive has, too
            shutil.copytree(whole.parent / "data", Path(folder) / "data")
        shutil.copytree(ours, results)
        for seed in seeds:
            path = mutate(results, np.random.default_rng(seed))
            said[now := said_of(results)] += 1
            if now == "missed":
                print(f"    seed {seed}: {path}", flush=True)
            restore(results, ours)
    return said


if __name__ == "__main__":
    study, n_mutations = Path(sys.argv[1]), int(sys.argv[2])
    for what in sys.argv[3:] or MUTATIONS:
        counts = count(study, MUTATIONS[what], range(n_mutations))
        print(what, *(f"{n} {said}" for said, n in sorted(counts.items())), flush=True)

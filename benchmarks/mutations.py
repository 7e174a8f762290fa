"""How many random edits of a finished study an audit finds, and whether it names the file.

`python benchmarks/mutations.py RESULTS 150` mutates 150 files of a copy of a study, one at
a time and of every kind in turn, in each of four ways: bytes; values of a valid file; values, with
the hash in the record of its job corrected; values, with the hash in every record corrected. It
prints what an audit said of them, and each that it did not find or name:

named    a finding is about the file, or the record's own artifacts
found    a finding is about another file
missed   no finding
refused  no audit, in a sentence

Of the last way it also counts as `apart` those with a finding about nothing that was made of the
file: whoever makes all of that again, too, is still found.
"""

import shutil
import sys
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.support.mutations import LEVELS, drawn_files, mutated_bytes, mutated_values
from userturn.audit.check_files import check_files
from userturn.audit.findings import Finding
from userturn.audit.run import audit, required_identities
from userturn.errors import UserError
from userturn.workflow.job_record import PROVENANCE, code_sha256, read_record, write_record
from userturn.workflow.study import open_record
from userturn.workflow.study_files import Files


class Said(NamedTuple):
    """What an audit said of a mutation.

    Attributes:
        how: named, found, missed or refused.
        is_apart: whether a finding is about nothing that was made of the file.
        about: the first files that findings are about.
    """

    how: str
    is_apart: bool
    about: list[str]


Mutation = Callable[[Path, Path, np.random.Generator], None]
MUTATIONS: dict[str, Mutation] = {
    "bytes": mutated_bytes,
    **{level: partial(mutated_values, level=level) for level in LEVELS},
}


def findings_in(results: Path) -> list[Finding]:
    """Return what an audit finds; of files and records alone, if that is anything."""
    files, (_, study) = Files(results, {}), open_record(results)
    quickly = check_files(files, required_identities(files, study))  # enough for most, in a tenth
    found = [item for item in quickly if isinstance(item, Finding)]
    return found or audit(results).findings


def made_of(results: Path, path: str) -> set[str]:
    """Return the files that were made of a file, or of what was made of it."""
    records = [record for _, record in Files(results, {}).readable]
    found, before = {path}, set[str]()
    while found != before:
        before = found | set()
        for record in records:
            if not found.isdisjoint((*record["inputs"], *record["beside"], *record["journals"])):
                found |= {*record["outputs"]}
    return found - {path}


def own_of(results: Path, path: str) -> set[str]:
    """Return what a finding about a file names: the file, or what the job of a record wrote."""
    record = read_record(results.parent / path) if path.startswith(f"{PROVENANCE}/") else None
    return {path, *record["outputs"], *record["journals"]} if record else {path}


def said_of(results: Path, own: set[str], after: set[str]) -> Said:
    """Return what an audit says of a study with a mutated file.

    Args:
        results: folder of the study.
        own: what a finding about the file names.
        after: all that was made of the file.
    """
    try:
        about = {finding.artifact for finding in findings_in(results)}
    except UserError as error:
        return Said("refused", True, [str(error)])
    said = "missed" if not about else "named" if about & own else "found"
    return Said(said, not about <= after, sorted(about)[:3])


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
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)


def count(whole: Path, mutate: Mutation, n: int) -> Counter[str]:
    """Count what an audit said of a study after each mutation; print those that it did not name.

    Args:
        whole: results folder of a study without findings.
        mutate: alters a file of a results folder.
        n: how many mutations.
    """
    said: Counter[str] = Counter()
    with TemporaryDirectory() as folder:
        ours, results = Path(folder) / "ours", Path(folder) / "results"
        shutil.copytree(whole, ours)
        call_it_ours(ours)
        if (whole.parent / "data").is_dir():  # texts that an archive has, too
            shutil.copytree(whole.parent / "data", Path(folder) / "data")
        shutil.copytree(ours, results)
        paths = drawn_files(results, n, np.random.default_rng(n))
        for seed, place in enumerate(paths):
            path = f"results/{place.relative_to(results).as_posix()}"
            own, after = own_of(results, path), made_of(results, path)
            mutate(results, place, np.random.default_rng(seed))
            now = said_of(results, own, after)
            said.update([now.how, *["apart"] * now.is_apart])
            if now.how in ("found", "missed") or not now.is_apart:
                apart = "" if now.is_apart else ", not apart"
                print(f"    {seed} {now.how}{apart}: {path}", *now.about, flush=True)
            restore(results, ours)
    return said


if __name__ == "__main__":
    study, n_mutations = Path(sys.argv[1]), int(sys.argv[2])
    for what in sys.argv[3:] or MUTATIONS:
        counts = count(study, MUTATIONS[what], n_mutations)
        print(what, *(f"{n} {said}" for said, n in sorted(counts.items())), flush=True)

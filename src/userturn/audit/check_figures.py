"""Does every figure show its tables? Vega-Lite is written again where altair is the same version.

Pictures made of it are checked by hash and chain: other versions of a font draw other bytes.
"""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import altair

from userturn.audit.findings import Finding, remake
from userturn.provenance.study_files import FAULTS, Files
from userturn.remake.make_again import Remaking
from userturn.storage.atomic_files import read_artifact
from userturn.study.record import StudyRecord
from userturn.workflow.study import Study

ENDING = ".vl.json"


def check_figures(
    files: Files, record: StudyRecord, study: Study, broken: frozenset[str]
) -> Iterator[Finding]:
    """Yield the figures that do not follow from their tables.

    Args:
        files: the files of a results folder.
        record: record of the study.
        study: the study of that record.
        broken: artifacts that were already reported as missing or altered.
    """
    with TemporaryDirectory(prefix="userturn-") as folder:
        here = Remaking(files, record, study, Path(folder), from_made=False)
        for rule in study.figures.rules:
            if broken.isdisjoint(here.needs(rule)) and is_of_this_altair(files, rule):
                with suppress(*FAULTS):  # found with the tables
                    here.make(rule, ENDING)
        for made in sorted(Path(folder).glob(f"results/figures/*{ENDING}")):
            path = f"results/figures/{made.name}"
            there = files.at(path)
            if path in broken or read_artifact(there) != read_artifact(made):
                continue  # found already, also by its identity
            if made.read_bytes() != there.read_bytes():
                expected = "a figure of what its tables hold"
                yield Finding("figures", path, expected, "another", remake(path))


def is_of_this_altair(files: Files, rule: str) -> bool:
    """Return whether the figures of a rule were drawn by the altair that is here."""
    made = (files.records.get(f"results/provenance/{rule}.json") or {}).get("made", {})
    return bool(made.get("versions", {}).get("altair") == altair.__version__)

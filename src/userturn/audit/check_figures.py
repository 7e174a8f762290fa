"""Does every figure show its tables? Vega-Lite is written again where altair is the same version.

A figure that would fetch anything is found, and not drawn.

Pictures made of it are checked by hash and chain: other versions of a font draw other bytes.
"""

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import altair

from userturn.audit.findings import Finding, remake
from userturn.html.chart import names_an_address
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
    fetching = [path for path in _charts(files) if path not in broken and _fetches(files.at(path))]
    for path in fetching:
        expected = "a figure with its own data"
        yield Finding("figures", path, expected, "a `url` in it; it was not drawn", remake(path))
    broken |= {*fetching}
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


def _charts(files: Files) -> list[str]:
    return [path for path in files.hashes if path.endswith(ENDING)]


def _fetches(chart: Path) -> bool:
    """Return whether a figure names an address; one that cannot be read is found otherwise."""
    try:
        return names_an_address(json.loads(chart.read_bytes()))
    except FAULTS:
        return False


def is_of_this_altair(files: Files, rule: str) -> bool:
    """Return whether the figures of a rule were drawn by the altair that is here."""
    made = (files.records.get(f"results/provenance/{rule}.json") or {}).get("made", {})
    return bool(made.get("versions", {}).get("altair") == altair.__version__)

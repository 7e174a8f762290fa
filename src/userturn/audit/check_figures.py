"""Does every figure show its tables? Vega-Lite is written again where altair is the same version.

Pictures made of it are checked by hash and chain: other versions of a font draw other bytes.
"""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import altair

from userturn.audit.findings import Finding, remake
from userturn.audit.pair import FAULTS
from userturn.figures.confusion import draw_confusion
from userturn.figures.draw import draw_figures
from userturn.provenance.study_files import Files
from userturn.storage.atomic_files import read_artifact
from userturn.study.inputs import RUBRIC
from userturn.study.record import StudyRecord
from userturn.workflow.registry import figures_of
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
        for rule in study.figures.rules:
            needed = {path for paths in study.figures.inputs_of(rule).values() for path in paths}
            if broken.isdisjoint(needed) and _is_of_this_altair(files, rule):
                try:
                    _draw(files, record, study, rule, Path(folder))
                except FAULTS:
                    continue  # found with the tables
        for made in sorted(Path(folder).glob(f"*{ENDING}")):
            path = f"results/figures/{made.name}"
            there = files.at(path)
            if path in broken or read_artifact(there) != read_artifact(made):
                continue  # found already, also by its identity
            if made.read_bytes() != there.read_bytes():
                expected = "a figure of what its tables hold"
                yield Finding("figures", path, expected, "another", remake(path))


def _is_of_this_altair(files: Files, rule: str) -> bool:
    made = (files.records.get(f"results/provenance/{rule}.json") or {}).get("made", {})
    return bool(made.get("versions", {}).get("altair") == altair.__version__)


def _draw(files: Files, record: StudyRecord, study: Study, rule: str, folder: Path) -> None:
    """Write the Vega-Lite of a rule's figures again."""
    paths = {name: [str(folder / f"{name}{ENDING}")] for name in figures_of(rule)}
    identity = study.figures.identity_of(rule)
    if rule != "draw_confusion":
        inputs = study.figures.inputs_of(rule)
        tables = {name: str(files.at(found[0])) for name, found in inputs.items()}
        draw_figures(study.grid, identity, tables, paths)
    else:
        rubric = folder / "rubric.yaml"
        rubric.write_text(record.contents.texts[RUBRIC])
        confusion = str(files.at("results/tables/confusion.parquet"))
        draw_confusion(identity, confusion, str(rubric), paths["confusion"])

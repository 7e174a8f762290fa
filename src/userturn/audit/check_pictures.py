"""Are the pictures (SVG, PNG) those of their figures? They are drawn again.

Other fonts draw other bytes. So a picture is found only where at least as many others of its kind
come out equal: it is then not the machine that draws otherwise.
"""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from userturn.audit.check_figures import ENDING, is_of_this_altair
from userturn.audit.findings import Finding, Note, remake
from userturn.export.read_archive import read_left_out
from userturn.plural import number_of
from userturn.provenance.study_files import FAULTS, Files
from userturn.remake.make_again import Remaking
from userturn.study.record import read_study_record
from userturn.workflow.study import Study

KINDS = (".svg", ".png")


def check_pictures(results: Path, broken: frozenset[str]) -> Iterator[Finding | Note]:
    """Yield the pictures that differ from those drawn of the same figure here.

    Args:
        results: the results folder of a study.
        broken: artifacts that were already reported.
    """
    record = read_study_record(results)
    files, study = Files(results, read_left_out(results)), Study(record.grid(results))
    with TemporaryDirectory(prefix="userturn-") as folder:
        here = Remaking(files, record, study, Path(folder), from_made=False)
        for rule in study.figures.rules:
            if broken.isdisjoint(here.needs(rule)) and is_of_this_altair(files, rule):
                with suppress(*FAULTS):  # found with the tables
                    here.make(rule)
        drawn = sorted(Path(folder).glob(f"results/figures/*{ENDING}"))
        names = [p.name.removesuffix(ENDING) for p in drawn if _is_equal(files, p)]
        for kind in KINDS:
            pictures = [Path(folder, f"results/figures/{name}{kind}") for name in names]
            yield from _of_a_kind(files, pictures, broken)


def _of_a_kind(files: Files, drawn: list[Path], broken: frozenset[str]) -> Iterator[Finding | Note]:
    """Compare the pictures of one kind with those drawn here."""
    paths = {f"results/figures/{p.name}": p for p in drawn}
    there = {path: made for path, made in paths.items() if path not in broken}
    others = [path for path, made in there.items() if not _is_equal(files, made)]
    if 2 * len(others) > len(there):
        pictures = number_of(len(others), "picture")
        text = f"{pictures} drawn otherwise here, by other fonts; not compared"
        yield Note("figures", others[0], text)
        return
    for path in others:
        yield Finding("figures", path, "a picture of its figure", "another", remake(path))


def _is_equal(files: Files, made: Path) -> bool:
    """Return whether a file that was made again is equal to the study's own."""
    there = files.at(f"results/figures/{made.name}")
    return there.is_file() and there.read_bytes() == made.read_bytes()

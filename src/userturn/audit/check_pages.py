"""Do the pages follow from what they show? The report and annotators' tasks are written again.

Another version writes other pages, so only those are compared that the present code made, with the
present version of the library that draws the report's charts. A note names each other page.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from shlex import quote
from tempfile import TemporaryDirectory

import vl_convert

from userturn.audit.check_figures import ENDING
from userturn.audit.findings import Finding, Note, remake
from userturn.config.installation import INSTALLATION
from userturn.html.chart import svg_of
from userturn.provenance.study_files import FAULTS, Files
from userturn.remake.make_again import REPORT, REPORT_PAGE, Remaking
from userturn.study.record import StudyRecord
from userturn.workflow.study import Study

DRAWN_WITH = getattr(vl_convert, "__version__", None)  # as records have it


def check_pages(
    files: Files, record: StudyRecord, study: Study, broken: frozenset[str]
) -> Iterator[Finding | Note]:
    """Yield the pages that do not follow from their inputs, or were not written again.

    Args:
        files: the files of a results folder.
        record: record of the study.
        study: the study of that record.
        broken: artifacts that were already reported as missing or altered.
    """
    yield from _readme(files)
    with TemporaryDirectory(prefix="userturn-") as folder:
        here = Remaking(files, record, study, Path(folder), from_made=False)
        pages: list[tuple[str, str, dict[str, str]]] = [(REPORT_PAGE, REPORT, {})]
        for rule, rounds in (("build_annotation", study.humans), ("build_pair_page", study.pairs)):
            pages += [
                (f"results/{rounds.folder}/{name}/task.html", rule, {"round": name})
                for name in rounds.rounds
            ]
        for page, rule, wildcards in pages:
            yield from _written(here, page, partial(_write, here, page, rule, broken, wildcards))
        for made in sorted(path for path in Path(folder).rglob("*") if path.is_file()):
            path = made.relative_to(folder).as_posix()
            there = files.at(path)
            if not path.startswith("results/") or path in broken or not there.is_file():
                continue
            if there.read_bytes() == made.read_bytes():
                continue
            if path == REPORT_PAGE and not draws_alike(files):
                text = "not compared: this machine draws figures otherwise, by other fonts"
                yield Note("pages", path, text)
                continue
            yield Finding("pages", path, "a page of what it shows", "another", remake(path))


def draws_alike(files: Files) -> bool:
    """Return whether at least half of a study's pictures come out equal when they are drawn here.

    The report cuts a figure that is too large for paper into parts, which it draws itself.
    """
    charts = [path for path in files.hashes if path.endswith(ENDING)]
    equal = [_comes_out_equal(files.at(path)) for path in charts]
    return 2 * sum(equal) >= len(equal)


def _comes_out_equal(chart: Path) -> bool:
    svg = chart.with_name(chart.name.removesuffix(ENDING) + ".svg")
    try:
        return svg_of(json.loads(chart.read_bytes())) == svg.read_text(encoding="utf-8")
    except FAULTS:
        return False


def _written(here: Remaking, page: str, write: Callable[[], None]) -> Iterator[Finding | Note]:
    """Write a page again, or yield that it cannot be: what it shows was altered, hashes too."""
    if not _is_ours(here.files, page):
        if page in here.files.makers:
            yield Note("pages", page, "not written again: another version made it")
        return
    try:
        write()
    except FAULTS as error:
        yield Finding("pages", page, "a page of what it shows", type(error).__name__, remake(page))


def _readme(files: Files) -> Iterator[Finding]:
    """Compare the description of all files with this version's, if it made everything else."""
    path = "results/README.md"
    ours, there = INSTALLATION / path, files.at(path)
    if not (ours.is_file() and there.is_file()) or any(map(files.other_code, files.makers)):
        return
    if ours.read_bytes() != there.read_bytes():
        fix = f"cp {quote(str(ours))} {path}"
        yield Finding("pages", path, "what this version says of its files", "another text", fix)


def _is_the_recorded(files: Files, page: str, path: str) -> bool:
    """Return whether a file is there; one of the project may be another project's."""
    inputs = [(files.records[maker] or {})["inputs"] for maker in files.makers.get(page, [])]
    own = path.startswith("results/") or all(i.get(path) == files.hashes.get(path) for i in inputs)
    return own and files.at(path).is_file()


def _is_ours(files: Files, page: str) -> bool:
    """Return whether the present code made a page, with the present vl_convert if with any."""
    made = [(files.records[maker] or {})["made"] for maker in files.makers.get(page, [])]
    known = {one["versions"].get("vl_convert", DRAWN_WITH) for one in made}
    return known == {DRAWN_WITH} and files.other_code(page) is None


def _write(
    here: Remaking, page: str, rule: str, broken: frozenset[str], wildcards: Mapping[str, str]
) -> None:
    """Write a page again, if what it shows is there and right."""
    needed = here.needs(rule, **wildcards)
    there = all(_is_the_recorded(here.files, page, path) for path in needed)
    if there and broken.isdisjoint(needed):
        here.make(rule, **wildcards)

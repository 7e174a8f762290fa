"""`userturn remake`: tables, figures and the report again, from a study's archive alone.

Neither a model nor a GPU nor the project is needed: each rule's function runs on what the archive
holds. What depends on rows that an archive leaves out is not made, and is listed.
"""

from graphlib import TopologicalSorter
from pathlib import Path

from userturn.export.read_archive import opened, read_left_out, reasons_left_out
from userturn.logs import say
from userturn.no_network import without_network
from userturn.provenance.study_files import FAULTS, Files
from userturn.remake.make_again import COUNTING, REPORT, REPORT_DATA, REPORT_PAGE, Remaking
from userturn.remake.outcome import Outcome, compare, format_outcome
from userturn.workflow.new_study import check_is_new
from userturn.workflow.recorded_study import open_record
from userturn.workflow.run_job import outputs_of


def remake(path: Path, folder: Path) -> int:
    """Make tables, figures and the report of a study again, and print how equal they are.

    Args:
        path: a results folder, or an archive of one.
        folder: a new folder, in which the files get the same paths as in the project's folder.

    Returns:
        The exit code: 0, or 1 if a file that was made differs from the study's own.

    Raises:
        UserError: there is no finished study, or the folder is not empty.
    """
    check_is_new(folder)
    with opened(path) as results, without_network():
        outcome = made_again(results, folder)
    say(format_outcome(outcome, folder / "results"))
    return 1 if outcome.unequal else 0


def made_again(results: Path, folder: Path) -> Outcome:
    """Make everything after the verdicts again, and compare it with the study's own files."""
    record, study = open_record(results)
    files = Files(results, read_left_out(results))
    here = Remaking(files, record, study, folder, from_made=True)
    withheld = reasons_left_out(results)
    reasons: dict[str, str] = {}
    for rule in in_order(here):
        why = _missing(here, rule, withheld) or _made(here, rule)
        if why is not None:
            reasons |= dict.fromkeys(_outputs(here, rule), why)
    return compare(files, folder, reasons)


def in_order(here: Remaking) -> list[str]:
    """Return the rules after the verdicts, each after those that make its inputs."""
    rules = [*here.study.tables.rules, *here.study.figures.rules, REPORT]
    makers = {path: rule for rule in rules for path in _outputs(here, rule)}
    before = {
        rule: sorted({makers[path] for path in here.needs(rule) if path in makers})
        for rule in rules
    }
    return list(TopologicalSorter(before).static_order())


def _outputs(here: Remaking, rule: str) -> list[str]:
    """Return the files that a rule makes."""
    if rule == REPORT:
        noted = [path for path in here.files.noted if path.startswith(f"{REPORT_DATA}/")]
        return [REPORT_PAGE, *sorted(noted)]
    return [path for paths in outputs_of(here.study, rule).values() for path in paths]


def _missing(here: Remaking, rule: str, withheld: dict[str, str]) -> str | None:
    """Return why a rule cannot run on what there is, or None."""
    if rule == COUNTING and not here.files.has_journals:
        return "it is counted in accounts, which come with the journals"
    absent = [path for path in here.needs(rule) if not here.at(path).is_file()]
    if not absent:
        return None
    more = f" and {len(absent) - 1} more" if len(absent) > 1 else ""
    why = next((withheld[path] for path in absent if path in withheld), "not in this copy")
    return f"it is made from {absent[0]}{more}: {why}"


def _made(here: Remaking, rule: str) -> str | None:
    """Make the outputs of a rule; return why that failed, or None."""
    try:
        here.make(rule)
    except FAULTS as error:
        return (
            f"what it is made from is damaged ({type(error).__name__}); `userturn audit` says where"
        )
    return None

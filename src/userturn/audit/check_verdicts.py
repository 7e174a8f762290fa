"""Does every verdict and grade match its source?"""

from collections.abc import Iterator
from functools import partial

import numpy as np
import polars as pl

from userturn.audit.findings import COMPARED, Finding, Item, Note, Status, difference, not_compared
from userturn.audit.pair import BrokenError, Pair
from userturn.grading.grade import answers_to_grade, grade_answers, grades_table, keys_of
from userturn.judges.judge import CellToJudge, verdicts_table
from userturn.judges.kinds import kind_of
from userturn.processes import limit_overdue
from userturn.sandbox.run import NoSandboxError
from userturn.sources.answers import RULES_2
from userturn.sources.registry import asked_of
from userturn.sources.source import Asked, Turns
from userturn.storage.table_files import TURN_KEYS
from userturn.study.judge import judge_of
from userturn.workflow.study_files import FAULTS

OTHER_RULES = (
    "its rules have changed since this study was made, so its verdicts are checked only by their "
    "hashes; run the study again to judge them by the rules of this version"
)
EARLIER_GRADES = (
    "an earlier version graded these answers, and this one grades some otherwise; remove "
    "results/grades and run `snakemake`, which asks no model"
)
REGRADED = 50  # answers of a model and dataset: a verifier may take milliseconds for each
MOST_OVERDUE = 3  # answers that may take the whole time limit of a verifier


def check_verdicts(pair: Pair, turns: Turns) -> Iterator[Item]:
    """Compare the verdicts of every judge on a table of user turns with those made again."""
    for judge, entry in pair.grid.judges.items():
        kind, path = kind_of(entry), turns.verdicts(judge)
        if kind.IS_DETERMINISTIC and pair.study.contents.judges[judge] != kind.identity(entry):
            yield Note("verdicts", f"judge {judge}", OTHER_RULES)
            yield not_compared(path, "the rules of its judge have changed since")
        elif pair.with_journals or kind.IS_DETERMINISTIC:
            judge_again = partial(judged_again, pair, turns, judge)
            yield from pair.compare("verdicts", path, judge_again, TURN_KEYS)


def judged_again(pair: Pair, turns: Turns, name: str) -> pl.DataFrame:
    """Return the table of a judge's verdicts on user turns, recomputed or from its journal."""
    cell = CellToJudge(str(pair.whole(turns.path)), str(pair.whole(turns.items)))
    judge, contents = judge_of(pair.grid, name), pair.study.contents
    kind = kind_of(judge.settings)
    verdicts = kind.recorded_verdicts(judge, contents.judges[name], contents.texts, cell)
    return verdicts_table(judge, cell, verdicts)


def check_grades(pair: Pair, rng: np.random.Generator) -> Iterator[Item]:
    """Grade some random answers of each table again, unless a judge graded them."""
    for of in asked_of(pair.grid, pair.model):
        if of.dataset == pair.dataset and of.grades:
            yield from _grades_of(pair, of, rng)


def _grades_of(pair: Pair, of: Asked, rng: np.random.Generator) -> Iterator[Item]:
    path, verifier = of.grades, pair.grid.datasets[pair.dataset]["verifier"]
    try:
        there = pair.read(path)
        rows = answers_to_grade(pair.read(of.path), pair.read(pair.path_to_items))
        of_items = there["item"].to_list() == rows["item"].to_list()
    except BrokenError:
        return  # reported elsewhere
    except FAULTS as error:
        yield Finding("grades", path, "grades of answers", type(error).__name__)
        return
    wrong = None
    positions = np.sort(rng.choice(rows.height, min(REGRADED, rows.height), replace=False))
    if verifier == "rubric":
        yield not_compared(path, "a judge gave the grades: they are checked by their hash", False)
    elif rows.height > REGRADED:
        yield not_compared(path, f"{REGRADED} of {rows.height} answers were graded again", False)
    else:
        yield Status(path, COMPARED)
    if not of_items:
        wrong = f"a grade of each of {rows.height} answers", f"{there.height} grades"
    elif verifier != "rubric":
        some = rows[positions]
        try:
            with limit_overdue(MOST_OVERDUE):
                grades_again = grades_table(some, grade_answers(verifier, some.to_dicts()))
            wrong = difference(grades_again, there[positions], keys_of(there))
            if wrong is not None and verifier in RULES_2 and pair.grid.contents.grading == 1:
                wrong = None
                yield not_compared(path, EARLIER_GRADES)
        except (NoSandboxError, TimeoutError) as error:
            yield not_compared(path, f"not graded again: {error}")
        except FAULTS:
            wrong = "grades of answers to the dataset's items", "answers to others"
    if wrong is not None:
        yield Finding("grades", path, *wrong)

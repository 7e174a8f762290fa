"""The verifier `ifeval`: instruction following, strict and loose; `ifbench` uses it too.

The checkers come from `if-verifiable`. Strict and loose are written here, because its own
evaluation skips instructions that it does not know. Some checkers draw random numbers, so each is
seeded. An instruction is open if its checker would check something else than its row asks for:
`#` and `!` as letters (rows 1122 and 1129 of IFEval), a span from word 0 (row 286 of IFBench).
Some checkers need NLTK data, which is searched where NLTK_DATA says and never downloaded.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from importlib import import_module
from itertools import product
from typing import Any, NamedTuple

from userturn.grading.grade import SECONDS, Case, Grade, all_of, fitting
from userturn.processes import map_bounded


class Check(NamedTuple):
    """Whether an answer follows one instruction, strictly and loosely, or why that is open."""

    strict: bool | None
    loose: bool | None
    reason: str | None = None


@cache
def registry(benchmark: str) -> Mapping[str, Any]:
    """Return the checker classes of `ifeval` or `ifbench` by instruction."""
    import langdetect
    import nltk

    langdetect.DetectorFactory.seed = 0  # its only seed; without it the guesses vary
    download, nltk.download = nltk.download, lambda *_, **__: False  # else the import downloads
    try:
        module = import_module(f"if_verifiable.{benchmark}")
    finally:
        nltk.download = download
    checkers: Mapping[str, Any] = module.INSTRUCTION_DICT
    return checkers


def variants(answer: str) -> list[str]:
    """Return the readings of an answer that the loose check accepts (Zhou et al. 2023, sec. 2).

    They are the whole answer, and the answer without its first line, its last line, or both, each
    with and without asterisks.
    """
    lines = answer.split("\n")
    cut = ["\n".join(lines[first:last]).strip() for first, last in product((0, 1), (None, -1))]
    cut[0] = answer
    return [*cut, *(text.replace("*", "") for text in cut)]


class DrawnError(Exception):
    """A checker that checks something else than its row asks for."""


def _folded(value: Any) -> Any:  # without what checkers may change: case, and a list's order
    if isinstance(value, list):
        return sorted(map(_folded, value), key=str)
    return value.strip().casefold() if isinstance(value, str) else value


def _built(checker: Any, instruction: str, kwargs: Mapping[str, Any], seed: int) -> Any:
    """Return a checker with its arguments, after it has drawn those that its row leaves open."""
    random.seed(seed)  # the checkers draw from Python's global generator and take no other
    built = checker(instruction)
    built.build_description(**kwargs)
    return built


def _checker(
    checker: Any, instruction: str, kwargs: Mapping[str, Any], prompt: str
) -> Callable[[str], bool]:
    *others, built = (_built(checker, instruction, kwargs, seed) for seed in (3, 2, 1, 0))
    arguments = built.get_instruction_args() or {}
    for name, used in arguments.items():
        value = kwargs.get(name, (others[0].get_instruction_args() or {}).get(name))
        if _folded(used) != _folded(value):
            raise DrawnError(f"it checks {name} {used!r}, and not {value!r}")
    if "prompt" in arguments:
        built.build_description(prompt=prompt)
    return lambda text: bool(text.strip()) and bool(built.check_following(text))


def _missing(error: LookupError) -> str:
    hint = str(error).partition("nltk.download('")[2].partition("'")[0]
    if not hint:
        return "a checker lacks its data"
    return f"NLTK data '{hint}' is missing: run python -m nltk.downloader {hint}"


def check_instruction(
    checkers: Mapping[str, Any], instruction: str, kwargs: Mapping[str, Any], case: Case
) -> Check:
    """Return whether one instruction is followed, with fixed seeds for what its checker draws."""
    if instruction not in checkers:
        return Check(None, None, f"{instruction}: no such checker")
    state = random.getstate()
    try:
        follows = _checker(checkers[instruction], instruction, kwargs, case.prompt)
        strict, *loose = (follows(text) for text in variants(case.answer))
        return Check(strict, strict or any(loose))
    except DrawnError as error:
        return Check(None, None, f"{instruction}: {error}")
    except Exception as error:  # a checker's failure does not make the answer wrong
        reason = _missing(error) if type(error) is LookupError else type(error).__name__
        return Check(None, None, f"{instruction}: {reason}")
    finally:
        random.setstate(state)


def checks(benchmark: str, case: Case) -> list[Check]:
    """Return a check of each instruction of an answer's item, in order."""
    arguments = case.arguments
    pairs = zip(arguments["instructions"], arguments["kwargs"], strict=True)
    checkers = registry(benchmark)
    return [check_instruction(checkers, name, kwargs, case) for name, kwargs in pairs]


def grade_case(benchmark: str, case: Case) -> Grade:
    """Grade an answer to an item with instructions: correct if all are followed."""
    if not case.arguments.get("instructions"):
        return Grade(None, "the item has no instructions")
    done = checks(benchmark, case)
    strict = all_of([check.strict for check in done])
    reasons = [check.reason for check in done if check.reason]
    return Grade(strict, "; ".join(reasons) or None, all_of([check.loose for check in done]))


def grade_instructions(
    benchmark: str, cases: Sequence[Case], n_processes: int = 1, seconds: float = SECONDS
) -> list[Grade]:
    """Grade answers in processes, undecided for one that takes longer than `seconds`.

    The limit is needed because keywords of an item are regular expressions, and some never end.
    """
    load = partial(registry, benchmark)
    grade = partial(fitting, partial(grade_case, benchmark))
    overdue = Grade(None, f"its instructions took more than {seconds:g} s to check")
    return [graded or overdue for graded in map_bounded(grade, cases, n_processes, seconds, load)]


def verify(cases: Sequence[Case], n_processes: int = 1) -> list[Grade]:
    """Grade answers to the instructions of IFEval."""
    return grade_instructions("ifeval", cases, n_processes)

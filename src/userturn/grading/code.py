"""The verifier `code`: programs that are run with their tests, in a sandbox."""

import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from userturn.grading.grade import Case, Grade, fitting
from userturn.sandbox.run import run_program

BLOCK = re.compile(
    r"^(?P<indentation>[ \t]*)(?P<fence>`{3,}+|~{3,}+)[^\n]*\n"
    r"(?P<code>.*?)(?:^[ \t]*(?P=fence)[ \t]*$|\Z)",
    re.DOTALL | re.MULTILINE,
)


def code_of(answer: str, function: str | None) -> str:
    """Return the program in an answer: the last fenced block that defines the function.

    Without such a block it is the last block, and without any block the whole answer. A last block
    that was cut off counts. A block in a list is moved left by the indentation of its fence.
    `function` is None where any function will do.
    """
    blocks = [
        re.sub(rf"^{match['indentation']}", "", match["code"], flags=re.MULTILINE)
        for match in BLOCK.finditer(answer)
    ]
    name = re.escape(function) if function else r"\w+"
    defines = re.compile(rf"\bdef\s+{name}\b")
    return next((b for b in reversed(blocks) if defines.search(b)), (blocks or [answer])[-1])


def _grade(case: Case) -> Grade:
    arguments = case.arguments
    if not arguments.get("tests"):
        return Grade(None, "no tests")
    function = arguments.get("function")
    tests = (
        arguments["tests"] if isinstance(arguments["tests"], str) else "\n".join(arguments["tests"])
    )
    if function:
        tests += f"\ncheck({function})"
    program = "\n".join([arguments.get("start") or "", code_of(case.answer, function)])
    return Grade(*run_program(program, tests))


def verify(cases: Sequence[Case], n_processes: int = 1) -> list[Grade]:
    """Grade programs: right if their tests pass, else wrong with a reason; undecided without tests.

    A case has the argument `tests`, a program or a list of statements. It may have `start`, a
    program that the answer continues or replaces, and `function`, the name of the function that is
    passed to the function `check` of the tests.

    Raises:
        NoSandboxError: there is no sandbox on this machine.
    """
    with ThreadPoolExecutor(n_processes) as pool:
        return list(pool.map(partial(fitting, _grade), cases))

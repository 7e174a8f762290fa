"""The verifier `math`: final answers compared as mathematics, by math-verify.

What math-verify calls equal gets a second, strict look, because it rounds to six decimals and
ignores units and bases, so that 1/2002! equals 1/2001! and 12 cm equals 12 m. The second look
compares rational numbers exactly, others relatively, and units and bases as texts.
"""

import logging
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from userturn.grading.grade import SECONDS, Case, Grade, all_of
from userturn.grading.numbers import as_written, tokens
from userturn.processes import map_bounded

TOLERANCE = 1e-9  # relative, of numbers that are not rational
DIGITS = 30
SPACES = re.compile(r"\\[,;:! ]|~|\s|\\(?:left|right|displaystyle)(?![a-z])|[{}$]")
BASE = re.compile(r"[0-9A-Fa-f]\}?_\{?(?:\\text\{)?(\d+)")
LETTERS = r"\\(?:text|textrm|mathrm|mbox|rm)\s*\{\s*([^{}]*?)\s*\}|([A-Za-z]+)"
UNIT = re.compile(rf"(?:^\\?\$|[\d}}](?:\\[,;:! ]|~|\s)*(?:{LETTERS})(?:\^\{{?(\d)\}}?)?\.?$)")
SHORT = {
    **{"centimeter": "cm", "millimeter": "mm", "kilometer": "km", "meter": "m", "inche": "in"},
    **{"inch": "in", "foot": "ft", "feet": "ft", "yard": "yd", "mile": "mi", "gram": "g"},
    **{"kilogram": "kg", "milligram": "mg", "pound": "lb", "ounce": "oz", "liter": "l", "hr": "h"},
    **{"milliliter": "ml", "second": "s", "sec": "s", "minute": "min", "hour": "h", "day": "day"},
    **{"week": "week", "month": "month", "year": "year", "dollar": "$", "cent": "cent"},
}
UNITS = {*SHORT.values()}


def plain_number(text: str) -> Fraction | None:
    """Return the value of a text that is one number and nothing else, or None for another text."""
    text_as_written = as_written(text.replace("$", "")).strip()
    numbers = tokens(text_as_written, None)
    is_plain = len(numbers) == 1 and (numbers[0].start, numbers[0].end) == (0, len(text_as_written))
    values, others, _ = numbers[0].reading if is_plain else ((), (), False)
    return next(iter(values)) if len(values) == 1 and not others else None


def unit_of(text: str) -> str | None:
    """Return the unit of a number in LaTeX, in one spelling for all its forms, or None."""
    match = UNIT.search(text.strip())
    if match is None:
        return None
    if match[0].endswith("$"):
        return "$"
    name = match[1] or match[2]
    name = name if len(name) < 3 else re.sub(r"tre(s?)$", r"ter\1", name.lower()).rstrip(".")
    name = SHORT.get(name.removesuffix("s") if len(name) > 2 else name, name)
    is_unit = name in UNITS if match[2] else name not in ("and", "or", "")
    return f"{name}{match[3] or ''}" if is_unit else None


def _number(value: Any) -> Any:
    """Return a sympy number with each written decimal as an exact fraction."""
    import sympy

    floats = {x: sympy.Rational(repr(float(x))) for x in value.atoms(sympy.Float)}
    return value.xreplace(floats).doit()


def _is_same_number(first: Any, second: Any) -> bool | None:
    import sympy

    a, b = _number(first), _number(second)
    if a == b or (a.is_Rational and b.is_Rational):
        return bool(a == b)
    difference, size = (sympy.N(x, DIGITS) for x in (abs(a - b), abs(a) + abs(b)))
    if not (difference.is_comparable and size.is_comparable):
        return None
    return bool(difference <= TOLERANCE * size)


def is_same(first: Any, second: Any) -> bool | None:
    """Return whether two sympy values that math-verify calls equal are so, or None if in doubt."""
    import sympy

    a, b = (
        value.rhs if isinstance(value, sympy.Eq) and value.lhs.is_Symbol else value
        for value in (first, second)
    )
    parts = [list(v) if isinstance(v, sympy.MatrixBase) else list(v.args) for v in (a, b)]
    kinds = sympy.FiniteSet, sympy.Tuple, sympy.MatrixBase, sympy.Interval
    if isinstance(a, sympy.FiniteSet) and isinstance(b, sympy.FiniteSet):
        if len(a) != len(b):
            return False
        same = [[is_same(x, y) for y in parts[1]] for x in parts[0]]
        return all_of([True if True in row else all_of(row) for row in same])
    if any(isinstance(v, sympy.logic.boolalg.Boolean) for v in (a, b)):
        return None if a != b and (a.atoms(sympy.Float) or b.atoms(sympy.Float)) else True
    if any(isinstance(v, kinds) for v in (a, b)):
        if type(a) is not type(b) or len(parts[0]) != len(parts[1]):
            return None
        return all_of([is_same(x, y) for x, y in zip(*parts, strict=True)])
    if not all(isinstance(v, sympy.Expr) for v in (a, b)):
        return True if a == b else None
    symbols = sorted(a.free_symbols | b.free_symbols, key=str)
    values = {symbol: sympy.Rational(7 * n + 3, n + 2) for n, symbol in enumerate(symbols)}
    return _is_same_number(a.subs(values), b.subs(values))


def second_look(answer: str, reference: str, parsed: Any, expected: Any) -> bool | None:
    """Return whether an answer that math-verify accepts is the reference, or None if in doubt.

    Both are final answers in LaTeX. `parsed` and `expected` are what math-verify parsed from them.
    """
    if SPACES.sub("", answer) == SPACES.sub("", reference):
        return True
    bases = [BASE.findall(text) for text in (answer, reference)]
    if all(bases) and bases[0] != bases[1]:
        return False
    units = [unit_of(text) for text in (answer, reference)]
    if all(units) and units[0] != units[1]:
        return False if {u.rstrip("23") for u in units if u} <= UNITS else None
    if isinstance(parsed, str) or isinstance(expected, str):
        return None
    return is_same(parsed, expected)


FINAL_LINE = re.compile(
    r"(?:^[^\w\n]*(?:the )?(?:final )?(?i:answer)|\bA(?i:nswer))[*_]*:[*_]*[ \t]*(\S.*)$",
    re.MULTILINE,
)
NOT_SURE = "math-verify calls them equal, and a stricter look does not decide"
DOLLARS = re.compile(r"\\[(\[](.*)\\[)\]]|\$\$?(.*?)\$?\$", re.DOTALL)


def boxed(text: str) -> str:
    r"""Return LaTeX inside \boxed{}, without the mathematics signs around it.

    math-verify reads bare LaTeX such as \text{Evelyn} or (1,2) only in this form.
    """
    text = text.strip().removesuffix(".")
    if text.startswith("<") and text.endswith(">"):
        text = text[1:-1]  # a model that copied the instruction's `<final answer>`
    whole = DOLLARS.fullmatch(text)
    inner = next(filter(None, whole.groups()), "") if whole else text
    return inner if r"\boxed" in inner else rf"\boxed{{{inner}}}"


def inner_text(text: str) -> str:
    """Return the inside of a boxed text, or another text unchanged."""
    return text.removeprefix(r"\boxed{").removesuffix("}") if text.startswith(r"\boxed{") else text


def final_answer(answer: str) -> str:
    r"""Return the final answer, boxed: the text of its last line `Answer: ...`.

    An answer without such a line is returned as it is. In it math-verify looks for a \boxed{}
    or the last expression.
    """
    lines = FINAL_LINE.findall(answer)
    return boxed(lines[-1][0] + lines[-1][1:].rstrip("*_ \t")) if lines else answer


def final(answer: str, arguments: Mapping[str, Any]) -> str | None:
    """Return the final answer, boxed, or None if the answer has no line for it."""
    return final_answer(answer) if FINAL_LINE.search(answer) else None


def _load() -> None:
    """Load math-verify, which takes seconds, before any time limit starts."""
    import math_verify  # noqa: F401

    logging.getLogger("math_verify").setLevel(logging.ERROR)


def mathematical(pair: tuple[str, str]) -> Grade:
    """Grade a pair of answer and reference by comparing their final answers as mathematics.

    Two plain numbers are compared exactly. What math-verify calls equal gets a second look. There
    is no time limit, so this must run in a process that can be ended.
    """
    from math_verify import parse, verify

    answer, reference = pair
    final = final_answer(answer)
    answered, asked = inner_text(final), inner_text(boxed(reference))
    numbers = plain_number(answered), plain_number(asked)
    if None not in numbers:
        return Grade(numbers[0] == numbers[1])
    try:
        expected = parse(boxed(reference), parsing_timeout=None, raise_on_error=True)
        parsed = parse(final, parsing_timeout=None, raise_on_error=True)
        if not expected:
            return Grade(None, "the reference cannot be read as mathematics")
        if not verify(expected, parsed, timeout_seconds=None, raise_on_error=True):
            return Grade(False)
        is_same = second_look(answered, asked, parsed[0], expected[0])
        return Grade(is_same, NOT_SURE if is_same is None else None)
    except Exception as error:  # a failure of sympy does not make the answer wrong
        return Grade(None, f"math-verify cannot compare them: {type(error).__name__}")


def verify(cases: Sequence[Case], n_processes: int = 1, seconds: float = SECONDS) -> list[Grade]:
    """Grade answers as mathematics, undecided for one that takes longer than `seconds`."""
    pairs = [(case.answer, case.reference) for case in cases if case.reference is not None]
    grades = iter(map_bounded(mathematical, pairs, n_processes, seconds, _load))
    overdue = Grade(None, f"math-verify took more than {seconds:g} s")
    return [
        next(grades) or overdue
        if case.reference is not None
        else Grade(None, "no reference answer")
        for case in cases
    ]

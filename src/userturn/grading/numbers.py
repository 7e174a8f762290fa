"""Read the final number of a text as a careful reader would, or say that it is open.

Numbers are exact. What can be read in several ways has several values, so that an answer is right
only where they agree, and wrong only where none is the reference.
"""

import re
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise, product, starmap
from math import factorial
from typing import NamedTuple
from unicodedata import normalize, numeric

MARK = re.compile(r"####|\bA(?:nswer)?:|\\boxed\{", re.IGNORECASE)
# Languages with a decimal comma: 70.000, 70 000 and 1.250,50, but also 70,000 and 12.50.
DECIMAL_COMMA = {
    *("cs", "da", "de", "el", "es", "fi", "fr", "hu", "id", "it", "nl"),
    *("no", "pl", "pt", "ro", "ru", "sv", "tr", "uk", "vi"),
}
MOST_DIGITS = 400  # of a number that is computed. A longer one might fill the memory
TOO_LONG = Fraction(10) ** MOST_DIGITS  # in place of a longer number

SIGNS = str.maketrans(  # other dashes, times, currencies, and Arabic separators
    {
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2212\ufe63\uff0d", "-"),
        **dict.fromkeys("\xd7\xb7\u22c5\u2219", "*"),
        **dict.fromkeys("$\u20ac\xa3\xa5\u20b9\u20bd\u20a9", ""),
        **{"\u2015": "\u2014", "\u2044": "/", "\u066b": ".", "\u066c": ",", "\u2019": "'"},
    }
)
RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
LATEX = (
    (r"\\(?:text|mathrm|mathbf|mathit|operatorname)\{([^{}]*)\}", r" \1 "),
    (r"(?<=\d)\s*(?=\\[dt]?frac)", " "),
    (r"\\[dt]?frac\s*\{\s*(-?[\d.,]+)\s*\}\s*\{\s*([\d.,]+)\s*\}", r"\1/\2"),
    (r"\\[dt]?frac\s*(\d)\s*(\d)", r"\1/\2"),
    (r"<<[^<>]*>>", ""),  # sums of GSM8K's calculator
    (r"<([^<>\s]+)>", r" \1 "),  # a model that copied the instruction's `<final answer>`
    (r"\{,\}", ","),
    (r"\\(?:times|cdot)(?![a-z])", "*"),
    (r"\\div(?![a-z])", "÷"),
    (r"\\(?:left|right|displaystyle)(?![a-z])|\\[()\[\]]|(?<!\d)\*\*|\*\*(?!\d)|<\|\w*\|>", ""),
    (r"\\[,;:! ]|~(?!\d)", " "),
    (r"(?i)\b(?:minus|negative)\s+(?=\.?\d)", "-"),
    (r"\\%", "%"),
)
GROUPED = (
    r"\d{1,3}(?:,\d{3})+(?!,?\d)",
    r"\d{1,2}(?:,\d{2})+,\d{3}(?!,?\d)",  # in India
    r"\d{1,3}(?:[ '_]\d{3})+(?![ '_]?\d)",
    r"\d{1,3}(?:\.\d{3}){2,}(?!\.?\d)",
)
WITH_POINT = rf"(?:{'|'.join(GROUPED)}|\d+)(?:\.\d+)?|\.\d+"
WITH_COMMA = (
    r"[1-9]\d{0,2}(?P<mark>[.,' ])\d{3}(?:(?P=mark)\d{3})*(?!\d)(?:(?!(?P=mark))[.,]\d+)?"
    r"|\d+(?:[.,]\d+)?"
)
SCALES = {"thousand": 3, "million": 6, "billion": 9, "trillion": 12}
REST = rf"""
    (?: e (?P<exponent>[-+]?\d+) (?!\w)
      | \s* [*x] \s* 10 \s* \^ \s* \{{? \s* (?P<ten>[-+]?\d+) \s* \}}?
      | \s* (?:\^|\*\*) \s* \{{? \s* (?P<power>-?\d+) \s* \}}?
      | \s* / \s* (?P<below>\d+(?:[.,]\d+)?) (?!\d|\s*/\s*\d)
      | [ ] (?P<over>\d+) / (?P<under>\d+) (?!\d|\s*/\s*\d) )?
    (?: \s* (?P<scale>{"|".join(SCALES)}) s? \b )?
    (?P<percent> \s* (?: % | percent\b | per\ cent\b | ¢ | cents?\b ) )?
    (?P<factorial> ! (?![!=]) )?
"""
NUMBER = {
    has_comma: re.compile(rf"(?<!\d)(?P<plain>{plain}){REST}", re.VERBOSE | re.IGNORECASE)
    for has_comma, plain in ((False, WITH_POINT), (True, WITH_COMMA))
}
DASH = re.compile(r"(?P<before>^|.)(?P<dash>\s*[-—]\s*)$", re.DOTALL)
# Between two numbers that may make a third one: sums, ranges, times, compound units.
JOINED = re.compile(
    r"\s*|,|.*[-+*/÷^:—<>≤≥≠\\].*|\s*(?!or\b|oder\b|ou\b|is\b|equals\b)[^\W\d_]+,?(?:\s+and)?\s*",
    re.DOTALL,
)
UNSURE_BEFORE = re.compile(
    r"(?:[≤≥≠√∛±]|(?<![<>])[<>]=?|\b(?:not|over|under|least|most|than|between)|"
    r"\\(?:sqrt|pm|leq?|geq?|overline|approx)\S*)\s*\{?\s*$"
)
UNSURE_AFTER = re.compile(
    r"\s*(?:[kM]\b|(?i:(?:bn|mio|mrd|tsd|mil|squared|cubed)\b|hundred|dozen|lakh|crore|tausend|"
    r"mill(?:i(?:on|ar|ó|õ)|ón|oen)|milh|milj|bilh|billi|тыс|млн|млрд)|[√π\\^‰千万萬亿億百十]|_\{?\d)"
    r"|\s*\(\s*in [a-z]*(?:thousand|million|hundred|dozen)"
)
SENTENCE_END = re.compile(r"\n|(?<=[.!?])\s+(?=[^\W\d_])")
BRACED = re.compile(r"(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*")
ASIDE = re.compile(
    r"(?<=[\w%.}])\s*[(\[](?!in [a-z]*(?:thousand|million|hundred|dozen))[^()\[\]]*[)\]]"
)
WORDS = re.compile(
    r"\b(?:zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen|hundred|"
    r"(?:twen|thir|for|fif|six|seven|eigh|nine)ty(?:-\w+)?|thousand|million|dozen|half)\b|[〇一二三四五六七八九十百千万億亿]",
    re.IGNORECASE,
)


class Reading(NamedTuple):
    """The possible values of the number that a text ends in."""

    # Values that a reader may take it for, exactly one if there is no doubt.
    values: frozenset[Fraction] = frozenset()
    # Further values that it may have, which do not make the one value doubtful.
    others: frozenset[Fraction] = frozenset()
    is_open: bool = False  # whether it may be any other number

    def is_equal(self, expected: Fraction) -> bool | None:
        """Return whether the number equals the expected one, or None if a reader could argue."""
        if self.values == {expected}:
            return True
        return None if self.is_open or expected in self.values | self.others else False


class Token(NamedTuple):
    """A number in a text, from `start`, with its sign, to `end`."""

    start: int
    end: int
    reading: Reading


OPEN = Reading(is_open=True)


def as_written(text: str) -> str:
    """Return a text with one form of each sign: dashes, digits, fractions, powers, LaTeX."""
    text = re.sub(r"(?<=[\d)])[⁰¹²³⁴-⁹⁻]+", lambda m: f"^{{{m[0].translate(RAISED)}}}", text)
    text = re.sub(r"(?<=\d)(?=[¼-¾⅐-⅞])", " ", text)
    text = re.sub(r"[¼-¾⅐-⅞]", lambda m: f"{Fraction(numeric(m[0])).limit_denominator(10)}", text)
    text = normalize("NFKC", text.translate(SIGNS)).translate(SIGNS)
    for latex, plain in LATEX:
        text = re.sub(latex, plain, text)
    return text


def _plain(digits: str, has_comma: bool) -> list[Fraction]:
    if not has_comma:
        separators = r"\." if digits.count(".") > 1 else "[, '_]"
        return [Fraction(re.sub(separators, "", digits))]
    grouped = re.fullmatch(r"([1-9]\d{0,2}([.,' ])\d{3}(?:\2\d{3})*)(?:[.,](\d+))?", digits)
    with_point = digits.replace(",", ".")
    if not grouped:
        return [Fraction(with_point)]
    whole = re.sub("[., ']", "", grouped[1])
    values = [Fraction(f"{whole}.{grouped[3] or 0}")]
    if re.fullmatch(r"\d+,\d{3}", digits) and not digits.endswith("000"):
        values.append(Fraction(with_point))  # a decimal of three digits, or thousands
    return values


def _unsigned(match: re.Match[str], has_comma: bool) -> Reading:
    digits, shift = match["plain"], int(match["exponent"] or match["ten"] or 0)
    n_digits = max(abs(shift), len(digits) * max(1, abs(int(match["power"] or 1))))
    if n_digits > MOST_DIGITS:
        return Reading(frozenset({TOO_LONG}))
    below = Fraction((match["below"] or "1").replace(",", "."))
    part = match["over"] and (int(match["over"]), int(match["under"]))
    is_divided_by_zero = below == 0 or (part and part[1] == 0)
    is_raised_zero = match["power"] and not any(_plain(digits, has_comma))
    # A billion is another number in other languages.
    if is_divided_by_zero or is_raised_zero or (has_comma and match["scale"]):
        return OPEN
    shift += SCALES.get((match["scale"] or "").lower(), 0)
    values = [
        (value ** int(match["power"] or 1) / below + (Fraction(*part) if part else 0))
        * Fraction(10) ** shift
        for value in _plain(digits, has_comma)
    ]
    others = [value / 100 for value in values] if match["percent"] else []
    if match["factorial"] and values[0].denominator == 1 and values[0] < 100:
        others.append(Fraction(factorial(int(values[0]))))
    return Reading(frozenset(values), frozenset(others))


def _token(match: re.Match[str], text: str, has_comma: bool) -> Token:
    """Return a number with the dash before it, which may be a sign, a bullet or a pause."""
    start, end = match.span()
    is_unsure = UNSURE_BEFORE.search(text[max(0, start - 40) : start])
    if is_unsure or UNSURE_AFTER.match(text, end):
        return Token(start, end, OPEN)
    reading = _unsigned(match, has_comma)
    dash = DASH.search(text[max(0, start - 8) : start])
    is_attached = dash and re.fullmatch(r"\s+-", dash["dash"])
    if dash is None or (re.match(r"[\w.)\]}%]", dash["before"]) and not is_attached):
        return Token(start, end, reading)
    values, others = (frozenset(-value for value in of) for of in reading[:2])
    if not dash["dash"].endswith("-") and dash["before"] != "=":
        values, others = values | reading.values, others | reading.others
    return Token(start - 1, end, Reading(values, others, reading.is_open))


def tokens(text: str, language: str | None) -> list[Token]:
    """Return the numbers in a result of `as_written`, read as the language writes numbers."""
    has_comma = language in DECIMAL_COMMA
    return [_token(match, text, has_comma) for match in NUMBER[has_comma].finditer(text)]


def _together(text: str, read: Sequence[Token]) -> Reading:
    """Return one reading of all numbers in a final text, any of which may be meant."""
    if any(JOINED.fullmatch(text[a.end : b.start]) for a, b in pairwise(read)):
        return OPEN
    values, others, are_open = zip(*(token.reading for token in read), strict=True)
    return Reading(frozenset().union(*values), frozenset().union(*others), any(are_open))


def _marked(text: str, language: str | None) -> Reading | None:
    without_asides = ASIDE.sub("", text)
    numbers = tokens(without_asides, language)
    if not numbers:
        return OPEN if WORDS.search(without_asides) else None
    reading = _together(without_asides, numbers)
    if reading.is_open and without_asides.count("=") == 1:  # 20 - 2 = 18
        result = without_asides.rpartition("=")[2]
        reading = _marked(result, language) or reading
    elif len(numbers) == 1 and re.fullmatch(
        r"\s*\(\s*\d[^()]*\)\W*", without_asides
    ):  # as accountants write -18
        reading = reading._replace(values=reading.values | {-value for value in reading.values})
    return reading


def _combined(first: Fraction, second: Fraction) -> set[Fraction]:
    combined = {first + second, first - second, first * second}
    combined |= {first * n + second for n in (12, 60, 100)} | {
        first + second / n for n in (12, 60, 100)
    }
    return combined | {first / second} if second else combined


def _unmarked(text: str, language: str | None) -> Reading:
    """Return the reading of a text's last number, though others of its sentence may be meant."""
    sentences = SENTENCE_END.split(text)
    line = next((sentence for sentence in reversed(sentences) if tokens(sentence, language)), "")
    every = tokens(line, language)
    if not every:
        return Reading()
    sentence = ASIDE.sub("", line)
    result = next((t for t in (sentence.rpartition("=")[2], sentence) if tokens(t, language)), line)
    *before, last = tokens(result, language)
    others = {value for token in every for of in token.reading[:2] for value in of}
    if before and JOINED.fullmatch(result[before[-1].end : last.start]):
        pairs = product(before[-1].reading.values, last.reading.values)
        others = others.union(*starmap(_combined, pairs))
    return Reading(last.reading.values, frozenset(others), last.reading.is_open)


def _final_text(mark: re.Match[str]) -> str:
    """Return the final text that a mark begins: in the braces, in its line, or in the next one."""
    rest = mark.string[mark.end() :]
    if mark[0].endswith("{"):
        return str(BRACED.findall(rest)[0])
    first, *more = rest.split("\n")
    if re.search(r"\w", first):
        return first
    return re.sub(r"^\s*[-•*]\s+", "", next((line for line in more if re.search(r"\w", line)), ""))


def final_reading(text: str, language: str | None = None) -> Reading:
    """Return the reading of the number that a text ends in, as its language writes numbers.

    That is the number after the last mark, or without a mark the last number of all. If no number
    follows the mark, the last one of all is only among the values that it may have (`others`).
    """
    text = as_written(text)
    marks = list(MARK.finditer(text))
    reading = _marked(_final_text(marks[-1]), language) if marks else None
    if reading is not None:
        return reading
    last = _unmarked(text, language)
    return Reading(others=last.values | last.others, is_open=last.is_open) if marks else last

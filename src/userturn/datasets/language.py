"""The language of a text, reproducibly; None, with a reason, where it cannot be told.

A language is the two letters of ISO 639-1, without a region: `zh-cn` is `zh`.
py3langid tells it, and langdetect in studies that were begun before (config/load.py).
"""

import re
from functools import lru_cache
from typing import Any, NamedTuple
from unicodedata import category

from userturn.config.load import FORMER_DETECTOR
from userturn.datasets.language_codes import SAME

CODE_BLOCK = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
ADDRESS = re.compile(r"https?://\S+|(?<!\S)\S+@\S+")
TOKEN = re.compile(r"<\|[^|>]*\|>")  # of a chat template, such as <|im_end|>
NUMBER = re.compile(r"(?<![!-~])[!-~]*\d[!-~]*")  # with the signs around it, as in (20-8=12)
SYMBOLS = frozenset("{}[]()<>=;_\\|&#$%^*/+")
MOST_SYMBOLS = 0.1  # largest share of them in a text that is no code
LEAST_LETTERS = 20  # fewer letters have no reliable language
LEAST_SIGNS = 4  # the same in scripts whose signs are syllables or words
HAN, KANA, HANGUL = (
    re.compile(f"[{signs}]") for signs in ("\u3400-\u9fff", "\u3040-\u30ff", "\uac00-\ud7af")
)
SURE = 0.5  # least probability of a language that is told
SURE_BEFORE = 0.99  # that of langdetect, which is too sure of itself

EMPTY = "the text is empty"
TOO_SHORT = "too few letters"
CODE = "code or formulas"
UNSURE = "no language is likely enough"


class Detected(NamedTuple):
    """The language of a text, or None with the reason."""

    language: str | None
    reason: str | None


@lru_cache(maxsize=1)
def _identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


def _best(text: str, detector: str) -> tuple[str, float] | None:
    """Return the likeliest language and its probability; None if there is none."""
    if detector != FORMER_DETECTOR:
        code, probability = _identifier().classify(text)
        return SAME.get(code, code), float(probability)
    from langdetect import DetectorFactory, LangDetectException, detect_langs

    DetectorFactory.seed = 0  # its only seed; without it the guesses vary
    try:
        found = detect_langs(text)
    except LangDetectException:
        return None
    return (str(found[0].lang), float(found[0].prob)) if found else None


def likeliest(text: str, detector: str) -> str | None:
    """Return the likeliest language, however unsure; None if there is none.

    The filter `language` of datasets uses it, with langdetect's own codes: `zh-cn` has a region.
    """
    best = _best(text, detector) if text.strip() else None
    return best[0] if best else None


def _prose(text: str) -> str:
    """Return a text without blocks of code, addresses, role tokens, numbers and lone signs."""
    for other in (CODE_BLOCK, ADDRESS, TOKEN, NUMBER):
        text = other.sub(" ", text)
    return " ".join(word for word in text.split() if any(map(str.isalpha, word)))


def _is_code(prose: str) -> bool:
    n_seen = sum(not sign.isspace() for sign in prose)
    return sum(map(SYMBOLS.__contains__, prose)) > MOST_SYMBOLS * n_seen


def _by_script(prose: str) -> str | None:
    """Return Japanese, Korean or Chinese if most letters are of their scripts.

    Langdetect takes a quarter of Chinese questions for Korean or is unsure, py3langid some short
    ones.
    """
    han, kana, hangul = (len(script.findall(prose)) for script in (HAN, KANA, HANGUL))
    if han + kana + hangul < max(LEAST_SIGNS, n_letters(prose) / 2):
        return None
    return "ko" if hangul > han + kana else "ja" if kana else "zh"


def n_letters(text: str) -> int:
    """Return the number of letters, with the vowel signs of Indic scripts."""
    return sum(category(sign)[0] in "LM" for sign in text)


@lru_cache(maxsize=16384)  # an answer is before many turns
def detected(text: str | None, detector: str) -> Detected:
    """Return the language of a text if it is long enough, no code, and one language is likely."""
    if not (text or "").strip():
        return Detected(None, EMPTY)
    prose = _prose(text or "")
    if _is_code(prose) or (not prose and "```" in (text or "")):
        return Detected(None, CODE)
    written = _by_script(prose)
    if written:
        return Detected(written, None)
    if n_letters(prose) < LEAST_LETTERS:
        return Detected(None, TOO_SHORT)
    best = _best(prose, detector)
    least = SURE_BEFORE if detector == FORMER_DETECTOR else SURE
    if best is None or best[1] < least:
        return Detected(None, UNSURE)
    return Detected(best[0].partition("-")[0], None)  # of zh-cn

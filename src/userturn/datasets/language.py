"""The language of a text, reproducibly, and the code of a language, whatever a dataset calls it.

A code has the two letters of ISO 639-1, without a region: `zh-cn` is `zh`, and `English`, `eng`,
`en-GB`, `EN` are `en`. A language without such a code is known by its name, and has the three
letters of ISO 639-3. Languages that no detector tells apart share a code: Bokmål and Nynorsk are
`no`, Mandarin and Cantonese `zh`. Other three-letter codes are refused, since USA is one.
py3langid tells a text's language, and langdetect in studies that were begun before
(config/load.py). A language that cannot be told is None, with a reason. Of MGSM's 2,750 prompts
py3langid tells 2,749 and none wrong. Cut to 60 characters, it tells 2,717 and 4 wrong, and cut to
40 characters 2,604 and 8 wrong, half of them Russian as Bulgarian. langdetect has 5 and 33 wrong.
"""

import re
from functools import cache, lru_cache
from typing import Any, NamedTuple
from unicodedata import category, normalize

from userturn.config.load import FORMER_DETECTOR

LONGEST_CODE = 3  # letters: a shorter name, such as that of the language En, is a code
UNTOLD = {  # words of datasets for an unknown language
    *("unknown", "unk", "und", "undetermined", "undefined", "none", "null", "nan", "n/a", "na?"),
    *("nolang", "zxx", "mul", "mis", "mixed", "other", "multiple languages", "?", "-"),
}
SAME = {  # parts of a language that has two letters, as ISO 639-3 and FLORES have them
    **dict.fromkeys(("nb", "nn", "nob", "nno"), "no"),
    **dict.fromkeys(("cmn", "yue", "wuu", "hak", "nan"), "zh"),
    **{"arb": "ar", "pes": "fa", "prs": "fa", "fil": "tl", "ekk": "et", "lvs": "lv", "zsm": "ms"},
    **{"khk": "mn", "npi": "ne", "ory": "or", "pbt": "ps", "swh": "sw", "uzn": "uz", "azj": "az"},
    **{"als": "sq", "plt": "mg", "ydd": "yi", "iw": "he", "ji": "yi", "jw": "jv"},
}
QUALIFIERS = {  # before or behind the name of a language
    *("simplified", "traditional", "mandarin", "brazilian", "european", "american", "british"),
    *("mexican", "canadian", "australian", "swiss", "austrian", "latin", "standard", "modern"),
    *("brazil", "portugal", "mainland", "china", "taiwan", "hong", "kong"),
    *("individual", "language", "macrolanguage"),
    *("us", "uk", "united", "states", "kingdom", "spain", "mexico", "germany", "india"),
}
NAMES = {
    **{"greek": "el", "farsi": "fa", "castilian": "es", "flemish": "nl", "punjabi": "pa"},
    **{"pashto": "ps", "uyghur": "ug", "khmer": "km", "cambodian": "km", "kyrgyz": "ky"},
    **{"odia": "or", "sinhalese": "si", "slovene": "sl", "moldovan": "ro", "moldavian": "ro"},
    **{"haitian creole": "ht", "scottish gaelic": "gd", "frisian": "fy", "myanmar": "my"},
    **{"norwegian bokmål": "no", "norwegian bokmal": "no", "norwegian nynorsk": "no"},
    **{"norwegian n": "no", "nyanja": "ny", "sotho": "st", "sesotho": "st", "siswant": "ss"},
    **{"scots gaelic": "gd", "laothian": "lo", "greenlandic": "kl", "inupiak": "ik"},
    **{"rhaeto romance": "rm", "waray": "war", "waray philippines": "war", "ndebele": "nr"},
    **{"bokmål": "no", "bokmal": "no", "nynorsk": "no", "mandarin": "zh", "cantonese": "zh"},
    **{"valencian": "ca", "filipino": "tl", "chichewa": "ny", "deutsch": "de", "français": "fr"},
    **{"español": "es", "castellano": "es", "italiano": "it", "português": "pt", "polski": "pl"},
    **{"nederlands": "nl", "svenska": "sv", "norsk": "no", "dansk": "da", "suomi": "fi"},
    **{"čeština": "cs", "magyar": "hu", "română": "ro", "türkçe": "tr", "tiếng việt": "vi"},
    **{"ελληνικά": "el", "русский": "ru", "українська": "uk", "български": "bg", "中文": "zh"},
    **{"汉语": "zh", "漢語": "zh", "简体中文": "zh", "繁體中文": "zh", "日本語": "ja"},
    **{"한국어": "ko", "العربية": "ar", "فارسی": "fa", "עברית": "he", "हिन्दी": "hi"},
    **{"हिंदी": "hi", "বাংলা": "bn", "ไทย": "th", "bahasa indonesia": "id", "català": "ca"},
}


def _plain(name: str) -> str:
    return " ".join(normalize("NFKC", name).casefold().split())


@cache
def _language_codes() -> tuple[dict[str, str], dict[str, str]]:
    """Return the codes of languages by other codes, and by names."""
    from pycountry import languages

    codes: dict[str, str] = {}
    names: dict[str, str] = {}
    for language in languages:
        two = getattr(language, "alpha_2", None)
        code = SAME.get(two or language.alpha_3, two or language.alpha_3)
        if two is not None:
            also = getattr(language, "bibliographic", two)
            codes |= dict.fromkeys((two, language.alpha_3, also), code)
        for name in (language.name, getattr(language, "common_name", language.name)):
            plain = _plain(re.sub(r" \(.*", "", name))  # Malay (macrolanguage) is Malay
            names[plain] = code if two is not None else names.get(plain, code)
    return codes | SAME, names | NAMES


def language_code(text: str) -> str | None:
    """Return the code of a language, or None for a text which says that it is unknown.

    Raises:
        ValueError: the text, which is quoted, is neither a code nor the name of a language.
    """
    plain = _plain(text)
    if plain in UNTOLD:
        return None
    codes, names = _language_codes()
    tag = re.fullmatch(r"([a-z]{2,3})(?:[-_][a-z0-9]{2,8})*(?:[.@][\w-]+)?", plain)
    if tag and tag[1] in codes:
        return codes[tag[1]]
    words = re.findall(r"[^\W\d_]+", plain)
    for name in (plain, " ".join(words), " ".join(w for w in words if w not in QUALIFIERS)):
        if name in names and (len(name) > LONGEST_CODE or not name.isascii()):
            return names[name]
    raise ValueError(f"is '{text}'")


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
    if detector != FORMER_DETECTOR:
        code, probability = _identifier().classify(text)
        return SAME.get(code, code), float(probability)
    from langdetect import DetectorFactory, LangDetectException, detect_langs

    DetectorFactory.seed = 0  # its only seed; without it the guesses vary
    try:
        candidates = detect_langs(text)
    except LangDetectException:
        return None
    return (str(candidates[0].lang), float(candidates[0].prob)) if candidates else None


def likeliest(text: str, detector: str) -> str | None:
    """Return the likeliest language, however unsure, or None if there is none.

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


def _script_language(prose: str) -> str | None:
    """Return Japanese, Korean or Chinese if most letters are of their scripts.

    Langdetect takes a quarter of Chinese questions for Korean or is unsure, and py3langid does so
    with some short ones.
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
    """Return the language of a text, or the reason if it is too short, code or unclear."""
    if not (text or "").strip():
        return Detected(None, EMPTY)
    prose = _prose(text or "")
    if _is_code(prose) or (not prose and "```" in (text or "")):
        return Detected(None, CODE)
    written = _script_language(prose)
    if written:
        return Detected(written, None)
    if n_letters(prose) < LEAST_LETTERS:
        return Detected(None, TOO_SHORT)
    best = _best(prose, detector)
    least = SURE_BEFORE if detector == FORMER_DETECTOR else SURE
    if best is None or best[1] < least:
        return Detected(None, UNSURE)
    return Detected(best[0].partition("-")[0], None)  # of zh-cn

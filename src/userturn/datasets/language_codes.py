"""The code of a language, whatever a dataset calls it: `English`, `eng`, `en-GB`, `EN` are en.

Codes are those of ISO 639-1; languages that have none there are known by their names, and have
the three letters of ISO 639-3. What a detector cannot tell apart has one code: Bokmål and Nynorsk
are `no`, Mandarin and Cantonese `zh`. Other codes of three letters are refused, since USA is one.
"""

import re
from functools import cache
from unicodedata import normalize

LONGEST_CODE = 3  # letters: a shorter name, such as that of the language En, is a code
UNTOLD = {  # what datasets write where they do not know
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
def _known() -> tuple[dict[str, str], dict[str, str]]:
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
    """Return the code of a language; None for a text which says that it is not known.

    Raises:
        ValueError: the text is neither a code nor the name of a language; it is quoted.
    """
    plain = _plain(text)
    if plain in UNTOLD:
        return None
    codes, names = _known()
    tag = re.fullmatch(r"([a-z]{2,3})(?:[-_][a-z0-9]{2,8})*(?:[.@][\w-]+)?", plain)
    if tag and tag[1] in codes:
        return codes[tag[1]]
    words = re.findall(r"[^\W\d_]+", plain)
    for name in (plain, " ".join(words), " ".join(w for w in words if w not in QUALIFIERS)):
        if name in names and (len(name) > LONGEST_CODE or not name.isascii()):
            return names[name]
    raise ValueError(f"is '{text}'")

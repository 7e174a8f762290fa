"""A free text is a language's code only where one knows which."""

import json
from pathlib import Path

import pytest

from userturn.datasets.language import language_code
from userturn.datasets.prepare import items_table
from userturn.errors import UserError
from userturn.grading.grade import Case
from userturn.grading.numeric import verify

SPELLINGS = {
    "en": "English|english|ENGLISH| English |eng|en|EN|En|en-US|en_US|en-GB-oxendict|en_US.UTF-8|"
    "American English|English (US)|English (United Kingdom)|\uff25\uff2e",
    "de": "German|deu|ger|de|DE|de-DE|de_AT|de-CH-1996|Deutsch|Swiss German (Germany)",
    "pt": "Portuguese|pt-BR|pt_PT|Brazilian Portuguese|Portuguese (Brazil)|por|Português",
    "zh": "Chinese|zh-cn|zh-Hant-TW|zho_Hans|chi|Chinese (Simplified)|Chinese, Traditional|"
    "Simplified Chinese|Mandarin Chinese|cmn|Cantonese|yue|\u4e2d\u6587",
    "el": "Greek|Modern Greek|el|gre|ell|Greek, Modern (1453-)",
    "no": "Norwegian|nb|nn-NO|Norwegian Bokm\u00e5l|Norwegian Bokma\u030al|NORWEGIAN_N",
    "ar": "Arabic|arb_Arab|ar-EG",
    "fa": "Farsi|Persian|pes_Arab|per|fas",
    "sw": "Swahili|swh_Latn|sw-KE|Swahili (macrolanguage)",
    "he": "Hebrew|iw|heb",
    "ht": "HAITIAN_CREOLE|Haitian",
    "ms": "Malay|Malay (individual language)|zsm_Latn|msa|may",
    "tl": "Tagalog|Filipino|fil",
    "haw": "Hawaiian",
    "ceb": "CEBUANO",
}


@pytest.mark.parametrize("code", SPELLINGS)
def test_spelling_of_a_language_has_its_code(code: str) -> None:
    spelled = SPELLINGS[code].split("|")
    assert dict(zip(spelled, map(language_code, spelled), strict=True)) == dict.fromkeys(
        spelled, code
    )


@pytest.mark.parametrize("text", ["unknown", "Unknown", "und", "N/A", "null", "mul", "zxx", "?"])
def test_text_that_says_that_nobody_knows_is_no_language(text: str) -> None:
    assert language_code(text) is None


NONE = "|US|USA|GBR|CHN|jp|JP|cz|in|xx|xyz|the|e|C|Python|12|en fr|English, French|English/German"
NO_LANGUAGE = [*NONE.split("|"), "Englisch?", "en-", "-", "Gibberish", "positive", "\U0001f600"]


@pytest.mark.parametrize("text", sorted({*NO_LANGUAGE} - {"-"}))
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is '"):
        language_code(text)


def prepared(path: Path, said: str | int, **settings: object) -> dict[str, int]:
    """Return how many items of each language a dataset with three spellings of two has."""
    spoken = ["English", "eng", "de-DE", said]
    rows = [{"q": f"What is {n}?", "l": one} for n, one in enumerate(spoken)]
    path.write_text("\n".join(map(json.dumps, rows)))
    entry = {"file": str(path), "fields": {"prompt": "q", "language": "l"}} | settings
    table = items_table(entry, path)
    return dict(table.group_by("language").len().iter_rows()) if "language" in table else {"": 0}


def test_items_are_told_apart_and_limited_by_code(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    assert prepared(path, "EN", language="all") == {"en": 3, "de": 1}
    assert prepared(path, "EN", language="all", limit=2, seed=1) == {"en": 2, "de": 1}
    entry = {"file": str(path), "fields": {"prompt": "q", "language": "l"}, "language": "en"}
    assert items_table(entry, path).height == 3


def test_row_without_a_language_that_one_knows_is_refused_with_its_place(tmp_path: Path) -> None:
    said = (
        "line 4: the language is 'Denglish', expected a code such as de or a name such as German; "
        "correct that row, or leave `fields.language` out"
    )
    with pytest.raises(UserError, match=said):
        prepared(tmp_path / "rows.jsonl", "Denglish", language="all")
    with pytest.raises(UserError, match="line 4: the language is '5', expected a code"):
        prepared(tmp_path / "rows.jsonl", 5, language="all")


@pytest.mark.parametrize("said", ["de", "de-DE", "DE", "deu", "German"])
def test_a_number_is_read_as_its_language_writes_it_however_that_is_spelled(said: str) -> None:
    (grade,) = verify([Case(answer="70.000", reference="70000", arguments={"language": said})])
    assert grade.correct is True

"""The language of a text is told where it can be, and null has a reason everywhere else."""

import json
from pathlib import Path

import pytest

from tests.support.published_data import SHARED, needs_shared_data
from userturn.config.load import FORMER_DETECTOR, keep_own_detector
from userturn.datasets.language import (
    CODE,
    EMPTY,
    TOO_SHORT,
    UNSURE,
    Detected,
    language_code,
    likeliest,
)
from userturn.datasets.language import detected as detected_by
from userturn.datasets.prepare import items_table
from userturn.errors import UserError
from userturn.grading.grade import Case
from userturn.grading.numeric import verify

ROOT = Path(__file__).resolve().parents[2]


def detected(text: str | None) -> Detected:
    return detected_by(text, "py3langid")


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Wie viele Eier bleiben übrig (in Euro)?", "de"),
        ("How many eggs are left in the basket after lunch?", "en"),
        ("绿茶怎样泡才不会苦", "zh"),
        ("ご飯を炊く時間はどれくらい", "ja"),
        ("녹차를 어떻게 우려내나요?", "ko"),
        ("كم تفاحة لديها الآن في المطبخ؟", "ar"),
    ],
)
def test_a_sentence_has_its_language(text: str, language: str) -> None:
    assert detected(text) == (language, None)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (None, EMPTY),
        (" \n", EMPTY),
        ("Danke!", TOO_SHORT),
        ("18", TOO_SHORT),
        ("12 * 3 = 36; 36 - 8 = 28; 28 / 2 = 14; (14 + 14) * 2 = 56", TOO_SHORT),
        ("def mid(values):\n    ordered = sorted(values)\n    return ordered[len(values)]", CODE),
        ("```python\nprint('Guten Morgen, liebe Sorgen')\n```", CODE),
        ("<|im_end|><|im_start|>user<|im_end|>", TOO_SHORT),
        ("Hotel Restaurant Bar Museum Park", UNSURE),
    ],
)
def test_what_has_no_certain_language_says_why(text: str | None, reason: str) -> None:
    assert detected(text) == (None, reason)


def test_numbers_and_code_around_a_sentence_do_not_hide_its_language() -> None:
    text = "Sie bezahlt 36 Euro (20-8=12), also bleiben ihr:\n```\nx = 36 - 12\n```"
    assert detected(text).language == "de"


def test_labelled_turns_get_their_own_language_or_none() -> None:
    rows = [json.loads(line) for line in (ROOT / "data/labelled/turns.jsonl").open()]
    told = [(detected(row["turn"]).language, row["language"]) for row in rows]
    wrong = [pair for pair in told if pair[0] not in (None, pair[1])]
    assert (len(told), sum(found is not None for found, _ in told), len(wrong)) == (474, 360, 0)


@needs_shared_data
def test_no_prompt_of_mgsm_is_taken_for_another_language() -> None:
    files = sorted((SHARED / "mgsm").glob("*.tsv"))
    prompts = [(path.stem[-2:], line) for path in files for line in path.open().readlines()[::10]]
    told = [(detected(line.split("\t")[0]).language, language) for language, line in prompts]
    assert len(told) == 275
    assert {found for found, language in told if found not in (None, language)} == set()
    assert sum(found is None for found, _ in told) <= 1


def test_a_study_that_was_begun_with_langdetect_keeps_it(tmp_path: Path) -> None:
    config = {"language_detector": "py3langid"}
    (tmp_path / "study.json").write_text(json.dumps({"config": {"seed": 1}}))
    keep_own_detector(config, tmp_path)
    assert config == {}
    assert detected_by("Hotel Restaurant Bar Museum Park am Ufer", FORMER_DETECTOR).language is None
    chinese = "绿茶怎样泡才不会苦"
    assert (likeliest(chinese, FORMER_DETECTOR), likeliest(chinese, "py3langid")) == ("ko", "zh")


@pytest.mark.parametrize("record", [None, "{", '{"config": {"language_detector": "py3langid"}}'])
def test_a_study_keeps_what_its_configuration_says_where_no_record_says_otherwise(
    tmp_path: Path, record: str | None
) -> None:
    if record is not None:
        (tmp_path / "study.json").write_text(record)
    config = {"language_detector": "py3langid"}
    keep_own_detector(config, tmp_path)
    assert config == {"language_detector": "py3langid"}


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

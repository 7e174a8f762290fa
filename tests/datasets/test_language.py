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
    likeliest,
)
from userturn.datasets.language import detected as detected_by

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

"""Numbers in the form of another language than English."""

import pytest

from userturn.grading.grade import Case
from userturn.grading.numeric import grade_number, verify


@pytest.mark.parametrize(
    ("answer", "language", "reference"),
    [
        ("Das sind 70.000 Euro.", "de", "70000"),
        ("Il paie 70 000 €", "fr", "70,000"),
        ("Son 1.250,50 en total", "es", "1250.5"),
        ("2\u00a0125 ₽", "ru", "2125"),
        ("Also 3,5 Liter", "de", "3.5"),
        ("So sind es 12.50", "de", "12.5"),
        ("Das sind 70,000 Euro", "de", "70000"),  # as in English: three digits are thousands
        ("Es bleiben -5", "de", "-5"),
        ("Das ist 0.125", "de", "0.125"),
        ("\u09ed\u09e6,\u09e6\u09e6\u09e6", "bn", "70000"),
        ("7.5", "en", "7.5"),
        ("70.000", None, "70"),
    ],
)
def test_a_number_is_read_as_its_language_writes_it(
    answer: str, language: str | None, reference: str
) -> None:
    assert grade_number(answer, reference, language).correct


@pytest.mark.parametrize("answer", ["7.000", "70 00", "70.000,5", "siebzigtausend"])
def test_another_number_is_wrong(answer: str) -> None:
    assert grade_number(answer, "70000", "de").correct is False


def test_the_language_comes_from_the_arguments_of_the_item() -> None:
    german, plain = Case("5.500", "5500", {"language": "de"}), Case("5.500", "5500")
    assert [grade.correct for grade in verify([german, plain])] == [True, False]

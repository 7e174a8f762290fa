"""Numbers in the form of another language than English."""

from pathlib import Path

import pytest

from userturn.grading.grade import Case
from userturn.grading.numeric import final, grade_number, verify


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


@pytest.mark.parametrize("answer", ["7.000", "70.000,5", "siebzigtausend"])
def test_another_number_is_wrong(answer: str) -> None:
    assert grade_number(answer, "70000", "de").correct is False


@pytest.mark.parametrize(
    ("answer", "reference"),
    [
        ("1e-5", "0.00001"),
        ("0.00001", "1e-05"),
        ("10^3", "1000"),
        ("1.5 \\times 10^{3}", "1500"),
        ("2³", "8"),
        ("½", "0.5"),
        ("1½", "1.5"),
        ("-\\frac{3}{4}", "-0.75"),
        ("–18", "-18"),  # a dash is a minus
        ("$-18", "-18"),
        ("1 000", "1000"),
        ("1,00,000", "100000"),
        ("1 million", "1000000"),
        ("٢٥", "25"),
        ("18 eggs (9 boxes of 2)", "18"),
        ("20 - 2 = 18", "18"),
        ("18 [1]", "18"),
        ("10**3", "1000"),
        ("minus 3", "-3"),
        ("18 miles", "18"),
    ],
)
def test_a_number_is_read_as_its_writer_means_it(answer: str, reference: str) -> None:
    assert grade_number(f"Answer: {answer}", reference).correct is True


@pytest.mark.parametrize(
    ("answer", "other"),
    [
        ("0.00001", "-5"),
        ("1e16", "16"),
        ("10^3", "3"),
        ("1/2", "2"),
        ("–18", "18"),
        ("18 eggs (9 boxes of 2)", "2"),
        ("18 [1]", "1"),
        ("1,5", "15"),
    ],
)
def test_a_part_of_a_number_is_another_number(answer: str, other: str) -> None:
    assert grade_number(f"Answer: {answer}", other).correct is not True
    assert grade_number(f"Answer: {other}", answer).correct is not True


@pytest.mark.parametrize(
    ("answer", "reference"),
    [
        ("x = 18, y = 4", "18"),
        ("18 or 20", "20"),
        ("18–20", "20"),  # a range
        ("20-2", "18"),
        ("3:45", "45"),
        ("5 hours 30 minutes", "330"),
        ("18 (in thousands)", "18000"),
        ("5k", "5000"),
        ("50%", "0.5"),
        ("0.5", "50%"),
        ("50 cents", "0.5"),
        ("1万", "10000"),
        ("十八", "18"),
        ("(18)", "-18"),  # as accountants write it
        ("eighteen", "18"),
        ("18\n\nAnswer: ", "18"),
        ("at least 18", "18"),
    ],
)
def test_what_a_reader_could_argue_about_is_undecided_with_a_reason(
    answer: str, reference: str
) -> None:
    graded = grade_number(f"Answer: {answer}", reference)
    assert graded.correct is None and graded.reason


def test_several_numbers_are_wrong_where_none_of_them_is_right() -> None:
    assert grade_number("Answer: x = 18, y = 4", "5").correct is False


def test_a_number_that_would_fill_the_memory_is_another_one() -> None:
    assert grade_number("Answer: 10^99999999999", "10").correct is False
    assert grade_number(f"Answer: {'3' * 5000}", "3").correct is False


def test_equal_results_have_one_text_and_doubtful_ones_none() -> None:
    assert {final(f"Answer: {text}", {}) for text in ("0.5", "1/2", "5e-1", "½")} == {"1/2"}
    assert final("Answer: 18 or 20", {}) is None


def test_arguments_that_do_not_fit_leave_the_answer_open_or_are_no_language() -> None:
    assert verify([Case("5", "5", {"language": 7})])[0].correct is True


def test_the_language_comes_from_the_arguments_of_the_item() -> None:
    german, plain = Case("5.500", "5500", {"language": "de"}), Case("5.500", "5500")
    assert [grade.correct for grade in verify([german, plain])] == [True, False]


def test_examples_of_the_page_get_the_grade_beside_them() -> None:
    page = (Path(__file__).parents[2] / "docs" / "verifiers.md").read_text(encoding="utf-8")
    table = page.partition("| answer | reference | grade |")[2].partition("\n\n")[0]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()[2:]]
    assert len(rows) == 5
    for answer, reference, expected in rows:
        text, *settings = answer.replace("`", "").split(", language: ")
        grade = grade_number(text, reference, *settings)
        assert {True: "right", False: "wrong", None: "undecided"}[grade.correct] == expected

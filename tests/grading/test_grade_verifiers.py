"""Verifiers agree with published verdicts, and say undecided where they cannot decide."""

import json
import random
import time
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.support.published_data import SHARED, needs_shared_data, shared_rows
from userturn.datasets.items import remove_nulls
from userturn.grading import ifeval as instruction_following
from userturn.grading.grade import Case, Grade, grade, grade_answers
from userturn.grading.ifeval import checks, grade_case, grade_instructions, variants
from userturn.grading.math import final_answer, mathematical
from userturn.grading.math import verify as grade_mathematics
from userturn.grading.numeric import verify as grade_numbers
from userturn.processes import limit_overdue, map_bounded


@pytest.fixture
def nltk_data(monkeypatch: pytest.MonkeyPatch) -> None:
    import nltk

    monkeypatch.setattr(nltk.data, "path", [str(SHARED / "nltk_data")])


def correct(answer: str, reference: str) -> bool | None:
    return grade_numbers([Case(answer, reference)], 1)[0].correct


@pytest.mark.parametrize(
    "answer",
    [
        "So 1,200.\nAnswer: $1,234.50",
        "**Answer:** 1234.5 dollars",
        "\\boxed{1{,}234.5}",
        "#### 1234.50",
        "She has 3 and then 1234.5.",
        "Answer:\n1234.5",
    ],
)
def test_a_number_is_the_same_in_every_form(answer: str) -> None:
    assert correct(answer, "a\n#### 1,234.5")


def test_the_number_behind_the_last_marker_counts() -> None:
    assert correct("Answer: 3\nAnswer: -4\nThat took 5 steps.", "−4")


def test_an_answer_without_a_number_is_wrong_and_a_reference_without_one_leaves_it_open() -> None:
    assert correct("I do not know.", "4") is False
    assert correct("4", "four") is None


@needs_shared_data
def test_all_5276_published_verdicts_on_gsm8k_are_met() -> None:
    rows = shared_rows("gsm8k/example_model_solutions.jsonl")
    sizes = ("6b_finetuning", "6b_verification", "175b_finetuning", "175b_verification")
    cases = [Case(row[size]["solution"], row["ground_truth"]) for row in rows for size in sizes]
    expected = [row[size]["is_correct"] for row in rows for size in sizes]
    assert len(cases) == 5276
    assert [graded.correct for graded in grade_numbers(cases, 1)] == expected


@pytest.mark.parametrize(
    ("answer", "reference"),
    [
        (r"Answer: 10\%", "0.1"),
        ("Answer: $5.00", "5"),
        ("Answer: $x=3$.", "3"),
        ("Answer: 1,000", "1000"),
        (r"**Answer:** \(\frac12\)", "0.5"),
        ("Answer: (1, 2)", "(1,2)"),
        ("Answer: <7>", "7"),
        ("Answer:\n$$7$$", "7"),
        (r"Answer: \text{Evelyn}", r"\text{Evelyn}"),
        (r"We check our answer: fine. It is \boxed{7}.", "7"),
    ],
)
def test_mathematics_is_the_same_in_every_form(answer: str, reference: str) -> None:
    assert mathematical((answer, reference)) == Grade(True)


@pytest.mark.parametrize(
    ("answer", "reference"),
    [
        (r"\frac{1}{2002!}", r"\frac{1}{2001!}"),
        (r"10^{-12}", r"10^{-11}"),
        (r"\frac{1}{2^{30}}", r"\frac{1}{2^{31}}"),
        ("0.0000001", "0.0000002"),
        ("0.333333333", "1/3"),
        (r"12 \text{ cm}", r"12 \text{ m}"),
        ("2516_8", "2516_7"),
        ("(0.0000001, 1)", "(0.0000002, 1)"),
        ("x + 0.0000001", "x + 0.0000002"),
    ],
)
def test_what_math_verify_rounds_or_strips_is_another_value(answer: str, reference: str) -> None:
    assert mathematical((f"Answer: ${answer}$", reference)) == Grade(False)


@pytest.mark.parametrize(
    ("answer", "reference"), [(r"12 \text{ furlongs}", r"12 \text{ chains}"), (r"\{1,2\}", "(1,2)")]
)
def test_what_a_stricter_look_cannot_decide_is_undecided(answer: str, reference: str) -> None:
    graded = mathematical((f"Answer: ${answer}$", reference))
    assert graded.correct is None and graded.reason


def test_another_value_is_wrong_and_an_empty_reference_leaves_it_open() -> None:
    assert mathematical(("Answer: 8", "7")).correct is False
    assert mathematical(("Answer: 8", "")).correct is None


@pytest.mark.slow
def test_an_answer_that_takes_too_long_stays_open() -> None:
    (graded,) = grade_mathematics([Case("Answer: $9^{9^{9^{9}}}$", "5")], 1, seconds=2)
    assert graded == Grade(None, "math-verify took more than 2 s")


def test_what_hangs_in_c_code_is_ended_and_the_rest_is_done() -> None:
    assert map_bounded(eval, ["1", "9**9**9**9", "3"], 2, seconds=2) == [1, None, 3]


def test_a_process_that_dies_is_replaced() -> None:
    assert map_bounded(exit, [0], n_processes=1, seconds=1) == [None]


def test_bounded_work_keeps_the_order_of_its_arguments() -> None:
    assert map_bounded(abs, list(range(-20, 0)), 2, seconds=60) == list(range(20, 0, -1))
    assert map_bounded(time.sleep, [], 2, seconds=1) == []


def test_bounded_work_ends_where_as_much_took_too_long_as_may() -> None:
    with limit_overdue(2), pytest.raises(TimeoutError, match=r"2 took more than 0.5 s each"):
        map_bounded(eval, ["9**9**9**9"] * 9, 1, seconds=0.5)


@needs_shared_data
def test_math500_accepts_its_500_golds_and_none_of_494_shifted_ones() -> None:
    golds = [row["answer"] for row in shared_rows("math500/test.jsonl")]
    shifted = [
        pair for pair in zip(golds, golds[21:] + golds[:21], strict=True) if len({*pair}) > 1
    ]
    cases = [Case(f"Answer: {gold}", gold) for gold in golds]
    cases += [Case(f"Answer: {other}", gold) for gold, other in shifted]
    decisions = [graded.correct for graded in grade_mathematics(cases, n_processes=2)]
    assert Counter(decisions[:500]) == {True: 500}
    assert Counter(decisions[500:]) == {False: 494}


@needs_shared_data
@pytest.mark.parametrize("form", ["${}$", r"\({}\)", "$${}$$", r"\boxed{{{}}}", r"$\boxed{{{}}}$."])
def test_the_form_of_a_final_answer_makes_no_difference(form: str) -> None:
    for row in shared_rows("math500/test.jsonl"):
        raw, formed = row["answer"], form.format(row["answer"])
        assert final_answer(f"Answer: {formed}") == final_answer(f"Answer: {raw}")


def test_loose_readings_leave_out_lines_and_asterisks() -> None:
    # 2 x 2 ways to cut the first and last line, each with and without asterisks.
    plain = ["a\n*b*\nc", "a\n*b*", "*b*\nc", "*b*"]
    assert variants("a\n*b*\nc") == [*plain, "a\nb\nc", "a\nb", "b\nc", "b"]


@needs_shared_data
def test_gpt4_on_ifeval_follows_415_of_539_prompts_and_696_of_832_instructions(
    nltk_data: None,
) -> None:
    # Upstream has 417 of 541 and 698 of 834: it draws another letter for the # and ! that two
    # prompts ask for, and these are open here. It gets 429 to 431 prompts loosely.
    answers = shared_rows("ifeval/input_response_data_gpt4_20231107_145030.jsonl")
    items = shared_rows("ifeval/input_data.jsonl")
    done = [
        checks("ifeval", instruction_case(item, answer["response"]))
        for item, answer in zip(items, answers, strict=True)
    ]
    assert sum(all(c.strict for c in item) for item in done) == 415
    assert sum(bool(c.strict) for item in done for c in item) == 696
    assert sum(all(c.loose for c in item) for item in done) == 429
    assert sum(bool(c.loose) for item in done for c in item) == 712
    is_open = [c.reason for item in done for c in item if c.strict is None]
    asked = "keywords:letter_frequency: it checks letter 'y', and not "
    assert is_open == [f"{asked}'#'", f"{asked}'!'"]


def instruction_case(item: dict[str, Any], answer: str) -> Case:
    arguments = {
        "instructions": item["instruction_id_list"],
        "kwargs": remove_nulls(item["kwargs"]),
    }
    return Case(answer, None, arguments, item["prompt"])


@needs_shared_data
@pytest.mark.parametrize("kind", ["strict", "loose"])
def test_ifbench_meets_327_published_verdicts_and_leaves_7_open(kind: str, nltk_data: None) -> None:
    items = {row["prompt"].strip(): row for row in shared_rows("ifbench/IFBench_test.jsonl")}
    met: Counter[bool | None] = Counter()
    for row in shared_rows(f"ifbench/eval_results_{kind}.jsonl"):
        if row["prompt"].strip() not in items:
            continue  # one prompt was edited after the verdicts were published
        case = instruction_case(items[row["prompt"].strip()], row["response"])
        for check, expected in zip(
            checks("ifbench", case), row["follow_instruction_list"], strict=True
        ):
            found = getattr(check, kind)
            met[None if found is None else found == expected] += 1
    # Six need a tagger; of one the checker draws another start than the 0 that is asked for.
    assert met == {True: 327, None: 7}


@pytest.mark.slow
def test_instruction_verdicts_do_not_depend_on_chance() -> None:
    kwargs = [{"letter": "#", "let_frequency": 2, "let_relation": "at least"}]
    case = Case("yummy", None, {"instructions": ["keywords:letter_frequency"], "kwargs": kwargs})
    grades = set()
    for seed in range(20):
        random.seed(seed)
        grades.add(grade_case("ifeval", case))
    assert len(grades) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("verifier", "arguments"),
    [
        ("ifeval", {"instructions": ["punctuation:no_comma"], "kwargs": []}),
        ("ifeval", {"instructions": ["punctuation:no_comma"]}),
        ("ifeval", {"instructions": ["keywords:existence"], "kwargs": [None]}),
        ("code", {"tests": 5}),
        ("code", {"tests": ["assert f() == 1"], "function": 3}),
    ],
)
def test_arguments_that_do_not_fit_leave_their_answer_open_and_end_nothing(
    verifier: str, arguments: dict[str, Any]
) -> None:
    row = {"outcome": "ok", "answer": "def f(): return 1", "reference_answer": None}
    row |= {"verifier_arguments": json.dumps(arguments), "messages": [{"content": "?"}]}
    (graded,) = grade_answers(verifier, [row])
    assert graded.correct is None and graded.reason


@pytest.mark.slow
def test_a_keyword_that_is_matched_without_end_leaves_its_answer_open_and_no_other() -> None:
    asked = {"instructions": ["keywords:existence"], "kwargs": [{"keywords": ["(a+)+$"]}]}
    cases = [Case(text, None, asked) for text in ("a" * 40 + "b", "aaa")]
    endless, matched = grade_instructions("ifeval", cases, seconds=2)
    assert endless.correct is None and "took more than 2 s" in str(endless.reason)
    assert matched.correct is True


def test_missing_nltk_data_leaves_it_open_and_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import nltk

    monkeypatch.setattr(nltk.data, "path", [str(tmp_path)])
    case = Case("Go home.", None, {"instructions": ["words:start_verb"], "kwargs": [{}]})
    graded = grade_case("ifbench", case)
    assert graded.correct is None
    assert "is missing: run python -m nltk.downloader" in str(graded.reason)


@pytest.mark.slow
def test_an_instruction_without_a_checker_leaves_it_open_unless_another_fails() -> None:
    instructions = ["no:such_thing", "punctuation:no_comma"]
    arguments = {"instructions": instructions, "kwargs": [{}, {}]}
    grades = grade_instructions("ifeval", [Case(text, None, arguments) for text in ("a", "a, b")])
    assert [(graded.correct, graded.correct_loose) for graded in grades] == [
        (None, None),
        (False, False),
    ]
    assert grades[0].reason == "no:such_thing: no such checker"


def test_loading_the_checkers_downloads_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    import nltk

    asked: list[str] = []
    monkeypatch.setattr(nltk, "download", lambda name, **_: asked.append(name))
    instruction_following.registry.cache_clear()
    instruction_following.registry("ifbench")
    assert asked == []


def test_an_answer_that_was_never_given_stays_open_and_an_empty_one_is_wrong() -> None:
    row = {"reference_answer": "4", "verifier_arguments": None, "messages": [{"content": "2 + 2?"}]}
    rows = [row | {"outcome": "error", "answer": None}, row | {"outcome": "empty", "answer": ""}]
    assert grade_answers("numeric", rows) == [Grade(None, "no answer: error"), Grade(False)]
    assert grade_answers("none", rows[:1]) == [Grade(None, "no verifier")]


def test_grades_stand_in_the_order_of_the_answers_with_the_same_columns(tmp_path: Path) -> None:
    answers = {"model": "m", "dataset": "d", "item": ["b", "a"], "outcome": "ok", "answer": "5"}
    items = {
        "item": ["a", "b"],
        "messages": [[{"role": "user", "content": "?"}]] * 2,
        "reference_answer": ["4", "5"],
        "verifier_arguments": pl.Series([None, None], dtype=pl.String),
    }
    paths = [str(tmp_path / name) for name in ("answers", "items", "grades")]
    pl.select(
        **{k: pl.Series(v) if isinstance(v, list) else pl.lit(v) for k, v in answers.items()}
    ).write_parquet(paths[0])
    pl.DataFrame(items).write_parquet(paths[1])
    grade("numeric", "identity", 1, *paths)
    table = pl.read_parquet(paths[2])
    graded = ["correct", "correct_loose", "score", "reason"]
    assert table.columns == ["model", "dataset", "item", *graded]
    assert table.select("item", "correct").rows() == [("b", True), ("a", False)]

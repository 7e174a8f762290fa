"""The heuristic judge, rule by rule, and the rubric that all judges share."""

from pathlib import Path

import polars as pl
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.support.judged_cell import verdicts_of
from tests.support.snakemake_runs import ROOT
from userturn.judges.heuristic import WORD, judge_by_words, share_repeated, words
from userturn.judges.judge import CellToJudge, Judge
from userturn.judges.verdict import GENUINE

SETTINGS = {"restated": 0.8, "grounded": 0.1, "repeated": 0.5}
PROMPT = "How do I keep rice from sticking to the pot?"
ANSWER = (
    "Rinse the rice, toast it in a little oil, then steam it on a low flame with the lid closed."
)


def label(turn: str, answer: str = ANSWER) -> str | None:
    return judge_by_words([{"role": "user", "content": PROMPT}], answer, turn, SETTINGS).label


@pytest.mark.parametrize(
    ("turn", "expected"),
    [
        ("How long should I toast it in the oil?", GENUINE),
        ("My lid doesn't close well, does the steam matter?", GENUINE),
        ("How do I keep rice from sticking to the pot?", "prompt_restate"),
        ("rice sticking to my pot, how do I keep it from that", "prompt_restate"),
        ("Rinse the rice, toast it in a little oil, then steam it.", "assistant_turn_restate"),
        ("Sure, here are three more tips about toasting rice.", "assistant_turn_restate"),
        ("<|channel|>analysis<|message|>We need to toast", "assistant_turn_restate"),
        ("Thanks, that helps!", "generic"),
        ("Ok, great.", "generic"),
        ("Tell me more, please.", "generic"),
        ("Write a poem about the northern sea.", "unrelated"),
        ("", "degenerate"),
        (" ... !!", "degenerate"),
        ("toast toast toast toast toast toast", "degenerate"),
    ],
)
def test_turn_gets_the_label_of_the_rubric(turn: str, expected: str) -> None:
    assert label(turn) == expected


def test_genuine_turn_after_one_answer_is_not_genuine_after_another() -> None:
    turn = "How long should I toast it in the oil?"
    assert label(turn) == GENUINE
    assert label(turn, answer="Use a heavy pan and stir often.") != GENUINE


@given(st.text(st.characters(max_codepoint=127), max_size=40))
def test_words_of_plain_ascii_are_those_that_the_expression_finds(text: str) -> None:
    assert words(text) == [word.lower() for word in WORD.findall(text)]


def test_words_are_found_in_every_script() -> None:
    assert words("Señor, 3 яблока! it's 毕老师") == ["señor", "3", "яблока", "it's", "毕老师"]


def test_share_of_repeated_triples() -> None:
    # a b c a b c: the triples are abc, bca, cab, abc; one of four was there before.
    assert share_repeated(list("abcabc")) == 0.25
    assert share_repeated(list("ab")) == 0


def test_every_label_of_the_judge_is_in_the_rubric() -> None:
    labels = yaml.safe_load((ROOT / "data" / "rubric.yaml").read_text())["labels"]
    source = (ROOT / "src" / "userturn" / "judges" / "heuristic.py").read_text()
    used = {name for name in labels if f'"{name}"' in source} | {GENUINE}
    assert used == set(labels)
    assert all(set(entry) == {"criterion", "example"} for entry in labels.values())


def test_error_is_unscored_with_its_reason_and_never_judged(tmp_path: Path) -> None:
    turns = pl.DataFrame(
        {
            "model": "m",
            "dataset": "d",
            "temperature": 0.0,
            "perturbation": "none",
            "item": ["a", "b"],
            "sample": [0, 0],
            "answer": [ANSWER, None],
            "outcome": ["empty", "error"],
            "text": ["", None],
            "error": [None, "out of memory"],
        }
    )
    items = pl.DataFrame(
        {"item": ["a", "b"], "messages": [[{"role": "user", "content": PROMPT}]] * 2}
    )
    turns.write_parquet(tmp_path / "turns.parquet")
    items.write_parquet(tmp_path / "items.parquet")
    heuristic = Judge("h", SETTINGS | {"kind": "heuristic"}, tmp_path, tmp_path, {}, None, 0.0)
    cell = CellToJudge(str(tmp_path / "turns.parquet"), str(tmp_path / "items.parquet"))
    verdicts = verdicts_of(heuristic, cell)
    assert verdicts["label"].to_list() == ["degenerate", None]
    assert verdicts["genuine"].to_list() == [False, None]
    assert verdicts["unscored_reason"].to_list() == [None, "no user turn: out of memory"]

"""The heuristic judge, rule by rule, and the rubric that all judges share."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.support.judged_cell import verdicts_of
from tests.support.published_data import needs_shared_data, shared_rows
from tests.support.snakemake_runs import ROOT
from userturn.judges import heuristic
from userturn.judges.heuristic import judge_by_words
from userturn.judges.judge import CellToJudge, Judge
from userturn.judges.verdict import ARGUABLE, GENUINE, Verdict
from userturn.judges.words import WORD, share_repeated, words

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
        ("<｜Assistant｜>How long should I toast it?", "assistant_turn_restate"),
        ("<start_of_turn>model\nHow long should I toast it?", "assistant_turn_restate"),
        ("Okay, the user asks how to keep rice from sticking.", "assistant_turn_restate"),
        ("Let me know if the lid of your pot is too loose.", "assistant_turn_restate"),
        ("You are a helpful AI that knows about rice.", "assistant_turn_restate"),
        ("As the user, I would ask about the oil.", "assistant_turn_restate"),
        ("The next message should ask about the oil.", "assistant_turn_restate"),
        ("How may I assist you with your pot?", "assistant_turn_restate"),
        ("How can I help the steam past the lid?", GENUINE),
        ("My oil, my flame.", GENUINE),
        ("Let's say I only have oil spray, would that do?", GENUINE),
        (
            "Should I rinse the rice, toast it in oil and steam it on a low flame?",
            "assistant_turn_restate",
        ),
        (
            "Leave the pot alone for ten minutes after that, so the grains dry and come apart.",
            "assistant_turn_restate",
        ),
        ("What's the trick so that no rice sticks to a pot?", "prompt_restate"),
        ("<|user|>How do I keep rice from sticking to the pot?", "assistant_turn_restate"),
        ("<|im_end|>\n<|im_start|>user\n<|im_start|>assistant\n<|im_start|>user", "degenerate"),
        ("You forgot the salt!", GENUINE),
        ("And without a cover?", GENUINE),
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


@pytest.mark.parametrize(
    ("turn", "reason"),
    [
        ("Und wie lange soll ich das Öl erhitzen?", "the turn is not in English"),
        ("火要多大", "the turn is not in English"),
        ("for pot in pots:\n    steam(pot)", "the turn is code only"),
    ],
)
def test_turn_that_cannot_be_judged_is_unscored_with_the_reason(turn: str, reason: str) -> None:
    asked = [{"role": "user", "content": PROMPT}]
    assert judge_by_words(asked, ANSWER, turn, SETTINGS) == Verdict(None, None, reason)


def test_no_turn_of_a_conversation_in_another_language_is_scored() -> None:
    asked = [{"role": "user", "content": "Wie koche ich Reis, ohne dass er klebt?"}]
    answer = "Wasche den Reis, röste ihn in Öl und lass ihn mit Deckel dämpfen."
    for turn in ("Wie lange röste ich ihn?", "How long?", "Danke!", "Reis Reis Reis Reis Reis"):
        reason = judge_by_words(asked, answer, turn, SETTINGS).unscored_reason
        assert reason == "the conversation is not in English"


def test_new_version_of_the_rules_is_another_judge(monkeypatch: pytest.MonkeyPatch) -> None:
    before = heuristic.identity({"kind": "heuristic", **SETTINGS})
    monkeypatch.setattr(heuristic, "VERSION", heuristic.VERSION + 1)
    assert heuristic.identity({"kind": "heuristic", **SETTINGS}) != before


def labelled_turns() -> list[dict[str, Any]]:
    lines = (ROOT / "data" / "labelled" / "turns.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def test_labelled_turns_are_enough_and_each_has_the_label_of_most_of_its_three_labellings() -> None:
    rubric = yaml.safe_load((ROOT / "data" / "rubric.yaml").read_text())["labels"]
    rows = labelled_turns()
    assert len(rows) >= 400
    assert len({row["id"] for row in rows}) == len(rows)
    assert len({row["conversation"] for row in rows}) >= 40
    assert len({row["language"] for row in rows}) >= 5
    assert {row["label"] for row in rows} == set(rubric)
    for row in rows:
        assert row["messages"][-1]["role"] == "assistant"
        given = [row["first_label"], row["second_label"], row["third_label"]]
        assert given.count(row["label"]) >= 2


def test_what_only_refers_back_or_quotes_the_answer_is_arguable_by_rubric_2() -> None:
    asked = [{"role": "user", "content": PROMPT}]
    quoting = "Should I rinse the rice, toast it in oil and steam it on a low flame?"
    for turn, by_rubric_1 in (
        ("And without a cover?", GENUINE),
        (quoting, "assistant_turn_restate"),
    ):
        assert judge_by_words(asked, ANSWER, turn, SETTINGS).label == by_rubric_1
        assert judge_by_words(asked, ANSWER, turn, SETTINGS | {"arguable": True}).label == ARGUABLE


def test_judge_reaches_its_goals_on_english_turns_and_is_silent_on_others() -> None:
    counts: Counter[tuple[bool, bool]] = Counter()
    for row in labelled_turns():
        *asked, answer = row["messages"]
        verdict = judge_by_words(asked, answer["content"], row["turn"], SETTINGS)
        if verdict.genuine is None:
            continue
        assert row["language"] == "en"
        counts[row["label"] == GENUINE, verdict.genuine] += 1
    n = counts.total()
    genuine, called = (
        counts[True, True] + counts[True, False],
        counts[True, True] + counts[False, True],
    )
    agreed = (counts[True, True] + counts[False, False]) / n
    by_chance = (genuine * called + (n - genuine) * (n - called)) / n**2
    assert (agreed - by_chance) / (1 - by_chance) >= 0.6
    assert counts[False, True] / (n - genuine) <= 0.1


def published_answers() -> list[tuple[list[dict[str, str]], str]]:
    """Return the best-ranked answers of at least 60 words, each after its conversation."""
    found = []

    def walk(node: dict[str, Any], before: list[dict[str, str]]) -> None:
        role = "assistant" if node["role"] == "assistant" else "user"
        if role == "assistant" and node.get("rank") == 0 and len(node["text"].split()) >= 60:
            found.append((before, node["text"]))
        for reply in node.get("replies", []):
            walk(reply, [*before, {"role": role, "content": node["text"]}])

    for tree in shared_rows("oasst_en100/en_100_tree.jsonl"):
        walk(tree["prompt"], [])
    return found


@needs_shared_data
def test_answers_own_continuation_is_seldom_genuine() -> None:
    genuine = []
    for asked, answer in published_answers():
        said = answer.split()
        half = len(said) // 2
        shown, turn = " ".join(said[:half]), " ".join(said[half : half + 40])
        genuine.append(judge_by_words(asked, shown, turn, SETTINGS).genuine is True)
    assert len(genuine) == 162
    assert sum(genuine) <= 0.1 * len(genuine)


@needs_shared_data
@pytest.mark.parametrize("share", [0, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 1])
def test_restated_answer_stays_not_genuine_as_its_words_become_noise(share: float) -> None:
    rng = np.random.default_rng(5)
    answers = [(asked, answer.split()) for asked, answer in published_answers()]
    vocabulary = [word for _, said in answers for word in said]
    genuine = []
    for asked, said in answers:
        half = said[: len(said) // 2]
        noise = rng.choice(vocabulary, size=len(half))
        mixed = np.where(rng.random(len(half)) < share, noise, half)[:40]
        verdict = judge_by_words(asked, " ".join(half), " ".join(mixed), SETTINGS)
        genuine.append(verdict.genuine is True)
    assert sum(genuine) <= 0.2 * len(genuine)


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
    labels = yaml.safe_load((ROOT / "data" / "rubric_2.yaml").read_text())["labels"]
    source = (ROOT / "src" / "userturn" / "judges" / "heuristic.py").read_text()
    used = {name for name in labels if f'"{name}"' in source} | {GENUINE, ARGUABLE}
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

"""chrF has the values of sacrebleu 2.6.0: `CHRF().sentence_score(text, [reference]).score`."""

import pytest

from userturn.tables.turn_texts import chrf


@pytest.mark.parametrize(
    ("text", "reference", "score"),
    [
        (
            "Do the black cats sleep at night?",
            "Where do the black cats sleep when it rains?",
            52.175296471582136,
        ),
        ("Why?", "Why so?", 35.71925431274346),
        ("ab", "Where do cats sleep?", 3.571428571428572),
        ("xyz", "abc def ghi jkl", 0.0),
        ("And what about dogs?", "And what about dogs?", 100.0),
        ("Où dorment les chats noirs ?", "Les chats noirs dorment où ?", 68.81673056158182),
        ("猫はどこですか", "犬はどこにいますか", 18.79627212007378),
    ],
)
def test_scores_are_those_of_sacrebleu(text: str, reference: str, score: float) -> None:
    assert chrf(text, reference) == pytest.approx(score, abs=1e-9)


def test_white_space_alone_shares_nothing() -> None:
    assert chrf(" \n", "Why?") == chrf("Why?", "") == 0

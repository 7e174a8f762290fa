"""The answer is what the user would see; reasoning is kept apart, also where it was cut."""

import pytest

from userturn.generation.reasoning import Answer, split_reasoning

ANALYSIS = "<|channel|>analysis<|message|>Two plus two.<|end|><|start|>assistant"
THINK = "<|im_start|>assistant\n<think>\n"


@pytest.mark.parametrize(
    ("text", "prompt", "expected"),
    [
        ("Four. ", "", Answer("Four.", None)),
        ("<think>\n2 + 2\n</think>\n\nFour.", "", Answer("Four.", "2 + 2")),
        ("<think></think>Four.", "", Answer("Four.", None)),
        ("2 + 2\n</think>\n\nFour.", THINK, Answer("Four.", "2 + 2")),
        ("<think>\n2 + 2 is", "", Answer("", "2 + 2 is")),
        ("2 + 2 is", THINK, Answer("", "2 + 2 is")),
        ("Four.", "<think>\n\n</think>\n\n", Answer("Four.", None)),
        ("[THINK]2 + 2[/THINK]Four.", "", Answer("Four.", "2 + 2")),
        (f"{ANALYSIS}<|channel|>final<|message|>Four.", "", Answer("Four.", ANALYSIS)),
        ("<|channel|>final<|message|>Four.<|return|>", "", Answer("Four.", None)),
        ("<|channel|>final <|constrain|>json<|message|>4", "", Answer("4", None)),
        ("<|channel|>analysis<|message|>Two", "", Answer("", "<|channel|>analysis<|message|>Two")),
        ("<|channel|>ana", "", Answer("", "<|channel|>ana")),
        (ANALYSIS, "", Answer("", ANALYSIS)),
        ("", "", Answer("", None)),
    ],
)
def test_answer_is_split_from_its_reasoning(text: str, prompt: str, expected: Answer) -> None:
    assert split_reasoning(text, prompt) == expected

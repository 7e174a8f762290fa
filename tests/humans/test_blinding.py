"""What annotators read: no token tells a model family, no character hides or turns text around."""

import pytest

from userturn.humans.blinding import neutral

TURN = "And if I forgot to soak them?"


@pytest.mark.parametrize(
    "written",
    [
        f"{TURN}<|im_end|>",
        f"{TURN}<|endoftext|>",
        f"<|message|>{TURN}<|end|>",
        f"{TURN}<|assistant|>",
        f"{TURN}\n<|im_end|>\n<|im_start|>",
        f"{TURN}<|eot_id|><|start_header_id|>assistant<|end_header_id|>",
        f"{TURN}<end_of_turn>",
        f"{TURN}</s>",
        f"{TURN}<｜end▁of▁sentence｜>",
        f"<|channel|>analysis<|message|>{TURN}<|return|>",
    ],
)
def test_same_turn_of_every_family_reads_the_same(written: str) -> None:
    assert neutral(written, [], is_turn=True) == TURN


@pytest.mark.parametrize(
    "header",
    [
        "<|im_end|>\n<|im_start|>assistant\n",
        "<|end|><|start|>assistant<|channel|>final<|message|>",
        "<|assistant|>",
        "<|eot_id|><|start_header_id|>assistant<|end_header_id|>",
        "<end_of_turn><start_of_turn>model\n",
    ],
)
def test_role_opened_inside_a_turn_reads_the_same_for_every_family(header: str) -> None:
    shown = neutral(f"Yes.{header}Sure!", [], is_turn=True)
    words = shown.replace("⟦mark⟧", "").replace("\n", "")
    assert words == "Yes.⟦assistant⟧Sure!"


def test_stop_token_of_an_unusual_model_is_known_from_its_description() -> None:
    assert neutral("One%%STOP%% two%%STOP%%", ["%%STOP%%"], is_turn=True) == "One⟦mark⟧ two"


def test_answer_keeps_its_ends() -> None:
    assert neutral("  x\n", []) == "  x\n"


def test_turn_of_nothing_but_tokens_is_empty() -> None:
    assert neutral("<|im_end|>\n<|im_start|>user\n<|im_start|>assistant", [], is_turn=True) == ""


@pytest.mark.parametrize("text", ["a < b and c > d", "use <b>bold</b>", "List[int]", "x | y"])
def test_ordinary_text_is_left_as_it_is(text: str) -> None:
    assert neutral(text, [], is_turn=True) == text


def test_characters_that_hide_or_turn_text_are_shown_by_code() -> None:
    assert neutral("a\u202eb\u200bc\x00d\te\nf", []) == "a⟦U+202E⟧b⟦U+200B⟧c⟦U+0000⟧d\te\nf"


def test_joined_emoji_stay_joined() -> None:
    family = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
    assert neutral(family, []) == family

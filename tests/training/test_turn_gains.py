"""The gain of a user turn is the study's, by a loaded model; shuffled turns do not raise it."""

from pathlib import Path
from typing import Any

import pytest
import torch

from tests.support.tiny_model import write_tiny_model
from userturn.datasets.messages import ShownAnswer
from userturn.errors import UserError
from userturn.generation.scorer import Exchange
from userturn.models.whole_model import whole_model
from userturn.prompts.chat_template import Template
from userturn.prompts.load_template import load_template
from userturn.training.learnt_turns import learnt_turns, shuffle_answers
from userturn.training.turn_gains import gains

LETTERS = "abcdefgh"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_model(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(scope="module")
def template(folder: Path) -> Template:
    return load_template(folder, {"enable_thinking": False}, "2026-04-02")


def talk(letter: str, said: str | None = None) -> list[dict[str, str]]:
    """A conversation whose user repeats the answer's letter."""
    return [
        {"role": "user", "content": f"Which? {letter.upper()}"},
        {"role": "assistant", "content": letter},
        {"role": "user", "content": letter if said is None else said},
    ]


def exchange(letter: str, said: str) -> Exchange:
    asked, answer, _ = talk(letter)
    return Exchange(letter, (asked,), ShownAnswer(answer["content"]), said)


def test_gain_is_the_mean_difference_of_log_likelihoods_a_character(
    folder: Path, template: Template
) -> None:
    model = whole_model(folder, dtype="float32").eval()
    turns = [exchange("a", "why so"), exchange("b", "yes"), exchange("c", "no")]
    found = gains(model, template, turns, turns)

    def of(answer: str) -> float:
        shown = template.probe_prompt(turns[0].prompt, answer).token_ids
        said = template.encoder.encode(["", ""], ["why so"])
        ids = torch.tensor([[*shown, *said]])
        with torch.no_grad():
            rows = model(ids).logits[0].log_softmax(-1)
        return sum(float(rows[len(shown) - 1 + i, token]) for i, token in enumerate(said))

    assert found[0] == pytest.approx((of("a") - (of("b") + of("c")) / 2) / 6, abs=1e-5)


def test_turn_without_text_says_nothing_and_one_without_other_answers_has_no_gain(
    folder: Path, template: Template
) -> None:
    model = whole_model(folder, dtype="float32").eval()
    turns = [exchange("a", " \n"), exchange("b", "why")]
    assert gains(model, template, turns, turns)[0] == 0.0
    assert gains(model, template, turns[1:], turns[1:]) == [None]


def test_shuffled_turns_follow_answers_of_others_and_every_answer_is_somebodys() -> None:
    conversations = [talk(letter) for letter in LETTERS]
    made = shuffle_answers(conversations)
    assert sorted(talk[0]["content"][-1].lower() for talk in made) == list(LETTERS)
    assert all(question["content"][-1].lower() == said["content"] for question, _, said in made)
    assert all(answer["content"] != said["content"] for _, answer, said in made)
    assert sorted(answer["content"] for _, answer, _ in made) == list(LETTERS)
    assert shuffle_answers(conversations[::-1]) == made


def test_conversations_that_share_an_answer_are_not_given_it() -> None:
    made = shuffle_answers([talk("a"), talk("a", "hm"), talk("b")])
    assert [
        answer["content"] for question, answer, _ in made if question["content"][-1] == "A"
    ] == ["b", "b"]
    with pytest.raises(UserError, match="no other with other answers; give `data` more"):
        shuffle_answers([talk("a"), talk("a", "hm")])


def trained_gain(folder: Path, template: Template, conversations: Any) -> float:
    """Return the mean gain of turns that repeat their answer, after some training on others."""
    torch.manual_seed(0)
    model = whole_model(folder, dtype="float32")
    rows, _ = learnt_turns(template, conversations, ["user"], 999)
    optimiser = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for step in range(240):
        row = {name: torch.tensor([ids]) for name, ids in rows[step % len(rows)].items()}
        model(**row).loss.backward()
        if step % 4 == 3:
            optimiser.step()
            optimiser.zero_grad()
    turns = [exchange(letter, letter) for letter in LETTERS]
    found = gains(model.eval(), template, turns, turns)
    return sum(gain for gain in found if gain is not None) / len(turns)


@pytest.mark.slow
def test_turns_after_their_own_answer_teach_to_react_and_shuffled_ones_do_not(
    folder: Path, template: Template
) -> None:
    conversations = [talk(letter) for letter in LETTERS]
    own = trained_gain(folder, template, conversations)
    shuffled = trained_gain(folder, template, shuffle_answers(conversations))
    assert own > 0.5
    assert shuffled < 0.1

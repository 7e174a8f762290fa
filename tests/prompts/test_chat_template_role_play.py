"""Role-play: a prompt for an answer, in which the model's own side is the user's."""

from dataclasses import replace
from typing import Any

import pytest

from tests.support.chat_formats import Format, all_formats
from tests.support.snakemake_runs import ROOT
from userturn.datasets.messages import Message
from userturn.prompts.chat_template import (
    Prompt,
    RolePlayTemplate,
    Template,
    TemplateError,
    check_context_length,
    conversation,
)
from userturn.prompts.load_template import load_template
from userturn.prompts.template_checks import PLAYED_AS, prove

QUESTION: Message = {"role": "user", "content": "Two and two?"}
SYSTEM: Message = {"role": "system", "content": "Be brief."}
TOLD = "Play the person."


def played(template: Template, roles: str) -> RolePlayTemplate:
    """Return a template in role-play with the choices of another."""
    own: dict[str, Any] = {
        name: getattr(template, name)
        for name in ("tokenizer", "today", "options", "stop", "end_of_sequence", "system")
    }
    return RolePlayTemplate(**own, instruction=TOLD, roles=roles)


def said(messages: list[Message]) -> list[tuple[str, str]]:
    return [(message["role"], message["content"]) for message in messages]


def test_swapped_conversation_gives_the_model_the_users_side() -> None:
    talk: list[Message] = [QUESTION, {"role": "assistant", "content": "Four."}]
    made = conversation(TOLD, "swapped", [*talk, {"role": "user", "content": "Sure?"}], "Yes.")
    assert said(made) == [
        ("user", TOLD),
        ("assistant", "Two and two?"),
        ("user", "Four."),
        ("assistant", "Sure?"),
        ("user", "Yes."),
    ]


def test_quoted_conversation_is_one_message() -> None:
    made = conversation(TOLD, "quoted", [SYSTEM, QUESTION], "Four.")
    text = (
        "Play the person.\n\nThe conversation so far:\n\nInstructions to the assistant: Be brief."
        "\n\nPerson: Two and two?\n\nAssistant: Four."
    )
    assert said(made) == [("user", text)]


def test_what_the_assistant_was_told_stands_in_the_instruction() -> None:
    made = conversation(TOLD, "swapped", [SYSTEM, QUESTION], "Four.")
    assert said(made)[0] == (
        "user",
        "Play the person.\n\nThe assistant has these instructions:\n\nBe brief.",
    )
    assert [message["role"] for message in made] == ["user", "assistant", "user"]


@pytest.mark.parametrize("roles", ["swapped", "quoted"])
def test_user_who_begins_is_shown_the_instruction_alone(roles: str) -> None:
    assert said(conversation(TOLD, roles, [], None)) == [("user", TOLD)]


def test_answer_that_is_left_out_is_an_empty_message() -> None:
    assert said(conversation(TOLD, "swapped", [QUESTION], None))[-1] == ("user", "")


@pytest.fixture(scope="module")
def template() -> Template:
    entry: Any = {"enable_thinking": False}
    return load_template(ROOT / "data/chat_api", entry, "2026-04-02")


@pytest.mark.slow
@pytest.mark.parametrize(
    "one",
    [
        pytest.param(one, id=one.name, marks=[pytest.mark.long] if one.has_own_vocabulary else [])
        for one in all_formats()
    ],
)
def test_every_format_that_answers_plays_the_user(one: Format) -> None:
    raw = one.made()
    try:
        answer = raw.answer_prompt([{"role": "user", "content": TOLD}])
    except TemplateError:
        return  # it takes no plain conversation
    for roles in ("swapped", "quoted"):
        template = played(raw, roles)
        assert PLAYED_AS in prove(template)
        prompt = template.probe_prompt([QUESTION], "Four.")
        end = template.user_header_text
        assert prompt.text.endswith(end) and answer.text.endswith(end.rpartition("Four")[2])
        assert template.stop_token_ids == raw.end_token_ids
        assert template.stop_texts == raw.end_texts
        assert template.probe_prompt([], None) == answer


def test_reasoning_of_the_answer_is_not_shown_to_a_person(template: Template) -> None:
    own = played(template, "swapped")
    assert own.probe_parts([QUESTION], "Four.", "Let me add.") == own.probe_parts(
        [QUESTION], "Four."
    )


def test_studys_description_keeps_a_played_turns_ends(template: Template) -> None:
    own = played(template, "swapped")
    record = {"end_of_answer_token_ids": [7], "end_of_answer_texts": [], "header": "role play"}
    assert replace(own, record=record).stop_token_ids == (7,)


PROMPT = Prompt("five tokens", (1, 2, 3, 4, 5))


def test_prompt_that_just_fits_is_taken() -> None:
    check_context_length(PROMPT, max_tokens=3, max_model_len=8)


def test_prompt_that_is_a_token_too_long_is_refused() -> None:
    with pytest.raises(TemplateError, match="need 9 tokens, max_model_len is 8"):
        check_context_length(PROMPT, max_tokens=4, max_model_len=8)

"""A new study shows the vendor's header, and one that an earlier version began keeps its own."""

from dataclasses import replace

import pytest

from tests.support.chat_formats import all_formats
from userturn.datasets.messages import ShownAnswer
from userturn.generation.scorer import OWN, Context, turn_tokens
from userturn.prompts.load_template import bare_header_template

FORMATS = {one.name: one for one in all_formats()}
QUESTION = ({"role": "user", "content": "What is two and two?"},)
# Their vocabulary joins two line breaks, and their templates keep one that begins a message.
JOINING = ["qwen 1.5", "yi, smollm 2, dolphin 2.5, hermes 2.5", "minimax m2", "seed oss"]


@pytest.mark.parametrize("name", JOINING)
def test_complete_header_is_the_vendors_and_bare_differs_from_it(name: str) -> None:
    template = FORMATS[name].made()
    assert template.user_header_text == FORMATS[name].entry["header"]
    assert (template.header_extent, template.left_to_the_model) == ("complete", "")
    bare = bare_header_template(template)
    assert bare.user_header_text == FORMATS[name].entry["header"].removesuffix("\n")
    assert (bare.header_extent, bare.left_to_the_model) == ("bare", "\n")


@pytest.mark.parametrize("name", JOINING)
def test_header_of_an_earlier_study_is_what_every_message_shares(name: str) -> None:
    earlier = replace(FORMATS[name].made(), is_shared=True)
    header = FORMATS[name].entry["header"].removesuffix("\n")
    assert (earlier.user_header_text, earlier.left_to_the_model) == (header, "\n")
    # An earlier description names no form of header.
    record = {"user_header": header, "left_to_the_model": "\n", "stop_token_ids": [1]}
    kept = replace(FORMATS[name].made(), record=record)
    assert kept.header_extent == "shared"
    assert kept.probe_prompt(QUESTION, "Four.") == earlier.probe_prompt(QUESTION, "Four.")
    assert (kept.stop_token_ids, kept.stop_texts) == ((1,), ())


def test_rest_of_a_header_is_scored_as_no_part_of_a_turn() -> None:
    template = FORMATS["qwen 1.5"].made()
    context = Context(OWN, None, QUESTION, ShownAnswer("Four."))
    complete, bare = (
        turn_tokens(template, context, "Why?"),
        turn_tokens(bare_header_template(template), context, "Why?"),
    )
    assert bare == complete
    earlier = turn_tokens(replace(template, is_shared=True), context, "Why?")
    assert earlier.token_ids == complete.token_ids
    assert earlier.n_context == complete.n_context - 1  # the line break was scored

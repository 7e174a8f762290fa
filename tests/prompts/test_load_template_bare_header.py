"""A bare header ends in the name of the role; a header without a name is refused."""

import pytest

from tests.support.chat_formats import all_formats
from userturn.prompts.load_template import with_bare_header
from userturn.prompts.template_checks import prove
from userturn.prompts.tokenize import TemplateError

FORMATS = {one.name: one for one in all_formats()}
# By hand from the complete headers of formats.yaml.
BARE = {
    "gpt-oss": "<|end|><|start|>user",
    "llama 3": "<|eot_id|><|start_header_id|>user",
    "gemma 3": "<end_of_turn>\n<start_of_turn>user",
    "deepseek vl2": "<｜end▁of▁sentence｜>\n\n<|User|>",
    "zephyr 7b": "</s>\n<|user|>",  # the marker is plain text there
    "inkbot": "\n<#user#>",
    "solar 10.7b": "### User:",
    "orion 14b": "</s>Human:",
}


@pytest.mark.parametrize("name", BARE)
def test_header_ends_in_the_name_of_the_role(name: str) -> None:
    one = FORMATS[name]
    bare = with_bare_header(one.made())
    # A vocabulary may join the marker's or the colon's last character with what follows it.
    shown = bare.user_header_text
    assert BARE[name].startswith(shown) and BARE[name][len(shown) :].strip(":>#") == ""
    assert bare.user_header_text + bare.left_to_the_model == one.entry["header"]
    assert bare.header_form == "bare"
    assert prove(bare)


@pytest.mark.parametrize(
    ("name", "sentence"), [("danube 1.8b", "names no role"), ("deepseek v3", "bare already")]
)
def test_header_without_text_behind_a_name_is_refused(name: str, sentence: str) -> None:
    with pytest.raises(TemplateError, match=sentence):
        with_bare_header(FORMATS[name].made())

"""A chat template gives the exact true prefix, or is refused in a sentence that helps."""

from datetime import date
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.family_templates import (
    MISTRAL,
    MISTRAL_TEMPLATE,
    QWEN,
    QWEN_PLAIN,
    small_tokenizer,
)
from userturn.prompts.chat_template import Template, TemplateError

TODAY = date(2026, 4, 2)
ITEM = [{"role": "user", "content": "Two & two? I <think> 4"}]
ANSWER = "It is four: 2 + 2 = 4."
TURN = "<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n"
PLAIN = "{% for m in messages %}" + TURN + "{% endfor %}"
GENERATION = "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
CHATML = PLAIN + GENERATION


def tokenizer(template: str, **named: str) -> Any:
    return small_tokenizer(template, [*QWEN, "<bos>"], eos_token="<|im_end|>", **named)


def template(text: str, **settings: Any) -> Template:
    return Template(tokenizer(text), TODAY, **settings)


def each(body: str) -> str:
    """A template that writes each message m (of index loop.index0) in its own way."""
    return "{% for m in messages %}" + body + "{% endfor %}" + GENERATION


def true_rendering(made: Template, messages: list[dict[str, str]], follow: str) -> str:
    """What transformers itself renders with a real next user message."""
    history = [*messages, {"role": "assistant", "content": ANSWER}]
    return str(
        made.tokenizer.apply_chat_template(
            [*history, {"role": "user", "content": follow}],
            tokenize=False,
            strftime_now=TODAY.strftime,
        )
    )


EXACT = {
    "plain": CHATML,
    "trims every message": each(TURN.replace("m.content", "m.content | trim")),
    "trims answers only": each(
        TURN.replace("m.content", "(m.content if m.role == 'user' else m.content | trim)")
    ),
    "writes today's date": "Today: {{ strftime_now('%d %B %Y') }}\n" + CHATML,
    "writes the date in a macro": (
        "{% macro day() %}{{ strftime_now('%Y-%m-%d') }}{% endmacro %}{{ day() }}" + CHATML
    ),
    "has a date_string": (
        "{% if not date_string is defined %}{% set date_string = strftime_now('%d %b %Y') %}"
        "{% endif %}{{ date_string }}" + CHATML
    ),
    "numbers the messages": each("<|im_start|>{{ loop.index }} " + TURN),
    "counts the messages": "{{ messages | length }} messages\n" + CHATML,
    "marks the last message": each("{% if loop.last %}<|vision_pad|>{% endif %}" + TURN),
    "shows history otherwise than the last answer": each(
        "{% if loop.last and m.role == 'assistant' %}<think>\n\n</think>\n{% endif %}" + TURN
    ),
    "begins with BOS": "{{ bos_token }}" + CHATML,
    "has an own system message": "<|im_start|>system\nBe kind.<|im_end|>\n" + CHATML,
}


@pytest.mark.parametrize("text", EXACT.values(), ids=EXACT.keys())
@pytest.mark.parametrize("content", ["Two and two?", " Two\n\nand two? \n", "2"])
@pytest.mark.parametrize("follow", ["Really?", "no <b>way</b>"])
def test_prompt_is_the_rendering_up_to_a_real_next_message(
    text: str, content: str, follow: str
) -> None:
    made = Template(tokenizer(text, bos_token="<bos>"), TODAY)
    item = [{"role": "user", "content": content}]
    prompt = made.probe_prompt(item, ANSWER)
    rendering = true_rendering(made, item, follow)
    assert rendering.startswith(prompt.text + follow)
    ids = made.tokenizer(rendering, add_special_tokens=False)["input_ids"]
    assert tuple(ids[: len(prompt.token_ids)]) == prompt.token_ids


REFUSED = {
    "lowercases": (each(TURN.replace("m.content", "m.content | lower")), "shows message 1 of"),
    "escapes": (each(TURN.replace("m.content", "m.content | e")), "alters the text"),
    "shortens": (each(TURN.replace("m.content", "m.content[:16]")), "alters the text"),
    "drops what is long": (
        each("{% if m.content | length < 20 %}" + TURN + "{% endif %}"),
        "alters the text",
    ),
    "writes a message twice": ("{{ messages[0].content }}\n" + CHATML, "message 1 of 3 2 times"),
    "hides the last user message": (
        each(
            "{% if not (loop.last and loop.index > 1 and m.role == 'user') %}"
            + TURN
            + "{% endif %}"
        ),
        "message 3 of 3 0 times .*`user_header`",
    ),
    "keeps only the last message": (
        "{% set m = messages[-1] %}" + TURN + GENERATION,
        "message 1 of 3 0 times",
    ),
    "takes no user message after an answer": (
        each("{% if loop.index > 2 %}{{ raise_exception('one turn only') }}{% endif %}" + TURN),
        "one turn only.*`user_header`",
    ),
    "knows a sentinel": (
        each("{% if 'sentinel' in m.content %}<|vision_pad|>{% endif %}" + TURN),
        "alters the text",
    ),
    "ends a sentinel's turn otherwise": (
        each(
            TURN + "{% if loop.index == 3 and 'sentinel' in m.content %}<|vision_end|>{% endif %}"
        ),
        "alters the text.*`user_header`",
    ),
    "has a header for long messages": (
        each("{% if m.content | length > 15 %}<|vision_pad|>{% endif %}" + TURN),
        "alters the text",
    ),
    "has a header for messages with digits": (
        each("{% if loop.index > 2 and m.content[0] in '0123456789' %}!{% endif %}" + TURN),
        "alters the text.*`user_header`",
    ),
    "is random": ("{{ range(100000) | random }}" + CHATML, "alters the text"),
    "begins with BOS twice": (
        "{{ bos_token + bos_token }}" + CHATML,
        "begins with two '<bos>', expected one.*`chat_template`",
    ),
    "joins all messages": (
        "{{ messages | map(attribute='content') | join('\n') }}",
        "nothing says that the user speaks",
    ),
    "writes the same before every role": (
        each("<|im_start|>{{ m.content }}<|im_end|>"),
        "nothing says that the user speaks",
    ),
    "writes the role behind the text": (
        "<bos>{% for m in messages %}{{ m.content }} [{{ m.role }}]\n{% endfor %}",
        "nothing says that the user speaks",
    ),
    "has an end mark after answers only": (
        "<bos>{% for m in messages %}{{ m.content }}"
        "{{ '<|im_end|>' if m.role == 'assistant' else '\n' }}{% endfor %}",
        "nothing says that the user speaks",
    ),
    "has an error of syntax": (CHATML + "\n{% if %}", "cannot be read, line 5: .*; correct it"),
    "names a filter that there is not": (
        CHATML + "{{ messages | frob }}",
        "cannot be read, line 4: No filter named 'frob'.*`chat_template`",
    ),
    "fails": ("{{ nothing.there }}" + CHATML, "refuses a conversation of user"),
}


@pytest.mark.parametrize(("text", "sentence"), REFUSED.values(), ids=REFUSED.keys())
def test_template_that_cannot_be_proven_is_refused(text: str, sentence: str) -> None:
    made = Template(tokenizer(text, bos_token="<bos>"), TODAY)
    with pytest.raises(TemplateError, match=f"(?s){sentence}"):
        made.probe_prompt(ITEM, ANSWER)


def test_conversation_that_the_template_refuses_is_refused_in_its_words() -> None:
    strict = template(
        each(
            "{% if loop.index0 and messages[loop.index0 - 1].role == m.role %}"
            "{{ raise_exception('roles must alternate') }}{% endif %}" + TURN
        )
    )
    with pytest.raises(TemplateError, match=r"user, user, assistant.*roles must alternate"):
        strict.probe_prompt([*ITEM, *ITEM], ANSWER)
    assert strict.probe_prompt(ITEM, ANSWER).text.endswith("<|im_start|>user\n")


def test_template_that_merges_messages_of_one_role_gives_its_own_text() -> None:
    merging = template(
        each(
            "{% set before = messages[loop.index0 - 1].role if loop.index0 else '' %}"
            "{% if before == m.role %}{{ '\n\n' + m.content }}{% else %}"
            "{% if before %}<|im_end|>\n{% endif %}<|im_start|>{{ m.role }}\n{{ m.content }}"
            "{% endif %}"
        )
    )
    item = [{"role": "user", "content": "One."}, {"role": "user", "content": "Two."}]
    assert merging.probe_prompt(item, "Three.").text == (
        "<|im_start|>user\nOne.\n\nTwo.<|im_end|>\n"
        "<|im_start|>assistant\nThree.<|im_end|>\n<|im_start|>user\n"
    )


def test_reasoning_that_a_template_strips_is_never_shown_as_if_it_were_there() -> None:
    stripping = template(each(TURN.replace("m.content", "m.content.split('</think>')[-1]")))
    with pytest.raises(TemplateError, match="alters the text"):
        stripping.probe_prompt(ITEM, "<think>2 + 2</think>Four.")


def test_empty_answer_is_rendered_as_the_template_renders_it() -> None:
    sparse = template(each("{% if m.content %}" + TURN + "{% else %}<|vision_pad|>{% endif %}"))
    assert sparse.probe_prompt([{"role": "user", "content": "Hi."}], "").text == (
        "<|im_start|>user\nHi.<|im_end|>\n<|vision_pad|><|im_start|>user\n"
    )


def test_prompt_without_conversation_is_what_the_template_always_writes_and_the_header() -> None:
    made = template("<|im_start|>system\nBe kind.<|im_end|>\n" + CHATML)
    expected = "<|im_start|>system\nBe kind.<|im_end|>\n<|im_start|>user\n"
    assert made.probe_prompt([], None).text == expected


def test_header_of_the_line_cuts_the_derived_one() -> None:
    made = template(CHATML, user_header="<|im_start|>user")
    assert made.probe_prompt(ITEM, ANSWER).text.endswith("4.<|im_end|>\n<|im_start|>user")


def test_header_of_the_line_replaces_the_derived_one_if_it_ends_the_turn_too() -> None:
    made = template(CHATML, user_header="<|im_end|>\n<|im_start|>human\n")
    assert made.probe_prompt(ITEM, ANSWER).text.endswith("= 4.<|im_end|>\n<|im_start|>human\n")


def test_header_of_the_line_that_ends_no_turn_is_refused() -> None:
    made = template(CHATML, user_header="<|im_start|>human\n")
    with pytest.raises(TemplateError, match=r"does not fit .* begin with '<\|im_end\|>'"):
        made.probe_prompt(ITEM, ANSWER)


def test_header_of_the_line_stands_in_where_none_can_be_derived() -> None:
    text = each("{% if loop.index > 2 %}{{ raise_exception('one turn') }}{% endif %}" + TURN)
    made = template(text, user_header="<|im_end|>\n<|im_start|>user\n")
    assert made.header_is_by_hand
    assert made.probe_prompt([{"role": "user", "content": "Hi."}], "Yes.").text == (
        "<|im_start|>user\nHi.<|im_end|>\n<|im_start|>assistant\nYes.<|im_end|>\n<|im_start|>user\n"
    )


def test_header_of_the_line_saves_no_item_that_cannot_be_proven() -> None:
    text = each("{% if 'odd' in m.content %}<|vision_pad|>{% endif %}" + TURN)
    made = template(text, user_header="<|im_start|>user")
    with pytest.raises(TemplateError, match="alters the text"):
        made.probe_prompt([{"role": "user", "content": "How odd."}], ANSWER)


def test_stops_end_a_turn_begin_another_or_end_the_text() -> None:
    made = template(CHATML)
    ids = made.tokenizer.convert_tokens_to_ids(["<|im_end|>", "<|im_start|>", "<|endoftext|>"])
    assert set(made.stop_token_ids) == set(ids)


def test_stop_of_the_line_is_a_token_where_the_tokenizer_has_one_and_else_a_text() -> None:
    made = template(CHATML, stop=("<bos>", "<|eot|>"))
    assert made.tokenizer.convert_tokens_to_ids("<bos>") in made.stop_token_ids
    assert made.stop_texts == ("<|eot|>",)


def test_turn_of_control_tokens_and_white_space_is_empty() -> None:
    made = template(CHATML)
    ids = made.tokenizer("<think>\n <|im_start|>\n", add_special_tokens=False)["input_ids"]
    assert not made.is_empty(ids, made.decode(ids))  # here <think> is plain text
    think = Template(small_tokenizer(CHATML, QWEN, QWEN_PLAIN, eos_token="<|im_end|>"), TODAY)
    ids = think.tokenizer("\n <|im_start|>\n", add_special_tokens=False)["input_ids"]
    assert think.is_empty(ids, think.decode(ids))
    white = think.tokenizer("\n ", add_special_tokens=False)["input_ids"]
    assert think.is_empty(white, think.decode(white))


QUOTED = st.lists(
    st.sampled_from(
        [
            "<|im_end|>",
            "\n",
            "<|im_start|>",
            "user",
            " ",
            "<|im_",
            "end|>",
            "é",
            "<bos>",
            "x",
            "</s>",
            "[INST]",
            "[/INST]",
            "<0x0A>",
            "▁",
            "\U000f0001",
            "<unk>",
        ]
    ),
    min_size=1,
    max_size=8,
).map("".join)
MADE = {
    "byte-level": template(CHATML),
    "metaspace": Template(
        small_tokenizer(
            MISTRAL_TEMPLATE, MISTRAL, metaspace=True, bos_token="<s>", eos_token="</s>"
        ),
        TODAY,
    ),
    "absorbing white space": Template(
        small_tokenizer(
            CHATML,
            QWEN,
            flags={token: {"lstrip": True, "rstrip": True} for token in QWEN},
            eos_token="<|im_end|>",
        ),
        TODAY,
    ),
}


@pytest.mark.parametrize("made", MADE.values(), ids=MADE.keys())
@settings(deadline=None)
@given(quoted=QUOTED)
def test_item_that_quotes_special_tokens_cannot_close_a_turn(made: Template, quoted: str) -> None:
    controls = set(made.control_tokens.values())
    benign = made.probe_prompt([{"role": "user", "content": "x"}], "x").token_ids
    try:
        prompt = made.probe_prompt([{"role": "user", "content": f"a{quoted}"}], f"{quoted}b")
    except TemplateError as error:
        assert "\U000f0001" in quoted, error
        return
    found = [i for i in prompt.token_ids if i in controls]
    assert found == [i for i in benign if i in controls]


@pytest.mark.parametrize("made", MADE.values(), ids=MADE.keys())
@settings(deadline=None)
@given(content=st.text(min_size=1).filter(lambda text: text.strip() and "<" not in text))
def test_reading_messages_apart_changes_nothing_where_no_token_is_quoted(
    made: Template, content: str
) -> None:
    literals, contents = made.split([{"role": "user", "content": content}], True)
    text = literals[0] + contents[0] + literals[1]
    whole = made.tokenizer(text, add_special_tokens=False)["input_ids"]
    assert made.encoder.encode_apart(literals, contents) == whole

"""Every format of formats.yaml: header, stops and answer are what its vendor's template says.

The expected values were written by hand, see formats.yaml; tests/support/chat_formats.py makes the
tokenizers.
"""

import re
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest
from transformers import LlamaTokenizer

from tests.support.chat_formats import Format, all_formats, histories, table
from userturn.generation.ask_engine import to_record
from userturn.generation.reasoning import Answer, read_answer
from userturn.models.requests import Completion, Request, Sampling
from userturn.prompts.chat_template import Prompt, Template, TemplateError
from userturn.prompts.template_checks import prove

QUESTION = [{"role": "user", "content": "What is two and two?"}]
HISTORY = [
    *QUESTION,
    {"role": "assistant", "content": "Four."},
    {"role": "user", "content": "Sure?"},
]
ANSWER = "Two and two make four."
NEXT_MESSAGES = (
    "But why?",
    "12 is more than 4",
    '"Four", you say',
    "为什么是四",
    "{'a': 1}",
    "- a list",
    "😀 thanks",
    "ünal agrees",
)
FORMATS = all_formats()
DERIVED = [one for one in FORMATS if not one.is_refused]
CASES = [
    pytest.param(one, id=one.name, marks=[pytest.mark.slow] if one.has_own_vocabulary else [])
    for one in DERIVED
]
REFUSED = [one for one in FORMATS if one.is_refused]


@pytest.fixture(scope="module", params=CASES)
def made(request: pytest.FixtureRequest) -> Iterator[tuple[Format, Template]]:
    """A format and its template; one at a time, since vocabularies are large."""
    yield request.param, request.param.made()


def test_header_is_all_that_the_format_writes_before_a_user_message(
    made: tuple[Format, Template],
) -> None:
    one, template = made
    assert template.user_header_text + template.left_to_the_model == one.entry["header"]
    prompt = template.probe_prompt(QUESTION, ANSWER)
    assert prompt.text.endswith(ANSWER + template.user_header_text)
    assert prove(template)


def test_turns_end_where_the_format_ends_them(made: tuple[Format, Template]) -> None:
    one, template = made
    names = template.tokenizer.convert_ids_to_tokens
    assert set(names(list(template.stop_token_ids))) == one.tokens("stops")
    assert set(template.stop_texts) == set(one.entry.get("stop_texts", []))
    assert set(names(list(template.end_token_ids))) == one.tokens("ends")
    assert set(template.end_texts) == set(one.entry.get("end_texts", []))


def test_probe_s_tokens_begin_those_of_real_conversations(made: tuple[Format, Template]) -> None:
    _, template = made
    for messages in (QUESTION, HISTORY):
        prompt = template.probe_prompt(messages, ANSWER).token_ids
        history = [*messages, {"role": "assistant", "content": ANSWER}]
        for text in NEXT_MESSAGES:
            whole = template.render([*history, {"role": "user", "content": text}])
            ids = template.tokenizer(whole, add_special_tokens=False)["input_ids"]
            assert tuple(ids[: len(prompt)]) == prompt, text


def test_history_is_what_the_vendor_s_template_writes_with_the_reasoning(
    made: tuple[Format, Template],
) -> None:
    one, template = made
    given = one.entry.get("given")
    assert template.answer_layout.keeps_reasoning == (given is not None)
    if given is None:
        return
    answer = {"role": "assistant", "content": ANSWER, given: "2 + 2"}
    if given == "part thinking":
        thought = {"type": "thinking", "thinking": "2 + 2"}
        answer["content"] = [thought, {"type": "text", "text": ANSWER}]
    history = [*QUESTION, answer, {"role": "user", "content": "Sure?"}]
    whole = template.tokenizer.apply_chat_template(
        history, tokenize=False, strftime_now=template.today.strftime, **template.options
    )
    shown = template.answer_layout.shown(ANSWER, "2 + 2")
    probe = template.probe_prompt(QUESTION, *shown)
    assert whole.startswith(probe.text + template.left_to_the_model + "Sure?")
    ids = template.tokenizer(whole, add_special_tokens=False)["input_ids"]
    assert tuple(ids[: len(probe.token_ids)]) == probe.token_ids


def test_no_more_of_the_header_is_left_to_the_model_than_must_be(
    made: tuple[Format, Template],
) -> None:
    _, template = made
    if not template.left_to_the_model:
        return
    literals, contents = template.probe_parts(QUESTION, ANSWER)
    longer = [*literals[:-1], literals[-1] + template.left_to_the_model[0]]
    ids = template.encoder.encode(longer, contents)
    history = [*QUESTION, {"role": "assistant", "content": ANSWER}]
    wholes = [
        template.render([*history, {"role": "user", "content": text}]) for text in NEXT_MESSAGES
    ]
    encoded = [template.tokenizer(text, add_special_tokens=False)["input_ids"] for text in wholes]
    assert any(whole[: len(ids)] != ids for whole in encoded)


def read(template: Template, raw: str, n_tokens: int | None = None) -> Answer:
    """Read a raw answer as a study does: its tokens up to the first that ends it."""
    ids = template.encoder.encode_whole(raw)[:n_tokens]
    ends = [n for n, i in enumerate(ids) if i in template.end_token_ids]
    ids = ids[: ends[0] + 1] if ends else ids
    prompt = template.answer_prompt(QUESTION)
    sampling = Sampling(0, 1, 0, 0, 64, template.end_token_ids, None, template.end_texts)
    request = Request("k", "d", "i", 0, Prompt("", (1,)), sampling)
    record = to_record(request, Completion(tuple(ids), "stop"), template)
    return read_answer(record["text"], prompt.text, record["token_ids"], template.answer_layout)


def test_raw_answer_is_read_as_its_text_and_its_reasoning(made: tuple[Format, Template]) -> None:
    one, template = made
    assert read(template, one.entry["raw"]) == Answer("Four.", one.entry.get("reasoning"))
    if "raw_thinking" in one.entry:
        assert read(template, one.entry["raw_thinking"]).text == "Four."


def test_answer_that_was_cut_shows_its_text_or_nothing_but_never_its_reasoning(
    made: tuple[Format, Template],
) -> None:
    one, template = made
    raw = one.entry.get("raw_thinking", one.entry["raw"])
    ids = template.encoder.encode_whole(raw)
    stops = ["", *(text.lstrip("\n") for text in template.end_texts)]
    for n_tokens in range(1, len(ids)):
        said = template.decode(ids[:n_tokens])
        answer = read(template, raw, n_tokens)
        if "Four." in said:
            part_of_stop = answer.text.removeprefix("Four.").lstrip("\n")
            assert any(end.startswith(part_of_stop) for end in stops), said
        elif "2 + 2" in said:
            assert answer.error or "Four".startswith(answer.text), said


@pytest.mark.parametrize("one", REFUSED, ids=lambda one: one.name)
def test_format_without_a_user_header_is_refused_in_a_sentence(one: Format) -> None:
    with pytest.raises(TemplateError, match=one.entry["refused"]):
        prove(one.made())


def named(name: str) -> Template:
    return next(one for one in FORMATS if one.name == name).made()


def test_answer_with_a_control_token_is_an_error_and_a_quoted_one_is_text() -> None:
    made, begin = named("command r7b, command a"), "<|START_OF_TURN_TOKEN|>"
    raw = f"<|START_RESPONSE|>Four. {begin} Five.<|END_RESPONSE|>"
    ids = made.tokenizer(raw, add_special_tokens=False)["input_ids"]
    error = read_answer(raw, "", ids, made.answer_layout).error
    assert error is not None and begin in error
    written = [i for i in ids if i != made.control_tokens[begin]]
    assert read_answer(raw, "", written, made.answer_layout).error is None


def test_record_is_cut_behind_the_header_and_before_the_stop_text() -> None:
    made = named("vicuna")
    written = made.encoder.encode_whole(" Why four? ASSISTANT: Because it is.")
    sampling = Sampling(0, 1, 0, 0, 64, made.stop_token_ids, None, made.stop_texts, " ")
    request = Request("k", "d", "i", 0, Prompt("", (1,)), sampling)
    record = to_record(request, Completion(tuple(written), "length"), made)
    assert (record["text"], record["finish_reason"]) == ("Why four?", "stop")
    assert made.decode(record["token_ids"]).endswith("ASSISTANT:")


def test_mistral_v3_s_own_vocabulary_has_no_token_for_a_lone_space() -> None:
    """It is out of mistral-common (Apache-2.0)."""
    data = pytest.importorskip("mistral_common", reason="comes with vLLM")
    extractor = pytest.importorskip("transformers.tokenization_utils_sentencepiece")
    path = Path(data.__file__).parent / "data" / "mistral_instruct_tokenizer_240323.model.v3"
    vocab, _, merges = extractor.SentencePieceExtractor(str(path)).extract()
    tokenizer = LlamaTokenizer(vocab=vocab, merges=merges, legacy=True)
    tokenizer.add_special_tokens({"extra_special_tokens": ["[INST]", "[/INST]"]})
    tokenizer.chat_template = (
        "<s>{% for m in messages %}{{ '[INST] ' + m.content + '[/INST]' if m.role == 'user' else "
        "' ' + m.content + '</s>' }}{% endfor %}"
    )
    made = Template(tokenizer, date(2026, 4, 2))
    names = tokenizer.convert_ids_to_tokens(list(made.probe_prompt(QUESTION, ANSWER).token_ids))
    assert names[-2:] == ["</s>", "[INST]"]
    assert made.left_to_the_model == " "
    assert set(tokenizer.convert_ids_to_tokens(list(made.stop_token_ids))) >= {"</s>", "[/INST]"}


def test_there_are_at_least_sixty_formats_from_named_sources() -> None:
    assert len(DERIVED) >= 60
    assert all(one.entry["source"] for one in FORMATS)


def test_page_of_chat_formats_names_every_format() -> None:
    page = Path(__file__).parents[2] / "benchmarks" / "chat_formats.md"
    assert table() in page.read_text(encoding="utf-8"), "python -m tests.support.chat_formats"


@pytest.mark.slow
@pytest.mark.long
def test_page_of_chat_formats_shows_the_history_of_every_format_that_thinks() -> None:
    page = Path(__file__).parents[2] / "benchmarks" / "chat_formats.md"
    assert histories() in page.read_text(encoding="utf-8"), "python -m tests.support.chat_formats"


@pytest.mark.slow
def test_probe_on_the_page_is_what_the_template_of_qwen_3_5_writes() -> None:
    page = (Path(__file__).parents[2] / "docs" / "prompts.md").read_text(encoding="utf-8")
    shown = page[page.index("    ⟦") : page.index("The probe has")]
    (entry,) = (one for one in FORMATS if one.name == "qwen 3.5")
    question = [{"role": "user", "content": "How tall is a giraffe?"}]
    probe = entry.made().probe_prompt(question, "About five metres.")
    assert re.sub(r"[⟦⟧\n]|    ", "", shown).replace("↵", "\n") == probe.text
    assert f"{len(probe.token_ids)} tokens" in page
    last = page[page.index("The last five are") : page.index("The model continues")]
    assert [int(number) for number in re.findall(r"\d+", last)] == list(probe.token_ids[-5:])

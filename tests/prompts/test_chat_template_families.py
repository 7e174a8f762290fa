"""Headers that end in a space, turns that end in plain text, and answers inside a wrapper.

Templates are in our own words, with the structure of the vendors' formats; headers, stops and raw
answers are written by hand. Mistral's vocabulary is its own, out of mistral-common (Apache-2.0).
"""

from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from transformers import LlamaTokenizer

from tests.support import family_templates as families
from userturn.generation.ask_engine import to_record
from userturn.generation.reasoning import Answer, read_answer
from userturn.models.requests import Completion, Request, Sampling
from userturn.prompts.chat_template import Prompt, Template, TemplateError
from userturn.prompts.examples import NEXT_MESSAGES_BY_BEGINNING
from userturn.prompts.template_checks import prove

ITEM = [{"role": "user", "content": "What is two and two?"}]
ANSWER = "Two and two make four."
SPOKEN = "' + m.content + '"


def turns(user: str, answer: str, generation: str, begin: str = "") -> str:
    """Return a template that writes users, answers and the generation prompt with these texts."""
    shown = {"user": user, "assistant": answer}
    cases = "{% elif %}".join(
        f"m.role == '{role}' %}}{{{{ '{text.replace('@', SPOKEN)}' }}}}"
        for role, text in shown.items()
    ).replace("{% elif %}", "{% elif ")
    return (
        f"{{{{ '{begin}' }}}}{{% for m in messages %}}{{% if {cases}"
        "{% else %}{{ raise_exception('no such role') }}{% endif %}{% endfor %}"
        f"{{% if add_generation_prompt %}}{{{{ '{generation}' }}}}{{% endif %}}"
    )


def template(text: str, special: list[str], eos: str = "</s>", **options: Any) -> Template:
    tokenizer = families.small_tokenizer(text, sorted({*special, eos}), eos_token=eos)
    return Template(tokenizer, date(2026, 4, 2), options)


class Plain(NamedTuple):
    """What a vendor's format says: header as shown, its end that the model writes, stop texts."""

    template: str
    special: list[str]
    header: str
    left: str
    stops: set[str]


PLAIN = {
    "llama 2": Plain(
        turns("<s>[INST] @ [/INST]", " @ </s>", ""), ["<s>"], " </s><s>[INST]", " ", {" [/INST]"}
    ),
    "vicuna": Plain(
        turns("USER: @ ", "ASSISTANT: @</s>", "ASSISTANT:"),
        [],
        "</s>USER:",
        " ",
        {" ASSISTANT:"},
    ),
    "deepseek llm": Plain(
        turns("User: @\n\n", "Assistant: @</s>", "Assistant:", "<s>"),
        ["<s>"],
        "</s>User:",
        " ",
        {"\nAssistant:"},
    ),
    "orion": Plain(
        turns("Human: @\n\nAssistant: </s>", "@</s>", "", "<s>"),
        ["<s>"],
        "</s>Human:",
        " ",
        {"\nAssistant:"},
    ),
    "solar 10.7b": Plain(
        turns("### User:\n@\n\n", "### Assistant:\n@\n\n", "### Assistant:\n"),
        [],
        "\n\n### User:\n",
        "",
        {"\n### Assistant:", "\n### User:"},
    ),
}


@pytest.mark.parametrize("family", PLAIN.values(), ids=PLAIN.keys())
def test_plain_family_has_its_header_and_its_stops(family: Plain) -> None:
    made = template(family.template.replace("\n", "\\n"), family.special)
    assert made.probe_prompt(ITEM, ANSWER).text.endswith(ANSWER + family.header)
    assert (made.user_header_text, made.left_to_the_model) == (family.header, family.left)
    assert set(made.stop_texts) == family.stops
    assert prove(made)


@pytest.mark.parametrize("family", PLAIN.values(), ids=PLAIN.keys())
@pytest.mark.parametrize("message", NEXT_MESSAGES_BY_BEGINNING.values())
def test_probe_s_tokens_begin_those_of_every_next_message(family: Plain, message: str) -> None:
    made = template(family.template.replace("\n", "\\n"), family.special)
    prompt = made.probe_prompt(ITEM, ANSWER).token_ids
    history = [*ITEM, {"role": "assistant", "content": ANSWER}]
    text = made.render([*history, {"role": "user", "content": message}])
    ids = made.tokenizer(text, add_special_tokens=False)["input_ids"]
    assert tuple(ids[: len(prompt)]) == prompt


def test_mistral_v3_s_own_vocabulary_has_no_token_for_a_lone_space() -> None:
    data = pytest.importorskip("mistral_common", reason="comes with vLLM")
    extractor = pytest.importorskip("transformers.tokenization_utils_sentencepiece")
    path = Path(data.__file__).parent / "data" / "mistral_instruct_tokenizer_240323.model.v3"
    vocab, _, merges = extractor.SentencePieceExtractor(str(path)).extract()
    tokenizer = LlamaTokenizer(vocab=vocab, merges=merges, legacy=True)
    tokenizer.add_special_tokens({"extra_special_tokens": ["[INST]", "[/INST]"]})
    tokenizer.chat_template = turns("[INST] @[/INST]", " @</s>", "", "<s>")
    made = Template(tokenizer, date(2026, 4, 2))
    names = tokenizer.convert_ids_to_tokens(list(made.probe_prompt(ITEM, ANSWER).token_ids))
    assert names[-2:] == ["</s>", "[INST]"]
    assert made.left_to_the_model == " "
    assert set(tokenizer.convert_ids_to_tokens(list(made.stop_token_ids))) >= {"</s>", "[/INST]"}


class Wrapped(NamedTuple):
    """A vendor's format and a raw answer in it, which says "Four." after thinking "2 + 2"."""

    template: str
    special: list[str]
    raw: str
    reasoning: str | None


COHERE = ["<|START_RESPONSE|>", "<|END_RESPONSE|>", "<|START_THINKING|>", "<|END_THINKING|>"]
TURN = ["<|START_OF_TURN_TOKEN|>", "<|END_OF_TURN_TOKEN|>", "<|USER_TOKEN|>", "<|CHATBOT_TOKEN|>"]
BEGIN, END, _, CHATBOT = TURN
SOLAR = ["<|begin|>", "<|end|>", "<|content|>", "<|think|>"]
CLOVA = ["<|im_start|>", "<|im_end|>", "<|endofturn|>"]
WRAPPED = {
    "command r7b": Wrapped(
        turns(
            f"{BEGIN}<|USER_TOKEN|>@{END}",
            f"{BEGIN}{CHATBOT}<|START_RESPONSE|>@<|END_RESPONSE|>{END}",
            f"{BEGIN}{CHATBOT}",
        )
        + "{# <|START_THINKING|><|END_THINKING|> #}",
        [*COHERE, *TURN],
        "<|START_THINKING|>2 + 2<|END_THINKING|><|START_RESPONSE|>Four.<|END_RESPONSE|>",
        "2 + 2",
    ),
    "solar open": Wrapped(
        turns(
            "<|begin|>user<|content|>@<|end|>",
            "<|begin|>assistant<|content|>@<|end|>",
            "<|begin|>assistant",
        ),
        SOLAR,
        "<|think|>2 + 2<|end|><|begin|>assistant<|content|>Four.",
        "<|think|>2 + 2<|end|><|begin|>assistant",
    ),
    "hyperclova x think": Wrapped(
        turns(
            "<|im_start|>user\\n@<|im_end|>\\n",
            "<|im_start|>assistant\\n@<|im_end|><|endofturn|>\\n",
            "<|im_start|>assistant/think\\n",
        ),
        CLOVA,
        "2 + 2<|im_end|>\n<|im_start|>assistant\nFour.<|im_end|>",
        "2 + 2<|im_end|>",
    ),
    "functionary 3.2": Wrapped(
        turns("<|user|>@<|eot|>", "<|bot|>>>>all\\n@<|eot|>", "<|bot|>>>>"),
        ["<|user|>", "<|bot|>", "<|eot|>"],
        "all\nFour.",
        None,
    ),
}


@pytest.mark.parametrize("family", WRAPPED.values(), ids=WRAPPED.keys())
def test_answer_leaves_its_wrapper_and_its_reasoning_behind(family: Wrapped) -> None:
    eos = "<|endofturn|>" if "<|endofturn|>" in family.special else "</s>"
    made = template(family.template, family.special, eos)
    ids = made.tokenizer(family.raw, add_special_tokens=False)["input_ids"]
    answer = read_answer(family.raw, made.answer_prompt(ITEM).text, ids, made.answer_form)
    assert answer == Answer("Four.", family.reasoning)


def test_answer_with_a_control_token_is_an_error_and_a_quoted_one_is_text() -> None:
    family = WRAPPED["command r7b"]
    made = template(family.template, family.special)
    raw = f"<|START_RESPONSE|>Four. {BEGIN} Five.<|END_RESPONSE|>"
    ids = made.tokenizer(raw, add_special_tokens=False)["input_ids"]
    error = read_answer(raw, "", ids, made.answer_form).error
    assert error is not None and BEGIN in error
    written = [i for i in ids if i != made.control_tokens[BEGIN]]
    assert read_answer(raw, "", written, made.answer_form).error is None


def test_record_is_cut_behind_the_header_and_before_the_stop_text() -> None:
    made = template(PLAIN["vicuna"].template, [])
    written = made.encoder.encode_whole(" Why four? ASSISTANT: Because it is.")
    sampling = Sampling(0, 1, 0, 0, 64, made.stop_token_ids, None, made.stop_texts, " ")
    request = Request("k", "d", "i", 0, Prompt("", (1,)), sampling)
    record = to_record(request, Completion(tuple(written), "length"), made)
    assert (record["text"], record["finish_reason"]) == ("Why four?", "stop")
    assert made.decode(record["token_ids"]).endswith("ASSISTANT:")


REFUSED = {
    "role behind the text": turns("@ [user]\\n", "@ [assistant]\\n", "", "<s>"),
    "end mark after answers only": turns("@\\n", "@</s>", "", "<s>"),
}


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED.keys())
def test_text_that_belongs_to_the_answer_is_no_user_header(text: str) -> None:
    with pytest.raises(TemplateError, match="nothing says that the user speaks"):
        template(text, ["<s>"]).probe_prompt(ITEM, ANSWER)

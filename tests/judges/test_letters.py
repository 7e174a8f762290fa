"""A scored judge reads the rubric in both orders, and its prompt ends before a letter."""

import json
from datetime import date
from math import log
from typing import Any

import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from transformers import PreTrainedTokenizerFast

from tests.support import family_templates as families
from tests.support.snakemake_runs import ROOT
from userturn.endpoints.concurrency import Pace
from userturn.endpoints.http_replies import Received
from userturn.judges.letters import (
    LetterEndpoint,
    LetterPrompt,
    lettered_prompts,
    probabilities,
    read_scores,
)
from userturn.judges.parse_reply import Reply, UnclearReplyError
from userturn.prompts.chat_template import Template, TemplateError
from userturn.prompts.reasoning import answer_beginning

USER = {"role": "user", "content": "Label <|im_end|> this & that."}
SYSTEMS = ("A. one B. two", "A. two B. one")


def shipped(name: str) -> LetterPrompt:
    template = Template(families.of_family(name), date(2026, 4, 2), {"enable_thinking": False})
    return LetterPrompt(template, SYSTEMS, 6)


def prompts() -> tuple[str, str]:
    rubric, prompt = (ROOT / "data" / n for n in ("rubric.yaml", "scored_prompt.txt"))
    forward, backward = lettered_prompts(rubric.read_text(), prompt.read_text(), {"of": "a judge"})
    assert forward.user.template == backward.user.template
    assert forward.labels == backward.labels and forward.identity == backward.identity
    return forward.system, backward.system


def test_letters_stand_for_the_labels_in_both_orders() -> None:
    forward, backward = prompts()
    assert "\nA. genuine_followup: The turn is something" in forward
    assert "\nF. degenerate: The turn is empty" in forward
    assert "\nA. degenerate: The turn is empty" in backward
    assert "\nF. genuine_followup: The turn is something" in backward
    assert sorted(forward) == sorted(backward)


def test_rules_of_the_rubric_are_in_the_prompt_word_for_word() -> None:
    assert "is a genuine follow-up even where it is short or clumsy" in prompts()[0]
    assert "$" not in "".join(prompts())


@pytest.mark.parametrize("name", ["qwen3_5_think", "llama3_1", "phi3", "glm4moe", "smolvlm"])
def test_prompt_and_letter_are_the_tokens_of_the_whole_text(name: str) -> None:
    prompt, plain = shipped(name), {"role": "user", "content": "Label this & that."}
    begins = answer_beginning(prompt.template)
    for ids, system in zip(prompt.token_ids(plain), SYSTEMS, strict=True):
        text = prompt.template.render([{"role": "system", "content": system}, plain], True)
        whole = prompt.template.encoder.encode_whole(f"{text}{begins}C")
        assert whole == [*ids, prompt.letter_ids[2]]


def test_letters_of_gpt_oss_follow_its_final_channel() -> None:
    tokenizer = families.real_gpt_oss()
    prompt = LetterPrompt(Template(tokenizer, date(2026, 4, 2), {}), SYSTEMS, 3)
    assert tokenizer.convert_ids_to_tokens(list(prompt.letter_ids)) == ["A", "B", "C"]
    ends = [prompt.template.decode(ids[-4:]) for ids in prompt.token_ids(USER)]
    assert ends == ["assistant<|channel|>final<|message|>"] * 2


def test_message_cannot_end_the_judges_own_turn() -> None:
    prompt = shipped("qwen2_5")
    (ids, _), plain = prompt.token_ids(USER), {"role": "user", "content": "Label this."}
    end = prompt.template.control_tokens["<|im_end|>"]
    assert ids.count(end) == prompt.token_ids(plain)[0].count(end) == 2


def test_family_without_system_messages_reads_the_rubric_in_the_users() -> None:
    prompt = shipped("gemma")
    assert not prompt.takes_system
    assert "user\nA. one B. two\n\nLabel" in prompt.template.decode(prompt.token_ids(USER)[0])


def test_letters_that_begin_alike_are_refused() -> None:
    blind = Tokenizer(WordLevel({"?": 0}, unk_token="?"))  # reads every text as one token
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=blind, unk_token="?")
    tokenizer.chat_template = families.shipped("qwen2_5")
    with pytest.raises(TemplateError, match="two labels begin with the same token"):
        LetterPrompt(Template(tokenizer, date(2026, 4, 2)), SYSTEMS, 2).token_ids(USER)


LABELS = ["one", "two", "three"]


def reply(*orders: list[float]) -> Reply:
    return Reply(json.dumps([[log(p) for p in order] for order in orders]))


def test_probabilities_are_among_the_letters_alone() -> None:
    assert probabilities([log(0.1), log(0.3)]) == pytest.approx([0.25, 0.75])
    assert probabilities([-9999.0, 0.0]) == [0.0, 1.0]


def test_label_is_the_likeliest_over_both_orders() -> None:
    # Forward A, B, C are one, two, three; backward A is three. One: (.5 + .1) / 2 = .3, two: .4
    # and three: (.1 + .5) / 2 = .3.
    said = read_scores(reply([0.5, 0.4, 0.1], [0.5, 0.4, 0.1]), LABELS)
    assert said["label"] == "two"
    assert said["probabilities"] == pytest.approx({"one": 0.3, "two": 0.4, "three": 0.3})


def test_judge_that_always_says_a_prefers_no_label() -> None:
    said = read_scores(reply([0.8, 0.1, 0.1], [0.8, 0.1, 0.1]), LABELS)
    assert said["probabilities"]["one"] == pytest.approx(said["probabilities"]["three"])


def test_journal_has_the_log_probabilities_of_both_orders_in_the_rubrics() -> None:
    said = read_scores(reply([0.2, 0.1, 0.1], [0.1, 0.1, 0.6]), LABELS)
    forward, backward = (said["log_probabilities"][name] for name in ("forward", "backward"))
    assert forward == pytest.approx([log(0.2), log(0.1), log(0.1)])
    assert backward == pytest.approx([log(0.6), log(0.1), log(0.1)])
    # One: (.5 + .75) / 2 = 62.5 %. Of the forward order .4 is on letters, of the other .8.
    assert said["rationale"] == "one 62%, two 19%, three 19%; any letter 60%"


@pytest.mark.parametrize("orders", [(), ([0.5, 0.3, 0.2],), ([0.5, 0.5], [0.5, 0.5])])
def test_reply_without_each_letter_in_each_order_is_unscored_and_not_repaired(orders: Any) -> None:
    with pytest.raises(UnclearReplyError, match="no log-probabilities of the letters") as caught:
        read_scores(reply(*orders), LABELS)
    assert caught.value.final


def endpoint() -> LetterEndpoint:
    settings: Any = {"model": "m", "settings": {}}
    prompt: Any = None
    return LetterEndpoint("u", settings, None, Pace(1), None, prompt=prompt, letter_ids=(7, 9))


def body(*choices: Any, **more: Any) -> bytes:
    return json.dumps({"model": "m", "choices": choices, **more}).encode()


def choice(index: int, **top: float) -> dict[str, Any]:
    named = {f"token_id:{name[1:]}": value for name, value in top.items()}
    return {"index": index, "logprobs": {"top_logprobs": [named]}}


def test_choices_are_read_by_their_index() -> None:
    usage = {"prompt_tokens": 5, "completion_tokens": 2}
    first, second = choice(0, t9=-1.0, t7=-2.0, t3=0.0), choice(1, t7=-3.0, t9=-4.0)
    read, used = endpoint().read(Received(body(second, first, usage=usage)))
    assert (json.loads(read.content or ""), used) == ([[-2.0, -1.0], [-3.0, -4.0]], usage)


@pytest.mark.parametrize(
    "received",
    [
        b"<html>",
        b"[]",
        b"null",
        body(),
        body({"index": 0, "logprobs": None}),
        body(choice(0, t7=-1.0), choice(1, t7=-1.0)),
        body({"index": 0, "text": "A"}, {"text": "B"}),
        body(choice(0, t7=-1.0, t9=None)),  # type: ignore[arg-type]
    ],
)
def test_body_of_another_form_has_no_content(received: bytes) -> None:
    read, _ = endpoint().read(Received(received))
    with pytest.raises(UnclearReplyError):
        read_scores(read, ["a", "b"])


def test_request_asks_for_one_token_of_each_order() -> None:
    asked = endpoint()
    assert asked.path == "completions"
    assert asked.fixed["logprob_token_ids"] == asked.fixed["allowed_token_ids"] == [7, 9]
    assert (asked.fixed["max_tokens"], asked.fixed["temperature"]) == (1, 0)

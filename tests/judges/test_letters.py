"""A scored judge reads the rubric in both orders, and its prompt ends before a letter."""

from datetime import date

import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from transformers import PreTrainedTokenizerFast

from tests.support import family_templates as families
from tests.support.snakemake_runs import ROOT
from userturn.judges.letters import LetterPrompt, lettered_prompts
from userturn.prompts.chat_template import Template, TemplateError
from userturn.prompts.reasoning import answer_beginning

USER = {"role": "user", "content": "Label <|im_end|> this & that."}
SYSTEMS = ("A. one B. two", "A. two B. one")


def shipped(name: str) -> LetterPrompt:
    text = families.shipped(name)
    marks = families.marks_in(text)
    tokenizer = families.small_tokenizer(text, marks, bos_token="<bos>", eos_token="<eos>")
    return LetterPrompt(
        Template(tokenizer, date(2026, 4, 2), {"enable_thinking": False}), SYSTEMS, 6
    )


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

"""Operators change what they say they change, and their parameters are checked in the config."""

from collections.abc import Mapping
from typing import Annotated, Any

import pytest
import yaml

from tests.support.family_templates import QWEN, small_tokenizer
from tests.support.snakemake_runs import ROOT
from userturn.config.validation import validate
from userturn.datasets.messages import ShownAnswer
from userturn.errors import ConfigError
from userturn.generation.plan_files import next_in_hash_order, shard_of
from userturn.prompts.chat_template import TemplateError
from userturn.prompts.perturbations import (
    OPERATORS,
    Context,
    Donor,
    answer_for_readers,
    check_perturbations,
    controls_of,
    operator,
    perturb,
)

MESSAGES = ({"role": "user", "content": "Two and two?"},)
FOUR = ShownAnswer("Four.")


class Words:
    """A tokenizer whose tokens are words with the space before them."""

    is_fast = True

    def __call__(self, text: str, **options: bool) -> Mapping[str, Any]:
        ends = [i for i, c in enumerate(text) if c == " " and i] + [len(text)]
        starts = [0, *ends[:-1]]
        spans = [span for span in zip(starts, ends, strict=True) if text]
        return {"input_ids": list(range(len(spans))), "offset_mapping": spans}

    def decode(self, token_ids: Any) -> str:
        raise AssertionError("a fast tokenizer says where its tokens stand")


def changed(answer: str, donor: Donor | None = None, **settings: Any) -> Context:
    return perturb(Context(MESSAGES, ShownAnswer(answer), {}, donor), settings, Words())


def test_none_changes_nothing() -> None:
    assert changed("Four.", operator="none") == Context(MESSAGES, FOUR, {})


@pytest.mark.parametrize(
    ("keep", "kept"),
    [
        (0.5, "One two"),  # 2.5 of 5 tokens, rounded down
        (1.0, "One two three four five"),
        (0.01, "One"),  # at least one
    ],
)
def test_truncate_keeps_the_first_share_of_the_tokens(keep: float, kept: str) -> None:
    context = changed("One two three four five", operator="truncate", keep=keep)
    n_kept = len(kept.split())
    expected = {"n_tokens": 5, "n_tokens_kept": n_kept, "n_characters_kept": len(kept)}
    assert (context.answer, context.change) == (ShownAnswer(kept), expected)


def test_truncate_keeps_the_answer_s_own_characters_with_a_real_tokenizer() -> None:
    tokenizer = small_tokenizer("x", QWEN, eos_token="<|im_end|>")
    answer = "Grüße aus Zürich: 東京 <|im_end|> naïve"
    own = Context(MESSAGES, ShownAnswer(answer), {})
    kept = perturb(own, {"operator": "truncate", "keep": 0.7}, tokenizer).answer
    assert kept and kept.text
    assert answer.startswith(kept.text)


def test_reasoning_goes_with_the_answer_that_it_led_to() -> None:
    own = Context(MESSAGES, ShownAnswer("One two three", "2 + 2"), {}, reference="It is 4.")
    cut = perturb(own, {"operator": "truncate", "keep": 0.5}, Words()).answer
    asked = perturb(own, {"operator": "generic_question", "text": "Any?"}, Words()).answer
    assert (cut, asked) == (
        ShownAnswer("One", "2 + 2"),
        ShownAnswer("One two three\n\nAny?", "2 + 2"),
    )
    for settings in (
        {"operator": "reference_answer"},
        {"operator": "neutral_answer", "text": "Hm."},
    ):
        assert perturb(own, settings, Words()).answer.reasoning is None


def test_truncate_of_an_empty_answer_is_empty() -> None:
    assert changed("", operator="truncate", keep=0.5).answer == ShownAnswer("")


def test_generic_question_is_the_last_paragraph() -> None:
    context = changed("Four.\n", operator="generic_question", text="Any questions?")
    assert context.answer == ShownAnswer("Four.\n\nAny questions?")
    assert context.change == {"appended": "Any questions?"}


def test_shuffled_answer_is_the_donor_s_and_names_it() -> None:
    context = changed(
        "Four.", Donor("b", ShownAnswer("Blue.", "blue?")), operator="shuffled_answer"
    )
    assert context.answer == ShownAnswer("Blue.", "blue?")  # with its own reasoning
    assert context.change == {"donor": "b"}
    assert context.messages == MESSAGES


@pytest.mark.parametrize("donor", [None, Donor("b", None)])
def test_shuffled_answer_without_another_answer_is_an_error(donor: Donor | None) -> None:
    with pytest.raises(TemplateError, match="no answer to put in place of this one"):
        changed("Four.", donor, operator="shuffled_answer")


def test_reference_answer_is_the_dataset_s_and_not_a_control() -> None:
    own = Context(MESSAGES, FOUR, {}, reference="It is 4.")
    shown = perturb(own, {"operator": "reference_answer"}, Words())
    assert (shown.messages, shown.answer) == (MESSAGES, ShownAnswer("It is 4."))
    assert shown.change == {"answer_of_dataset": True}
    assert controls_of({"reference_answer": {"operator": "reference_answer"}}) == []


def test_reference_answer_without_one_is_an_error() -> None:
    with pytest.raises(TemplateError, match="no answer of its own here that a person replied to"):
        changed("Four.", operator="reference_answer")


def test_header_only_hides_the_conversation_and_the_answer() -> None:
    context = changed("Four.", operator="header_only")
    assert (context.messages, context.answer) == ((), None)
    assert context.change == {"n_messages_hidden": 1, "answer_hidden": True}


def test_no_answer_hides_the_answer_and_keeps_the_conversation() -> None:
    context = changed("Four.", operator="no_answer")
    assert (context.messages, context.answer) == (MESSAGES, None)
    assert context.change == {"answer_hidden": True}


@pytest.mark.parametrize(
    ("settings", "shown"),
    [
        ({"operator": "none"}, "Four."),
        ({"operator": "no_answer"}, ""),  # as the model was shown it: nothing
        ({"operator": "header_only"}, "Four."),  # nothing was shown: the item's own conversation
        ({"operator": "neutral_answer", "text": "Noted."}, "Noted."),
    ],
)
def test_readers_see_the_answer_that_the_model_was_shown(
    settings: dict[str, str], shown: str
) -> None:
    own = Context(MESSAGES, FOUR, {})
    assert answer_for_readers(own, perturb(own, settings, Words())) == shown


def test_neutral_answer_is_the_same_for_every_item() -> None:
    assert changed("Four.", operator="neutral_answer", text="Noted.").answer == ShownAnswer(
        "Noted."
    )


def test_donors_are_one_ring_through_all_items() -> None:
    donors = next_in_hash_order([f"item-{i}" for i in range(20)])
    visited, item = set(), "item-0"
    while item not in visited:
        visited.add(item)
        item = donors[item]
    assert len(visited) == 20


def test_donors_stay_in_the_shard_but_for_its_last_item() -> None:
    donors = next_in_hash_order([f"item-{i}" for i in range(200)])
    assert sum(shard_of(i, 4) != shard_of(donor, 4) for i, donor in donors.items()) == 4


def test_only_item_has_no_donor() -> None:
    assert next_in_hash_order(["alone"]) == {}


def check(**settings: Any) -> None:
    check_perturbations({"perturbations": {"mine": settings}})


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"operator": "trunkate"}, "operator 'trunkate' is not known, did you mean 'truncate'"),
        ({"operator": "truncate"}, "perturbations.mine: the key 'keep' is missing"),
        ({"operator": "truncate", "keep": 0}, "perturbations.mine.keep: found 0, expected"),
        ({"operator": "truncate", "keep": 0.5, "kepp": 1}, "unknown key 'kepp', did you mean"),
        ({"operator": "none", "keep": 0.5}, "perturbations.mine: unknown key 'keep'"),
        ({"operator": "generic_question", "texts": "x"}, "the key 'choice' is missing"),
        (
            {"operator": "neutral_answer", "texts": "none.txt", "choice": 1},
            "perturbations.mine.texts: the file 'none.txt' does not exist",
        ),
    ],
)
def test_operator_s_own_parameters_are_checked(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        check(**settings)


def test_new_operator_is_one_function_and_one_entry() -> None:
    @operator()
    def shout(
        context: Context, tokenizer: Any, *, times: Annotated[int, {"type": "integer"}]
    ) -> Context:
        """End the answer in exclamation marks."""
        said = ShownAnswer((context.answer or FOUR).text + "!" * times)
        return Context(context.messages, said, {"times": times})

    try:
        check(operator="shout", times=2)
        assert changed("Four", operator="shout", times=2).answer == ShownAnswer("Four!!")
    finally:
        del OPERATORS["shout"]


def test_shipped_config_has_every_operator_and_is_valid() -> None:
    config = yaml.safe_load((ROOT / "config.yaml").read_text())
    validate(config)
    check_perturbations(config)
    used = {settings["operator"] for settings in config["perturbations"].values()}
    assert used == set(OPERATORS)

"""A control turn as a row of user turns, and what each control is: its label, how hard it is."""

from typing import Any

from userturn.controls.failures import INJECTIONS, NOISE_STEPS
from userturn.judges.verdict import GENUINE
from userturn.study.inputs import INJECTED

HUMAN = "human"  # as a model, and as a control
ROLE_TOKENS = "<|im_end|>\n<|im_start|>user\n<|im_start|>assistant\n<|im_start|>user"

# Sources of planted failures: verbatim copies and fixed texts, what looks like a follow-up to this
# conversation, prompt injections.
PLANTED, PLANTED_HARD = "planted", "planted_hard"  # beside `INJECTED`
NOT_GENUINE = "not genuine"  # what is known of a turn where more than one label fits

HARD = {  # failures made of the answer's own words
    "continuation": "assistant_turn_restate",
    "answer_as_question": "assistant_turn_restate",
    "thinking": "assistant_turn_restate",
    "draft_reply": "assistant_turn_restate",
    "paraphrased_prompt": "prompt_restate",
    "other_model": "assistant_turn_restate",
    **dict.fromkeys(NOISE_STEPS, NOT_GENUINE),
}
HARDER = {  # failures with a conversation's topic, numbers or words (`harder_failures`)
    "same_topic": "unrelated",
    "other_numbers": "prompt_restate",
    "memorised_problem": "unrelated",
    "transcript": "assistant_turn_restate",
    "self_answered": "assistant_turn_restate",
    "exam_item": "unrelated",
    "narration": "assistant_turn_restate",
    "identity_sentence": "assistant_turn_restate",
}
IN_ANSWERS = ("injected_answer_note", "injected_answer_roles", "injected_answer_full_width")
IN_CONVERSATION = "injected_conversation"
ALL_INJECTIONS = (*INJECTIONS, *IN_ANSWERS, IN_CONVERSATION)
LABELS = {  # what each control is, by the labels of the rubric
    HUMAN: GENUINE,
    "prompt_again": "prompt_restate",
    "answer_again": "assistant_turn_restate",
    "other_turn": "unrelated",
    "thanks": "generic",
    "empty": "degenerate",
    "role_tokens": "degenerate",
    **HARD,
    **dict.fromkeys(INJECTIONS, "generic"),
    **HARDER,
    **dict.fromkeys((*IN_ANSWERS, IN_CONVERSATION), "generic"),
}
SOURCES = {  # of turns of a known kind, by the control
    **dict.fromkeys(LABELS, PLANTED),
    HUMAN: HUMAN,
    **dict.fromkeys((*HARD, *HARDER, "other_turn"), PLANTED_HARD),
    **dict.fromkeys(ALL_INJECTIONS, INJECTED),
}


def control_turn(
    model: str, dataset: str, control: str, item: str, answer: str, text: str
) -> dict[str, Any]:
    """Return one control turn as a row of `USER_TURNS_SCHEMA`."""
    return {
        "model": model,
        "dataset": dataset,
        "temperature": 0.0,
        "perturbation": control,
        "item": item,
        "sample": 0,
        "answer": answer,
        "outcome": "ok" if text else "empty",
        "text": text,
    }

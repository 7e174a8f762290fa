"""How much likelier a model finds a user turn after its own answer than after others: its gain.

It is the study's measure (`generation.scores.turn_gains`), by a model that is loaded already.
"""

from collections.abc import Sequence
from typing import Any

from userturn.generation.scorer import (
    Exchange,
    TurnTokens,
    draw_distractors,
    own_contexts,
    turn_tokens,
)
from userturn.prompts.chat_template import Template, TemplateError

N_DISTRACTORS = 4
SEED = 0  # of the draw of distractors, which is the same for all steps of a training


def gains(
    model: Any, template: Template, turns: Sequence[Exchange], others: Sequence[Exchange]
) -> list[float | None]:
    """Return each turn's gain over a few answers of `others`, in nats per character.

    The gain of a turn without text is 0. It is None for a turn without other answers, and for one
    that cannot be put after every answer, such as one with a special token. The turns' own
    exchanges are among the others.
    """
    distractors = draw_distractors(others, N_DISTRACTORS, SEED)
    return [_gain(model, template, turn, distractors[turn.item]) for turn in turns]


def _gain(
    model: Any, template: Template, turn: Exchange, others: Sequence[Exchange]
) -> float | None:
    if not turn.turn.strip() or not others:
        return None if turn.turn.strip() else 0.0
    try:
        contexts = [turn_tokens(template, at, turn.turn) for at in own_contexts(turn, others)]
    except TemplateError:
        return None
    own, *after_others = (log_likelihood(model, tokens) for tokens in contexts)
    return (own - sum(after_others) / len(after_others)) / len(turn.turn.strip())


def log_likelihood(model: Any, tokens: TurnTokens) -> float:
    """Return the log-likelihood of a turn after its context, in nats."""
    import torch

    ids = torch.tensor([tokens.token_ids], device=model.device)
    turn_ids = ids[0, tokens.n_context :]
    with torch.no_grad():
        logits = model(input_ids=ids, logits_to_keep=len(turn_ids) + 1).logits[0, :-1].float()
    return float(-torch.nn.functional.cross_entropy(logits, turn_ids, reduction="sum"))

"""Compute the gain of a turn's own context: from scores after several contexts to a row per turn.

The gain over a distractor is the log-likelihood of the turn after its own context less that after
the distractor, in nats: the pointwise mutual information of turn and context, by contrast with a
sample of other contexts (Ren et al. 2023, arXiv:2306.15245).
"""

import polars as pl

from userturn.generation.likelihood_contexts import (
    ASSISTANT_HEADER,
    OTHER_ANSWER,
    OTHER_CONVERSATION,
    OWN,
)
from userturn.generation.scoring_plan import TURN_SCHEMA

TURN = ["model", "dataset", *TURN_SCHEMA]


def turn_gains(scores: pl.DataFrame) -> pl.DataFrame:
    """Return one row for each turn of a table of scores (`likelihood.collect.SCORES_SCHEMA`).

    Columns are those of `TURN`, `n_characters`, `n_tokens`, and in nats: `surprisal` of the turn
    after its own context, `gain_answer` and `gain_conversation`: means over the distractors, and
    `gain_role` over the assistant's header. `identified_answer` and `identified_conversation` say
    whether the turn is likelier after its own context than after every distractor (a tie is not),
    and `n_answers` and `n_conversations` count the distractors. Missing scores are null.
    """
    own = scores.filter(pl.col("context") == OWN)
    turns = own.select(*TURN, "n_characters", "n_tokens", "logprob", "error")
    for context, name in ((OTHER_ANSWER, "answer"), (OTHER_CONVERSATION, "conversation")):
        found = _over(scores, context, name)
        turns = turns.join(found, on=TURN, how="left", nulls_equal=True, maintain_order="left")
    role = scores.filter(pl.col("context") == ASSISTANT_HEADER).select(*TURN, role="logprob")
    turns = turns.join(role, on=TURN, how="left", nulls_equal=True, maintain_order="left")
    own_score = pl.col("logprob")
    return turns.with_columns(
        surprisal=-own_score,
        gain_answer=own_score - pl.col("mean_answer"),
        gain_conversation=own_score - pl.col("mean_conversation"),
        gain_role=own_score - pl.col("role"),
        identified_answer=own_score > pl.col("most_answer"),
        identified_conversation=own_score > pl.col("most_conversation"),
    ).drop("logprob", "role", "^mean_.*$", "^most_.*$")


def _over(scores: pl.DataFrame, context: str, name: str) -> pl.DataFrame:
    """Return number, mean and maximum of a turn's scores after distractors of one kind."""
    scored = scores.filter(pl.col("context") == context).drop_nulls("logprob")
    return scored.group_by(TURN, maintain_order=True).agg(
        pl.len().alias(f"n_{name}s"),
        pl.col("logprob").sort().mean().alias(f"mean_{name}"),
        pl.col("logprob").max().alias(f"most_{name}"),
    )


def token_gains(scores: pl.DataFrame) -> pl.DataFrame:
    """Return each token's log-likelihood after the turn's own answer, and the mean after others.

    The differences of a turn's two lists add up to its `gain_answer` (`likelihood.gains`).

    Args:
        scores: a table of scores (`likelihood.collect.SCORES_SCHEMA`).

    Returns:
        One row per turn that was scored after its own answer and after another: columns of `TURN`,
        `token_texts`, `own` and `others`, lists of equal length, in nats.
    """
    scored = scores.drop_nulls("logprob")
    own = scored.filter(pl.col("context") == OWN).select(*TURN, "token_texts", own="logprobs")
    others = scored.filter(pl.col("context") == OTHER_ANSWER).select(*TURN, "logprobs")
    tokens = (
        others.with_columns(place=pl.int_ranges(pl.col("logprobs").list.len()))
        .explode("logprobs", "place")
        .group_by(*TURN, "place", maintain_order=True)
        .agg(pl.col("logprobs").sort().mean())
        .group_by(TURN, maintain_order=True)
        .agg(others="logprobs")
    )
    both = own.join(tokens, on=TURN, how="inner", nulls_equal=True, maintain_order="left")
    return both.select(*TURN, "token_texts", "own", "others")

"""How much a turn's own answer helped to expect each of its tokens."""

import polars as pl

from userturn.generation.likelihood_contexts import OTHER_ANSWER, OWN
from userturn.generation.likelihood_gains import TURN


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

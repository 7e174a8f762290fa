"""What the user turns after an answer say of it: fixed turns, and the one that the model wrote."""

import polars as pl

from userturn.generation.likelihood_contexts import OTHER_ANSWER, OWN, PROMPT
from userturn.sources.candidates import CORRECTION, KINDS, SATISFACTION

LOG_ODDS, LOG_PROBABILITY = "satisfaction over correction", "mean log-probability"
CONTINGENCY = "contingency"
SIGNALS = (LOG_ODDS, *KINDS, CONTINGENCY, LOG_PROBABILITY)
CANDIDATE = ["model", "dataset", "item", "sample"]


def reaction_signals(scores: pl.DataFrame) -> pl.DataFrame:
    """Return what reactions say of each candidate, larger for a better one.

    `satisfaction` is the log-likelihood of any of its turns, log Σ p, and `correction` the negative
    of that of a correction. Their sum `satisfaction over correction` is the log-odds that a user
    who says one of these turns says a satisfied one. All in nats. `contingency` is the gain of a
    token of the model's own turn after the candidate over the mean after answers to other items
    (`likelihood.gains`), and `mean log-probability` is that of a token of the candidate itself
    after its prompt. A signal is null where one of its scores is, contingency where all others are.

    Args:
        scores: a table of scores of reactions (`likelihood.collect.SCORES_SCHEMA`).

    Returns:
        One row per candidate: the columns `CANDIDATE`, and one for each signal.
    """
    kind = pl.col("context").str.split(" ").list.first()
    ordered = scores.with_columns(kind=kind).sort(*CANDIDATE, "context")
    score, length = pl.col("logprob"), pl.col("n_tokens")

    def any_of(name: str) -> pl.Expr:
        mine = score.filter(pl.col("kind") == name)
        is_known = (mine.null_count() == 0) & (mine.len() > 0)
        most = mine.max()
        return pl.when(is_known).then(most + (mine - most).exp().sum().log())

    def a_token(context: str) -> pl.Expr:
        return (score / length).filter(pl.col("kind") == context)

    return (
        ordered.group_by(CANDIDATE, maintain_order=True)
        .agg(
            any_of(SATISFACTION).alias(SATISFACTION),
            -any_of(CORRECTION).alias(CORRECTION),
            (a_token(OWN).first() - a_token(OTHER_ANSWER).sort().mean()).alias(CONTINGENCY),
            a_token(PROMPT).first().alias(LOG_PROBABILITY),
        )
        .with_columns((pl.col(SATISFACTION) + pl.col(CORRECTION)).alias(LOG_ODDS))
    )

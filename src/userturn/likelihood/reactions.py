"""What the user turns after an answer say of it: fixed turns, and the one that the model wrote."""

from collections.abc import Mapping
from pathlib import Path

import polars as pl
import yaml

from userturn.errors import UserError
from userturn.likelihood.contexts import OTHER_ANSWER, OWN, PROMPT

SATISFACTION, CORRECTION = "satisfaction", "correction"
KINDS = (SATISFACTION, CORRECTION)
LOG_ODDS, LOG_PROBABILITY = "satisfaction over correction", "mean log-probability"
CONTINGENCY = "contingency"
SIGNALS = (LOG_ODDS, *KINDS, CONTINGENCY, LOG_PROBABILITY)
CANDIDATE = ["model", "dataset", "item", "sample"]


def read_reactions(path: str) -> dict[str, str]:
    """Return the texts of a file of reactions by name, such as `satisfaction 1`.

    Raises:
        UserError: it has not a list of texts for each kind.
    """
    found = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    if not isinstance(found, Mapping) or set(found) != set(KINDS):
        raise UserError(
            f"'{path}': found {found!r:.60}, expected the lists {' and '.join(KINDS)} of user turns"
        )
    for kind, texts in found.items():
        if not (isinstance(texts, list) and texts and all(isinstance(t, str) for t in texts)):
            raise UserError(f"'{path}': {kind}: found {texts!r:.60}, expected a list of user turns")
    return {
        f"{kind} {number}": text
        for kind in KINDS
        for number, text in enumerate(found[kind], start=1)
    }


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

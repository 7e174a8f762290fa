"""Draw the user turns that people label, by a keyed hash within each cell and label of a judge.

A turn's rank in its stratum depends only on its own request and the study's seed, so that no other
turn, cell, model or dataset moves it. The first k of a stratum of N are drawn, each with the
probability k / N (bottom-k sampling: Cohen and Kaplan 2007, PODC, section 2).

How many turns of a stratum are drawn is set by the config, or by Neyman's allocation, which draws
more where labels are most uncertain. Then a stratum gets labels in proportion to its size times the
standard deviation of people's labels in it, which is unknown before people have labelled. It is
estimated as √(p(1 - p)) from earlier rounds. There p is the share of genuine turns among the
labelled turns to which the judge gave that label, with half a label of each kind added. Before the
first round p is the judge's own rate in the cell, so that cells with a rate near a half get more.
The allocation never decides which turns are drawn, so weights stay unbiased. Labels of a stratum
affect its own allocation only through the mean over all cells.
"""

import hashlib
import hmac
from collections.abc import Iterable, Mapping

import polars as pl

from userturn.judges.verdict import GENUINE
from userturn.storage.hashing import fingerprint
from userturn.storage.table_files import CELL_KEYS, STRATUM_KEYS, TURN_KEYS, write_table

UNSCORED = "unscored"


def keyed_hash(secret: str, text: str) -> str:
    """Return 64 hexadecimal digits that cannot be derived from the text without the secret."""
    return hmac.new(secret.encode(), text.encode(), hashlib.sha256).hexdigest()


def keyed_hashes(secret: str, texts: Iterable[str]) -> pl.Series:
    """Return the keyed hash of every text."""
    return pl.Series([keyed_hash(secret, text) for text in texts], dtype=pl.String)


def sampling_frame(turns: pl.DataFrame, verdicts: pl.DataFrame, seed: int) -> pl.DataFrame:
    """Return every turn of some cells that can be drawn, with its rank in its stratum.

    The label of one judge's verdict is a turn's stratum, `unscored` if it has none. Turns with the
    outcome `error` have no text and are left out. The columns are the key columns, `key` of the
    request, `stratum`, `rank` in it from 1, and `stratum_size`. Rows are sorted by cell, stratum
    and rank.
    """
    secret = fingerprint(["order of the human sample", seed])
    labelled = turns.filter(pl.col("outcome") != "error").join(
        verdicts.select(*TURN_KEYS, stratum=pl.col("label").fill_null(UNSCORED)), on=TURN_KEYS
    )
    ordered = labelled.with_columns(order=keyed_hashes(secret, labelled["key"]))
    return (
        ordered.sort(*STRATUM_KEYS, "order", "item", "sample")
        .with_columns(
            rank=pl.int_range(1, pl.len() + 1, dtype=pl.Int64).over(STRATUM_KEYS),
            stratum_size=pl.len().over(STRATUM_KEYS).cast(pl.Int64),
        )
        .select(*TURN_KEYS, "key", "stratum", "rank", "stratum_size")
    )


def mark_drawn(frame: pl.DataFrame, n_drawn: pl.Expr) -> pl.DataFrame:
    """Return a `sampling_frame` with its drawn turns marked, which rank first in their stratum.

    The frame gets `n_drawn` of the stratum, `inclusion_probability` and `is_drawn`. A stratum with
    fewer turns is taken whole.
    """
    sized = frame.with_columns(n_drawn=pl.min_horizontal(n_drawn, "stratum_size").cast(pl.Int64))
    return sized.with_columns(
        inclusion_probability=pl.col("n_drawn") / pl.col("stratum_size"),
        is_drawn=pl.col("rank") <= pl.col("n_drawn"),
    )


def quota(settings: Mapping[str, int]) -> pl.Expr:
    """Return how many turns the config draws from a row's stratum, by whether that is genuine."""
    return (
        pl.when(pl.col("stratum") == GENUINE)
        .then(settings["genuine"])
        .otherwise(settings["per_stratum"])
    )


def sample_for_humans(
    settings: Mapping[str, int],
    seed: int,
    identity: str,
    path_to_user_turns: str,
    path_to_verdicts: str,
    path_to_human_sample: str,
) -> None:
    """Write a cell's turns in the order of the draw, and which of them the config wants."""
    turns, verdicts = pl.read_parquet(path_to_user_turns), pl.read_parquet(path_to_verdicts)
    write_table(human_sample(turns, verdicts, settings, seed), path_to_human_sample, identity)


def human_sample(
    turns: pl.DataFrame, verdicts: pl.DataFrame, settings: Mapping[str, int], seed: int
) -> pl.DataFrame:
    """Return a cell's turns in the order of the draw, marked if the config draws them."""
    frame = sampling_frame(turns.select(*TURN_KEYS, "key", "outcome"), verdicts, seed)
    return mark_drawn(frame, quota(settings))


BY_SETTINGS = "per_stratum, genuine and minimum_per_family"


def shared_out(strata: pl.DataFrame, n_turns: int, labels: pl.DataFrame) -> pl.DataFrame:
    """Return strata with `n_drawn`, a minimum, raised until the sum of all rounds is `n_turns`.

    `labels` has `stratum` and `genuine`, a share, of each labelled turn of earlier rounds.
    """
    from userturn.stats.prediction_powered import allocated  # numpy: a cell's job needs none

    share_of = labels.group_by("stratum").agg(p=(pl.col("genuine").sum() + 0.5) / (pl.len() + 1))
    size, is_genuine = pl.col("stratum_size"), pl.col("stratum") == GENUINE
    of_cell = size.filter(is_genuine).sum().over(CELL_KEYS)
    judged = (of_cell + 0.5) / (size.sum().over(CELL_KEYS) + 1)
    unseen = judged if labels.is_empty() else pl.lit(0.5)
    joined = strata.join(share_of, on="stratum", how="left", maintain_order="left")
    shares = joined.select(pl.col("p").fill_null(unseen)).to_series().to_numpy()
    sizes, least = (strata[name].to_numpy() for name in ("stratum_size", "n_drawn"))
    allocation = allocated(sizes, (shares * (1 - shares)) ** 0.5, n_turns, least)
    return strata.with_columns(n_drawn=pl.Series(allocation, dtype=pl.Int64))


def allocation_name(n_turns: int | None, n_labels: int) -> str:
    """Return how the turns of a round were allocated, for its key's metadata."""
    if n_turns is None:
        return BY_SETTINGS
    source = f"{n_labels} labels of earlier rounds" if n_labels else "the judge's rates"
    return f"Neyman, from {source}: {n_turns} turns of all rounds, at least {BY_SETTINGS}"

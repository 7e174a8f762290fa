"""Table `turn_properties`: what user turns are like, without a judge."""

from collections.abc import Iterator, Mapping, Sequence
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from userturn.controls.control_turn import HUMAN
from userturn.controls.known_turns import human_turns
from userturn.datasets.language import detected
from userturn.stats.clustered_measures import (
    WINDOW,
    clustered_mean,
    counted,
    distinct,
    hdd,
    jackknife_interval,
    window_shares,
    yules_k,
)
from userturn.stats.proportions import Interval
from userturn.storage.table_files import CELL_COLUMNS, CELL_KEYS, Schema
from userturn.study.cells import PLAIN
from userturn.tables.layout import Layout, column, limited, texts
from userturn.tables.make_tables import Material
from userturn.tables.repeated_texts import mark_copies, mark_near_copies, share_repeated
from userturn.tables.turn_rates import LIMITS, limits_of, mean_over, rate_over
from userturn.tables.turn_similarity import (
    LIMITS_OF_CHRF,
    OF_CHRF,
    PEOPLES,
    People,
    chrf_to_people,
    people_of,
)
from userturn.workflow.registry import Table

TABLE = Table(
    rule="tabulate_turn_properties",
    place=115,
    row="a cell, or the human turns of a dataset of `controls.human`, whose `model` is `human`",
    made_of=("user_turns", "prepared_items", "human_items", "copies"),
    settings=("seed",),
)
DETECTOR = "py3langid"
# A word is what stands between spaces and signs; of Chinese and Japanese each sign is one.
SIGNS = r"\p{Han}\p{Hiragana}\p{Katakana}"
LETTERS = rf"[\p{{L}}\p{{M}}\p{{N}}&&[^{SIGNS}]]+"
WORD = rf"[{SIGNS}]|{LETTERS}(?:'{LETTERS})?"
COLUMNS = [*CELL_KEYS, "item", "sample", "outcome", "text", "finish_reason", "n_tokens"]
SHARES = {  # by name, the column of turns that is counted
    "ends_at_once": "ends",
    "cut": "is_cut",
    "exact_copies": "is_copy",
    "near_copies": "is_near_copy",
    "in_language": "is_in_language",
}
MEANS = {"words": "n_words", "tokens": "n_tokens", "repeats_prompt": "repeated"}
VARIETY = ("distinct_1", "distinct_2", "mattr", "hdd", "yules_k")
OF_ONE = ("repeated",)  # of the means, those of shares
MEASURES = (*MEANS, *SHARES, *VARIETY)
MEANINGS = {
    "n_items": "items; those of one conversation or problem, and copies, are one",
    "n_turns": "turns, failed ones included",
    "n_copies": "turns that equal another item's turn, white space at the ends aside",
    "n_distinct": "different texts of turns",
    "n_words": "words of all turns",
    "words": f"words of a turn, the mean over turns with text; {HUMAN}: of people's",
    "tokens": "tokens of a turn, by the model's tokenizer, the mean over turns with text",
    "ends_at_once": "share of turns, failed ones left out, that stop before a word",
    "cut": "share of turns, failed ones left out, that end at the token limit",
    "exact_copies": "share of turns with text that are copies (`n_copies`)",
    "near_copies": (
        "share of turns with text that are copies or near copies of another item's turn of the "
        "cell: the similarity of their character 5-grams is 0.8 or more"
    ),
    "repeats_prompt": (
        "share of a turn's word triples that the item's user messages have; a mean over turns of "
        "three words or more"
    ),
    "distinct_1": "different words over all words of the cell's turns",
    "distinct_2": "different pairs of neighbouring words over all such pairs",
    "mattr": f"share of different words in {WINDOW} neighbouring ones, turns in order of items",
    "hdd": "HD-D: expected share of different words among 42 that are drawn",
    "yules_k": "Yule's K: how often words recur; small is varied",
    "language": "the language that most turns are in, of those whose language can be told",
    "n_told": "turns whose language can be told",
    "in_language": "of which in that language",
    **OF_CHRF,
}
COUNTS = ("n_items", "n_turns", "n_ok", "n_error", "n_copies", "n_distinct", "n_words", "n_told")
SCHEMA: Schema = {
    **CELL_COLUMNS,
    **dict.fromkeys(COUNTS, pl.Int64),
    **{f"{name}{end}": pl.Float64 for name in MEASURES for end in LIMITS},
    "language": pl.String,
    "n_compared": pl.Int64,
    **LIMITS_OF_CHRF,
    "reason": pl.String,
}
NO_TEXT = "no turn has text"


def table(material: Material) -> pl.DataFrame:
    """Return the table of a study."""
    before = {
        Path(p).stem: _read(p, material.seed) for p in sorted(material.paths["prepared_items"])
    }
    rows = [
        properties(cell, before[cell["dataset"][0]])
        for path in sorted(material.paths["user_turns"])
        if (cell := pl.read_parquet(path, columns=COLUMNS)).height
    ]
    rows += list(_human_rows(material.paths["human_items"], material.seed))
    joined = pl.DataFrame(rows, schema=SCHEMA, infer_schema_length=None)
    return joined.sort(*CELL_KEYS, nulls_last=True)


class Before(NamedTuple):
    """What is known of the items of a dataset: their user messages and people's turns."""

    user_messages: Mapping[str, list[str]]  # the user messages of each item
    people: Mapping[str, People]  # what people wrote after an item, where that is known


def _read(path: str, seed: int) -> Before:
    """Return the user messages and people's turns of the items in a prepared table."""
    items = pl.read_parquet(path, columns=PEOPLES)
    people = {
        item: [message["content"] for message in messages if message["role"] == "user"]
        for item, messages in items.select("item", "messages").iter_rows()
    }
    return Before(people, people_of(items, Path(path).stem, seed))


def _human_rows(paths: Sequence[str], seed: int) -> Iterator[dict[str, Any]]:
    """Yield the rows of human turns, with null in columns that only models' turns have."""
    for path in sorted(paths):
        turns = human_turns(pl.read_parquet(path), Path(path).stem).select(COLUMNS)
        measured = properties(turns.with_columns(perturbation=pl.lit(PLAIN)), _read(path, seed))
        itself = {f"{name}{end}": None for name in ("chrf", "chrf_above") for end in LIMITS}
        yield measured | itself | {"temperature": None}


def properties(turns: pl.DataFrame, before: Before) -> dict[str, Any]:
    """Return the row of the table for the turns of a cell."""
    ordered = mark_near_copies(mark_copies(turns.sort("item", "sample")))
    described = _described(ordered)
    repeated = [
        None if text is None else share_repeated(text, before.user_messages[item])
        for text, item in described.select("said", "item").iter_rows()
    ]
    described = described.with_columns(repeated=pl.Series(repeated, dtype=pl.Float64))
    language = next(iter(described["language"].drop_nulls().mode().sort()), None)
    described = described.with_columns(
        is_in_language=pl.col("language") == pl.lit(language, pl.String)
    )
    measures = {
        **{name: rate_over(described, ["cluster"], of)[0] for name, of in SHARES.items()},
        **{name: _mean(described, of) for name, of in MEANS.items()},
        **dict(zip(VARIETY, _variety(described), strict=True)),
    }
    return {
        **turns.select(CELL_KEYS).row(0, named=True),
        **_counts(described),
        **{
            key: value
            for name in MEASURES
            for key, value in limits_of(name, measures[name]).items()
        },
        "language": language,
        **chrf_to_people(described, before.people),
        "reason": None if described["said"].count() else NO_TEXT,
    }


def _counts(turns: pl.DataFrame) -> dict[str, int]:
    outcome = turns["outcome"]
    return {
        "n_items": turns["cluster"].n_unique(),
        "n_turns": turns.height,
        "n_ok": int((outcome == "ok").sum()),
        "n_error": int((outcome == "error").sum()),
        "n_copies": int(turns["is_copy"].sum()),
        "n_distinct": turns["said"].drop_nulls().n_unique(),
        "n_words": int(turns["n_words"].sum()),
        "n_told": turns["language"].count(),
    }


def _described(turns: pl.DataFrame) -> pl.DataFrame:
    """Return turns with their words, language, and `ends` and `is_cut`, null for failed turns."""
    is_cut = pl.when(pl.col("outcome") != "error").then(pl.col("finish_reason") == "length")
    ends = pl.when(is_cut.is_not_null()).then((pl.col("outcome") == "empty") & ~is_cut)
    n_tokens = pl.when(pl.col("said").is_not_null()).then("n_tokens")
    lowered = pl.col("said").str.to_lowercase().str.replace_all("’", "'")
    words = lowered.str.extract_all(WORD)
    told = [None if text is None else detected(text, DETECTOR)[0] for text in turns["said"]]
    return turns.with_columns(
        **{"is_cut": is_cut, "ends": ends, "n_tokens": n_tokens},
        **{"words": words, "n_words": words.list.len()},
        language=pl.Series(told, dtype=pl.String),
    )


def _mean(turns: pl.DataFrame, name: str) -> Interval:
    """Return the mean of a column, with limits of at least 0, and at most 1 for a share."""
    estimate, lower, upper = mean_over(turns, name, "cluster")
    if lower is None or upper is None:
        return Interval(estimate, None, None)
    return Interval(estimate, max(0.0, lower), min(upper, 1.0 if name in OF_ONE else inf))


def _variety(turns: pl.DataFrame) -> Iterator[Interval]:
    """Yield the measures of `VARIETY`, over all words of the turns in their order."""
    cluster = pl.col("cluster").rank("dense") - 1
    words = turns.with_row_index("turn").with_columns(cluster=cluster).explode("words")
    words = words.drop_nulls("words").with_columns(word=pl.col("words").rank("dense") - 1)
    nothing = Interval(None, None, None)
    if words.is_empty():
        yield from [nothing] * len(VARIETY)
        return
    after = pl.col("word").shift(-1).over("turn").cast(pl.Int64)
    pair = pl.col("word").cast(pl.Int64) * len(words) + after
    pairs = words.with_columns(pair=pair).drop_nulls("pair")
    pairs = pairs.with_columns(word=pl.col("pair").rank("dense") - 1)
    counts, of_pairs = (counted(of["word"], of["cluster"]) for of in (words, pairs))
    yield jackknife_interval(counts, distinct)
    yield jackknife_interval(of_pairs, distinct) if pairs.height else nothing
    shares = window_shares(words["word"])
    begun = words["cluster"][: len(shares)].cast(pl.String).to_list()
    yield clustered_mean(np.asarray(shares), begun)
    yield jackknife_interval(counts, hdd)
    yield jackknife_interval(counts, yules_k, inf)


LAYOUT = Layout(
    "What the turns are like, without a judge",
    {},
    (
        *texts("model", "dataset", "temperature", "perturbation"),
        column("copies", "of", "n_copies", "n_ok"),
        limited("copies, share", "share", "exact_copies"),
        limited("near copies", "share", "near_copies"),
        limited("repeats the prompt", "share", "repeats_prompt"),
        limited("words", "number", "words"),
        limited("ends at once", "share", "ends_at_once"),
        limited("cut", "share", "cut"),
        limited("distinct-1", "number", "distinct_1"),
        limited("distinct-2", "number", "distinct_2"),
        limited("MATTR", "number", "mattr"),
        limited("HD-D", "number", "hdd"),
        limited("Yule's K", "number", "yules_k"),
        *texts("language"),
        limited("in that language", "share", "in_language"),
        limited("chrF to the person's turn", "number", "chrf"),
        limited("to an unrelated person's", "number", "chrf_unrelated"),
        limited("above that", "number", "chrf_above"),
    ),
)

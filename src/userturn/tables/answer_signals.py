"""Table `answer_signals`: does what a model would say next as the user tell its right answers?"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from userturn.datasets.turns import clusters
from userturn.generation.scores import CANDIDATE, LOG_PROBABILITY, SIGNALS, reaction_signals
from userturn.grading.grade import final_result
from userturn.stats.discrimination import (
    auc_within,
    change_from_random,
    change_of_choice,
    chosen,
    won_pairs,
)
from userturn.stats.proportions import Array, Interval, Patterns, pooled_rate
from userturn.stats.significance import sign_flip_p
from userturn.storage.table_files import Schema
from userturn.tables.added_columns import add_holm
from userturn.tables.layout import INTERVAL, Layout, P, column, texts
from userturn.tables.make_tables import Material
from userturn.workflow.registry import Table

TABLE = Table(
    rule="measure_signals",
    place=220,
    row="a model, graded dataset, signal, measure and, of changes, baseline",
    made_of=(
        "candidates",
        "candidate_grades",
        "candidate_verdicts",
        "candidate_items",
        "reactions",
        "copies",
    ),
    needs="candidates",
    version=3,
)
MEANINGS = {
    "measure": (
        "`area within items`: chance that a right answer of an item has more of the signal than a "
        "wrong one, ties are half; `accuracy of the best`: share of items whose answer with the "
        "most of it is right; `change of accuracy`: that less the baseline's"
    ),
    "baseline": "the choice of an answer that the best is compared with",
    "n_items": "items with a graded answer",
    "n_answers": "answers of all items",
    "n_undecided": "answers that the verifier leaves undecided; they are left out",
    "chance": "the value of a signal that tells nothing",
    "estimate": "the measure",
    "reason": "why there is no estimate",
}
SCHEMA: Schema = {
    **dict.fromkeys(("model", "dataset", "signal", "measure", "baseline"), pl.String),
    **dict.fromkeys(("n_items", "n_mixed", "n_all_right", "n_all_wrong", "n_answers"), pl.Int64),
    **dict.fromkeys(("n_undecided", "n_without_signal", "n_pairs"), pl.Int64),
    **dict.fromkeys(("chance", "estimate", "lower", "upper", "p", "p_adjusted"), pl.Float64),
    "reason": pl.String,
}
AREA, ACCURACY, CHANGE = "area within items", "accuracy of the best", "change of accuracy"
RANDOM, VOTE = "random choice", "majority vote"
BASELINES = (RANDOM, LOG_PROBABILITY, VOTE)
TESTS = ["model", "dataset", "measure"]  # Holm adjusts the tests that agree in these
NO_SIGNAL = "no graded answer has this signal"
NOT_MIXED = "no item has a right and a wrong answer with this signal"


class Graded(NamedTuple):
    """The graded candidates of a model and dataset."""

    right: Array  # whether each candidate is right
    items: np.ndarray  # number of the item of each, from 0
    n_samples: int  # the largest number of candidates of an item
    counts: dict[str, int]  # the columns of the table that count items and candidates


def table(material: Material) -> pl.DataFrame:
    """Return the table of a study."""
    verdicts = material.read("candidate_verdicts", [*CANDIDATE, "judge", "genuine"])
    candidates = material.read("candidates", [*CANDIDATE, "answer"]).join(
        material.read("candidate_grades", [*CANDIDATE, "correct"]), on=CANDIDATE, how="left"
    )
    arguments = pl.concat(
        pl.read_parquet(path, columns=["item", "verifier_arguments"]).with_columns(
            dataset=pl.lit(Path(path).stem)
        )
        for path in sorted(material.paths["candidate_items"])
    )
    with_arguments = candidates.join(arguments, on=["dataset", "item"], how="left")
    scored = [*CANDIDATE, "context", "n_tokens", "logprob"]
    reactions = reaction_signals(material.read("reactions", scored))
    entries = material.grid.datasets
    verifiers = {name: entry["verifier"] for name, entry in entries.items()}
    return answer_signals(add_signals(with_arguments, reactions, verdicts, verifiers))


def add_signals(
    candidates: pl.DataFrame,
    reactions: pl.DataFrame,
    verdicts: pl.DataFrame,
    verifiers: dict[str, str],
) -> pl.DataFrame:
    """Return candidates with a column for each signal, where larger is better.

    Candidates have the columns `CANDIDATE`, `answer`, `correct` and `verifier_arguments`. The
    signals of reactions are in `reactions`. The verifier of each dataset, in `verifiers`, decides
    which results are one in a vote.
    """
    judged = verdicts.with_columns(
        name=pl.format("genuine, {}", "judge"), value=pl.col("genuine").cast(pl.Float64)
    ).pivot("name", index=CANDIDATE, values="value", sort_columns=True)
    answers = candidates.select("dataset", "answer", "verifier_arguments").iter_rows()
    results = [
        final_result(verifiers[name], answer or "", arguments)
        for name, answer, arguments in answers
    ]
    alike = ["model", "dataset", "item", "result"]
    votes = pl.when(pl.col("result").is_not_null()).then(pl.len().over(alike)).cast(pl.Float64)
    return (
        candidates.with_columns(result=pl.Series(results, dtype=pl.String))
        .join(reactions, on=CANDIDATE, how="left", maintain_order="left")
        .join(judged, on=CANDIDATE, how="left", maintain_order="left")
        .with_columns(votes.alias(VOTE))
        .drop("answer", "result", "verifier_arguments")
    )


def answer_signals(candidates: pl.DataFrame) -> pl.DataFrame:
    """Return per signal its area within items, and the accuracy of the answer with the most of it.

    Candidates have a column for each signal. Answers whose grade is undecided are left out and
    counted. Areas are over pairs of a right and a wrong answer of one item. The best answer is
    compared on the same items with a random one, with the one of the highest mean log-probability,
    and with the majority's. p is exact (`stats.discrimination`). Holm's method adjusts the tests of
    each model, dataset and measure.
    """
    judged = sorted(name for name in candidates.columns if name.startswith("genuine"))
    signals = [*SIGNALS[:-1], *judged, LOG_PROBABILITY, VOTE]
    rows = [
        row
        for group in candidates.sort(CANDIDATE).partition_by(CANDIDATE[:2], maintain_order=True)
        for row in _dataset_rows(group, signals)
    ]
    return add_holm(pl.DataFrame(rows, schema=SCHEMA), TESTS)


def _dataset_rows(candidates: pl.DataFrame, signals: list[str]) -> Iterator[dict[str, Any]]:
    graded, decided = _graded(candidates), candidates.drop_nulls("correct")
    names = {"model": candidates["model"][0], "dataset": candidates["dataset"][0]}
    scores = {
        name: decided[name].cast(pl.Float64).fill_null(float("nan")).to_numpy() for name in signals
    }
    missing = {name: int(np.isnan(values).sum()) for name, values in scores.items()}
    random = chosen(np.zeros(decided.height), graded.right, graded.items)
    best = {n: chosen(x, graded.right, graded.items) for n, x in scores.items()}
    yield {
        **names,
        **graded.counts,
        "signal": RANDOM,
        "measure": ACCURACY,
        **_share(random, graded.n_samples)._asdict(),
    }
    for name in signals:
        of = {**names, **graded.counts, "signal": name, "n_without_signal": missing[name]}
        yield of | _area(scores[name], graded)
        if missing[name] == decided.height:
            continue
        chance = float(random.mean())
        yield of | {"measure": ACCURACY, "chance": chance, **_share(best[name], 1)._asdict()}
        others = [RANDOM] if name == LOG_PROBABILITY else [o for o in BASELINES if o != name]
        for other in (o for o in others if missing.get(o, 0) < decided.height):
            if other == RANDOM:
                change = change_from_random(best[name], random, graded.n_samples)
            else:
                change = change_of_choice(best[name], best[other])
            yield of | {"measure": CHANGE, "baseline": other, **change._asdict()}


def _graded(candidates: pl.DataFrame) -> Graded:
    decided = candidates.drop_nulls("correct")
    _, items = np.unique(decided.select(clusters()).to_series().to_numpy(), return_inverse=True)
    right = decided["correct"].to_numpy().astype(float)
    share = np.bincount(items, right) / np.bincount(items) if len(items) else np.zeros(0)
    counts = {
        "n_items": len(share),
        "n_mixed": int(((share > 0) & (share < 1)).sum()),
        "n_all_right": int((share == 1).sum()),
        "n_all_wrong": int((share == 0).sum()),
        "n_answers": candidates.height,
        "n_undecided": candidates.height - decided.height,
    }
    most = max(decided["item"].value_counts()["count"], default=1)
    return Graded(right, items, most, counts)


def _share(values: Array, n_samples: int) -> Interval:
    """Return a mean over items, whose values are each the mean of at most `n_samples` answers."""
    if not len(values):
        return Interval(None, None, None)
    once = np.ones(len(values))
    return pooled_rate(Patterns(once, once, values), 1 / n_samples)


def _area(scores: Array, graded: Graded) -> dict[str, Any]:
    """Return the columns of the area within items, tested against one half."""
    there = ~np.isnan(scores)
    pairs = won_pairs(scores[there], graded.right[there], graded.items[there])
    area, n_pairs = auc_within(pairs), int(pairs.n_pairs.sum())
    row = {"measure": AREA, "chance": 0.5, "n_pairs": n_pairs, **area._asdict()}
    if not n_pairs:
        return row | {"reason": NOT_MIXED if there.any() else NO_SIGNAL}
    excess = pairs.won - pairs.n_pairs / 2
    return row | {"p": sign_flip_p(excess, np.ones(len(excess)))}


LAYOUT = Layout(
    "Several answers an item: does what the user would say tell the right ones?",
    {},
    (
        *texts("model", "dataset", "signal", "measure", "baseline"),
        column("estimate", "number", "estimate", *INTERVAL),
        column("by chance", "number", "chance"),
        column("items with right and wrong answers", "of", "n_mixed", "n_items"),
        *P,
        *texts("reason"),
    ),
)

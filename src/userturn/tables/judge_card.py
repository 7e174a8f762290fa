"""How accurate each judge is on turns whose kind is known: its card.

A judge can be right about a turn's side (genuine or not) or about its label, which is stricter. The
measures say which. People's labels of drawn turns are weighted as Begg and Greenes do (1983,
Biometrics 39:207-215). Measures are strict: an arguable turn is not genuine. Lenient measures take
a turn for genuine where it is arguable, by the judge or in truth. For planted failures each measure
is the mean over their kinds, since in a share of all of them a rare kind that a judge misses would
be hidden. For a judge that gives probabilities the card says whether they hold: of turns called
genuine with 0.7, are 7 of 10 genuine?
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl

from userturn.controls.control_turn import (
    HUMAN,
    LABELS,
    NOT_GENUINE,
    PLANTED,
    PLANTED_HARD,
    SOURCES,
)
from userturn.humans.labels import PEOPLE
from userturn.judges.verdict import ARGUABLE, GENUINE
from userturn.stats.agreement import Ratings, estimate_all
from userturn.stats.margins import Counts, combination, first_part, side_by_side
from userturn.stats.proportions import Interval, copies
from userturn.stats.rng import generator
from userturn.storage.table_files import Schema
from userturn.study.cells import ALL
from userturn.study.contents import INJECTED
from userturn.tables.turn_rates import rate_over

N_BINS = 5
BRIER, MEAN, SHARE = "brier", "mean probability", "share genuine"
OVERALL = {"by": ALL, "group": ALL}


def reliability(turns: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield rows of a judge's card: its Brier score, and bins of its probability.

    Each bin has the mean probability of its turns, and the share of them that is truly genuine.
    """
    rated = turns.drop_nulls("probability").with_columns(genuine=pl.col("truth") == GENUINE)
    if rated.is_empty():
        return
    off = pl.col("probability") - pl.col("genuine").cast(pl.Float64)
    brier = rated.select((off**2).mean()).item()
    yield _row(rated, OVERALL, BRIER, rated.height, estimate=brier)
    bin_of = (pl.col("probability") * N_BINS).floor().clip(0, N_BINS - 1).cast(pl.Int64)
    bins = rated.with_columns(bin=bin_of).partition_by(["bin"], as_dict=True)
    for (number,), part in sorted(bins.items()):
        group = f"{number / N_BINS:.1f} to {(number + 1) / N_BINS:.1f}"
        of = {"by": "probability", "group": group}
        yield _row(part, of, MEAN, part.height, estimate=part["probability"].mean())
        yield _row(part, of, SHARE, part.height, **rate_over(part, ["cluster"])[0]._asdict())


def _row(
    turns: pl.DataFrame, of: dict[str, str], measure: str, n_scored: int, **values: Any
) -> dict[str, Any]:
    n = turns["cluster"].n_unique()
    counts = {"n_turns": turns.height, "n_scored": n_scored, "n_conversations": n}
    return {**of, "measure": measure, **counts, **values}


BY = ("kind", "length", "language", "temperature", "dataset")
OVER_KINDS = (PLANTED, PLANTED_HARD, INJECTED)  # their measures are means over kinds
CONTROLS = (HUMAN, *OVER_KINDS)
CARD: Schema = {
    **dict.fromkeys(("judge", "source", "by", "group", "measure"), pl.String),
    **dict.fromkeys(("n_turns", "n_scored", "n_conversations"), pl.Int64),
    **dict.fromkeys(("estimate", "lower", "upper"), pl.Float64),
    "reason": pl.String,
}
NOT_SCORED = "the judge scored none of these turns"
WHY_NONE = {  # why a control has no turn in a study
    HUMAN: "no dataset of controls.human",
    "other_model": "no second model with another answer to these items",
    "other_turn": "no second conversation in these datasets",
    "continuation": "no answer of two sentences",
}
LENIENTLY = {name: pl.col(name).replace(ARGUABLE, GENUINE) for name in ("truth", "label")}
ARGUED = pl.any_horizontal(pl.col("truth", "label") == ARGUABLE)
NO_ANSWER = "no conversation in English with an answer"


def judge_card(turns: pl.DataFrame, seed: int) -> pl.DataFrame:
    """Return the measures of each judge by source, over all turns and by each column of `BY`.

    `turns` are those of `known_turns`. Over all turns there are also kappa, except with people,
    lenient measures, and the reliability of probabilities.
    """
    rows = []
    for (judge, source), part in _groups(turns, ["judge", "source"]):
        at = {"judge": judge, "source": source}
        rows += [
            at | row for row in _overall_rows(part, generator(seed, "judge card", judge, source))
        ]
        rows += [at | row for row in reliability(part)]
        if part.filter(ARGUED).height:
            rng = generator(seed, "judge card", judge, source, "lenient")
            for row in _overall_rows(part.with_columns(**LENIENTLY), rng):
                rows.append(at | row | {"measure": f"lenient {row['measure']}"})
        for by in BY:
            for (group,), some in _groups(part.filter(pl.col(by).is_not_null()), [by]):
                of = {"by": by, "group": group}
                rows += [at | row for row in measures(some, of, part if by == "kind" else some)]
    return pl.DataFrame(rows, schema=CARD)


def _overall_rows(turns: pl.DataFrame, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    """Yield the measures of a judge on all turns of a source, with kappa unless people labelled."""
    yield from measures(turns, OVERALL)
    if turns["source"][0] != PEOPLE:
        yield _kappa(turns, rng)


def _groups(turns: pl.DataFrame, by: list[str]) -> Iterator[tuple[tuple[str, ...], pl.DataFrame]]:
    parts = turns.partition_by(by, as_dict=True, maintain_order=True)
    for names in sorted(parts):
        yield tuple(map(str, names)), parts[names]


def measures(
    turns: pl.DataFrame, of: dict[str, str], population: pl.DataFrame | None = None
) -> Iterator[dict[str, object]]:
    """Yield the measures that can be computed on these turns, with the columns `of`.

    If the turns are of a kind that people's labels revealed, `population` has all drawn turns.
    """
    is_genuine, is_called = pl.col("truth") == GENUINE, pl.col("label") == GENUINE
    is_right = is_called == is_genuine
    labels = turns.filter(pl.col("truth") != NOT_GENUINE)
    among = turns if population is None else population
    for measure, part, right, side in (
        ("sensitivity", turns.filter(is_genuine), is_right, is_called),
        ("specificity", turns.filter(~is_genuine), is_right, ~is_called),
        ("right side", turns, is_right, None),
        ("right label", labels, pl.col("label") == pl.col("truth"), None),
    ):
        if part.height:
            n_scored = part["label"].count()
            if part["source"][0] in OVER_KINDS:
                estimate = _mean_over_kinds(part, right)
            else:
                estimate = (
                    _share(part, right) if side is None else _recalled(part, among, right, side)
                )
            reason = None if n_scored else NOT_SCORED
            yield _row(part, of, measure, n_scored, **estimate._asdict(), reason=reason)


def _columns(turns: pl.DataFrame, sides: Sequence[pl.Expr], positive: pl.Expr) -> Counts:
    """Return the weighted numbers of turns and positive turns per conversation, on some sides."""
    w, kinds = pl.col("weight"), [(side, is_one) for side in sides for is_one in (positive, True)]
    sums = turns.group_by("cluster").agg(
        *(w.filter(side).sum().alias(f"turns {i}") for i, side in enumerate(sides)),
        *(w.filter(side & positive).sum().alias(f"some {i}") for i, side in enumerate(sides)),
        *((side & is_one).sum().alias(f"n {i}") for i, (side, is_one) in enumerate(kinds)),
    )
    sums = sums.sort("cluster")
    once = copies(*(sums[f"n {i}"].to_numpy() for i in range(len(kinds))))
    columns = [(sums[f"turns {i}"] / once, sums[f"some {i}"] / once) for i in range(len(sides))]
    weights = [turns.filter(side)["weight"].to_numpy() for side in sides]
    least = [float((one**2).sum() / one.sum()) if len(one) else 1.0 for one in weights]  # Kish 1965
    return side_by_side(*columns)._replace(least=np.array(least))


def _share(turns: pl.DataFrame, right: pl.Expr) -> Interval:
    """Return the share of turns that are right, combined over the judge's two sides if weighted."""
    scored = turns.drop_nulls("label")
    if scored["weight"].n_unique() < 2:
        return rate_over(turns.with_columns(right=right), ["cluster"], "right")[0]
    called = pl.col("label") == GENUINE
    sides = [side for side in (called, ~called) if scored.filter(side).height]
    counts = _columns(scored, sides, right)
    sizes = counts.turns.sum(0)
    return combination(counts, sizes / sizes.sum())


def _mean_over_kinds(turns: pl.DataFrame, right: pl.Expr) -> Interval:
    scored = turns.drop_nulls("label")
    kinds = scored["kind"].unique().sort().to_list()
    if len(kinds) < 2:
        return _share(turns, right)
    counts = _columns(scored, [pl.col("kind") == kind for kind in kinds], right)
    return combination(counts, np.full(len(kinds), 1 / len(kinds)))


def _recalled(part: pl.DataFrame, among: pl.DataFrame, right: pl.Expr, side: pl.Expr) -> Interval:
    """Return the share of turns of a kind that the judge puts on the kind's side.

    The judge's two sides were drawn apart, one much more densely. So the number of turns of the
    kind is estimated on either side, and the limits allow for turns on a side where none was found.
    """
    scored = among.drop_nulls("label")
    both = scored.filter(side).height and scored.filter(~side).height
    if scored["weight"].n_unique() < 2 or not both:
        return _share(part, right)
    kinds = pl.col("truth").is_in(part["truth"].unique().to_list())
    return first_part(_columns(scored, [side, ~side], kinds))


def _kappa(turns: pl.DataFrame, rng: np.random.Generator) -> dict[str, object]:
    scored = turns.filter(pl.col("label").is_not_null())
    sides = scored.select((pl.col(name) != GENUINE).cast(pl.Int64) for name in ("truth", "label"))
    weights, clusters = scored["weight"].to_numpy(), scored["cluster"].to_numpy()
    ratings = Ratings(sides.to_numpy(), weights, clusters, 2)
    kappa = estimate_all(ratings, ["cohen_kappa"], rng)["cohen_kappa"]
    if (turns["truth"] == GENUINE).n_unique() == 1:
        reason = "these turns are all of one side"
        return _row(turns, OVERALL, "kappa", scored.height, reason=reason)
    return _row(turns, OVERALL, "kappa", scored.height, **kappa._asdict())


def missing_controls(turns: pl.DataFrame) -> list[dict[str, Any]]:
    """Return per judge a row for each control that has no turn, with the reason."""
    controls = turns.filter(pl.col("kind").is_in(list(LABELS)), pl.col("source").is_in(CONTROLS))
    present = set(controls["kind"])
    none_planted = None if present - {HUMAN} else "no failure was planted"
    counts = dict.fromkeys(("n_turns", "n_scored", "n_conversations"), 0)
    names = {"by": "kind", "measure": "right side"}
    return [
        names
        | counts
        | {"judge": judge, "source": SOURCES[name], "group": name}
        | {"reason": (name != HUMAN and none_planted) or WHY_NONE.get(name, NO_ANSWER)}
        for judge in sorted(set(controls["judge"]))
        for name in LABELS
        if name not in present
    ]

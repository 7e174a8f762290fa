"""Tables of agreement: people with people, judges with people, judges with judges."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from userturn.agreement import COEFFICIENTS, Estimate, Ratings, estimate_all
from userturn.annotation import read_rubric
from userturn.annotation_rounds import ITEMS_SCHEMA
from userturn.fingerprints import fingerprint
from userturn.human_grid import HumanGrid
from userturn.human_labels import (
    PEOPLE,
    VERDICTS,
    drawn_turns,
    people,
    read_annotations_and_keys,
    weighted,
)
from userturn.human_sample import TURN
from userturn.judging import GENUINE
from userturn.tables import Schema, read_tables, write_csv, write_table

PEOPLE_GENUINE = "people, genuine or not"  # their majority on that scale
IN_SCALE: Mapping[str, Mapping[str, str]] = {"genuine": {PEOPLE: PEOPLE_GENUINE}, "label": {}}
ALL = "all"  # the rows over all families
NO_LABELS = "no annotations yet"
AGREEMENT_SCHEMA: Schema = {
    "comparison": pl.String,
    "first": pl.String,
    "second": pl.String,
    "scale": pl.String,
    "family": pl.String,
    "weights": pl.String,
    "coefficient": pl.String,
    "n_turns": pl.Int64,
    "n_items": pl.Int64,
    "estimate": pl.Float64,
    "lower": pl.Float64,
    "upper": pl.Float64,
    "reason": pl.String,
}
CONFUSION_SCHEMA: Schema = {
    "comparison": pl.String,
    "first": pl.String,
    "second": pl.String,
    "label_first": pl.String,
    "label_second": pl.String,
    "n": pl.Int64,
    "weight": pl.Float64,
    "share_of_first": pl.Float64,
    "reason": pl.String,
}
DISAGREEMENTS_SCHEMA: Schema = {
    **dict.fromkeys(("round", "id", "family", "model", "dataset"), pl.String),
    "temperature": pl.Float64,
    "perturbation": pl.String,
    "item": pl.String,
    "sample": pl.Int64,
    **dict.fromkeys(("judge", "judge_label", "people_label"), pl.String),
    "differ_in_genuine": pl.Boolean,
    **dict.fromkeys(("labels", "rationale", "conversation", "turn", "reason"), pl.String),
}


class Comparison(NamedTuple):
    """Raters that are compared on the turns that they labelled.

    Attributes:
        kind: human-human, judge-human or judge-judge.
        first: of them, or `people` for all annotators.
        second: of them, or `people` for all annotators or their majority.
        table: one row a turn: `family`, `dataset`, `item`, `weight` and a label a rater.
        raters: columns of the table.
    """

    kind: str
    first: str
    second: str
    table: pl.DataFrame
    raters: list[str]


def _wide(labels: pl.DataFrame, on: str, index: Sequence[str]) -> pl.DataFrame:
    """Return one row a turn and one column a rater, named `on` and its name."""
    names = sorted(labels[on].unique())
    columns = [
        pl.col("label").filter(pl.col(on) == name).first().alias(f"{on} {name}") for name in names
    ]
    return labels.group_by(index).agg(columns)


def comparisons(labelled: pl.DataFrame, judged: pl.DataFrame) -> Iterator[Comparison]:
    """Yield every comparison that there are raters for.

    Args:
        labelled: the turns that people labelled, one column a rater; `people` is their majority.
        judged: all turns of the study, one column a judge.
    """
    annotators = [name for name in labelled.columns if name.startswith("annotator ")]
    judges = [name for name in judged.columns if name.startswith("judge ")]
    short = {name: name.split(" ", 1)[1] for name in annotators + judges}
    if len(annotators) > 2:
        yield Comparison("human-human", PEOPLE, PEOPLE, labelled, annotators)
    for pair in combinations(annotators, 2):
        yield Comparison("human-human", short[pair[0]], short[pair[1]], labelled, list(pair))
    for judge in judges if annotators else []:
        yield Comparison("judge-human", short[judge], PEOPLE, labelled, [judge, PEOPLE])
        for name in annotators if len(annotators) > 1 else []:
            yield Comparison("judge-human", short[judge], short[name], labelled, [judge, name])
    for pair in combinations(judges, 2):
        yield Comparison("judge-judge", short[pair[0]], short[pair[1]], judged, list(pair))


def ratings(table: pl.DataFrame, raters: Sequence[str], scale: Sequence[str]) -> Ratings:
    """Return the labels of some raters as positions in a scale.

    Args:
        table: `dataset` and `item`, which are one cluster; `weight`; a label a rater.
        raters: columns of the table.
        scale: the labels; of two of them, a rater's other labels count as the second.
    """
    known = {label: position for position, label in enumerate(scale)}
    other = 1 if len(scale) == 2 else None
    codes = [
        pl.when(pl.col(rater).is_not_null())
        .then(pl.col(rater).replace_strict(known, default=other, return_dtype=pl.Int64))
        .fill_null(-1)
        .alias(f"rater {position}")
        for position, rater in enumerate(raters)
    ]
    clusters = table.select(pl.concat_str("dataset", "item", separator="\n")).to_series()
    return Ratings(
        table.select(codes).to_numpy(), table["weight"].to_numpy(), clusters.to_numpy(), len(scale)
    )


def _rows(comparison: Comparison, labels: Sequence[str], seed: int) -> Iterator[dict[str, Any]]:
    """Yield a comparison's rows: each coefficient on both scales, by family and weights."""
    kind, first, second, table, raters = comparison
    names = [name for name in COEFFICIENTS if len(raters) == 2 or name != "cohen_kappa"]
    families = [ALL, *sorted(table["family"].unique())]
    for family in families:
        part = table if family == ALL else table.filter(pl.col("family") == family)
        for scale, of_scale in (("genuine", [GENUINE, "not genuine"]), ("label", list(labels))):
            columns = [IN_SCALE[scale].get(rater, rater) for rater in raters]
            seen = part.filter(pl.sum_horizontal(pl.col(c).is_not_null() for c in columns) > 1)
            for weights in ("study",) if kind == "judge-judge" else ("study", "sample"):
                where = [kind, first, second, scale, family, weights]
                generator = np.random.default_rng(int(fingerprint([seed, where]), 16))
                rated = ratings(part, columns, of_scale)
                if weights == "sample":
                    rated = rated._replace(weights=np.ones(len(rated.weights)))
                for name, found in estimate_all(rated, names, generator).items():
                    counts = (seen.height, seen.select("dataset", "item").n_unique())
                    yield _row(where, name, counts, found)


def _row(
    where: Sequence[str], name: str, counts: tuple[int, int], found: Estimate
) -> dict[str, Any]:
    return dict(zip(AGREEMENT_SCHEMA, [*where, name, *counts, *found], strict=True))


def agreement(
    labelled: pl.DataFrame, judged: pl.DataFrame, labels: Sequence[str], seed: int
) -> pl.DataFrame:
    """Return every coefficient of every comparison, and a row with a reason where there is none."""
    found = list(comparisons(labelled, judged))
    rows = [row for comparison in found for row in _rows(comparison, labels, seed)]
    n_annotators = sum(name.startswith("annotator ") for name in labelled.columns)
    reasons = {
        "human-human": "one annotator only, two are needed" if n_annotators else NO_LABELS,
        "judge-human": NO_LABELS,
        "judge-judge": "one judge only, two are needed",
    }
    have = {comparison.kind for comparison in found}
    rows += [{"comparison": k, "reason": why} for k, why in reasons.items() if k not in have]
    return pl.DataFrame(rows, schema=AGREEMENT_SCHEMA)


def confusion(labelled: pl.DataFrame, judged: pl.DataFrame) -> pl.DataFrame:
    """Return how often two raters gave each pair of labels: people's labels first."""
    tables = []
    for kind, first, second, table, raters in comparisons(labelled, judged):
        if first == PEOPLE:
            continue
        if kind == "judge-human":
            first, second, raters = second, first, raters[::-1]
        pairs = table.drop_nulls(raters).group_by(
            pl.col(raters[0]).alias("label_first"), pl.col(raters[1]).alias("label_second")
        )
        counts = pairs.agg(n=pl.len(), weight=pl.sum("weight")).with_columns(
            comparison=pl.lit(kind),
            first=pl.lit(first),
            second=pl.lit(second),
            share_of_first=pl.col("weight") / pl.col("weight").sum().over("label_first"),
            reason=pl.lit(None, pl.String),
        )
        tables.append(counts.sort("label_first", "label_second"))
    if "judge-human" not in {table["comparison"][0] for table in tables if table.height}:
        nothing = pl.DataFrame({"comparison": ["judge-human"], "reason": [NO_LABELS]})
        tables.append(nothing)
    filled = pl.concat(tables, how="diagonal_relaxed")
    return pl.DataFrame(
        {n: filled[n] if n in filled.columns else [None] * filled.height for n in CONFUSION_SCHEMA}
    ).cast(pl.Schema(CONFUSION_SCHEMA))


def disagreements(
    labelled: pl.DataFrame, verdicts: pl.DataFrame, items: pl.DataFrame, private: Sequence[str]
) -> pl.DataFrame:
    """Return the turns that people and a judge, or people among themselves, label differently.

    Args:
        labelled: the turns that people labelled, as `labelled_beside_judges` returns them.
        verdicts: of all judges.
        items: what annotators saw.
        private: datasets whose texts are left out.
    """
    message = pl.element().struct
    told = pl.col("conversation").list.eval(
        pl.format("{}: {}", message.field("role"), message.field("text"))
    )
    texts = items.select("id", "turn", conversation=told.list.join("\n\n"))
    is_private = pl.col("dataset").is_in(list(private))
    people_say = pl.col("people_label") == GENUINE
    table = (
        labelled.drop("judge")
        .rename({PEOPLE: "people_label"})
        .join(verdicts.rename({"label": "judge_label"}), on=TURN)
        .filter(~pl.col("judge_label").eq_missing(pl.col("people_label")))
        .join(texts, on="id", how="left")
        .with_columns(
            differ_in_genuine=people_say != pl.col("genuine"),
            reason=pl.when(pl.col("people_label").is_null()).then(pl.lit("people differ")),
        )
        .with_columns(pl.when(~is_private).then(pl.col("conversation", "turn")))
    )
    return table.select(pl.col(n).cast(t) for n, t in DISAGREEMENTS_SCHEMA.items()).sort(
        "differ_in_genuine", "judge", "round", "id", descending=[True, False, False, False]
    )


def labelled_beside_judges(
    turns: pl.DataFrame,
    verdicts: pl.DataFrame,
    annotations: pl.DataFrame,
    keys: pl.DataFrame,
    families: Mapping[str, str],
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the turns that people labelled, and all turns of the study, one column a rater.

    Args:
        turns: user turns of all cells: key columns and `key`.
        verdicts: of all judges on them.
        annotations: of all rounds.
        keys: of all rounds.
        families: model family by model.
    """
    family = pl.col("model").replace_strict(families, return_dtype=pl.String)
    judged = _wide(verdicts, "judge", TURN).sort(TURN)
    drawn = drawn_turns(keys, turns).unique(TURN, keep="first", maintain_order=True)
    labelled = (
        weighted(drawn, annotations, ["family", "stratum"])
        .join(people(annotations).rename({"label": PEOPLE}), on="id", maintain_order="left")
        .with_columns(
            pl.when(pl.col("share_genuine") > 0.5)
            .then(pl.lit(GENUINE))
            .when(pl.col("share_genuine") < 0.5)
            .then(pl.lit("not genuine"))
            .alias(PEOPLE_GENUINE)
        )
        .join(_wide(annotations, "annotator", ["id"]), on="id", maintain_order="left")
        .join(judged, on=TURN, how="left", maintain_order="left")
    )
    return labelled, judged.with_columns(family=family, weight=pl.lit(1.0))


def measure_agreement(
    humans: HumanGrid,
    identity: str,
    paths_to_user_turns: Sequence[str],
    paths_to_verdicts: Sequence[str],
    paths_to_annotations: Sequence[str],
    paths_to_keys: Sequence[str],
    paths_to_items: Sequence[str],
    path_to_rubric: str,
    paths: Mapping[str, str],
) -> None:
    """Write agreement, confusion and disagreements, each as Parquet and CSV.

    Args:
        humans: knows model families, private datasets and the seed.
        identity: of the tables.
        paths_to_user_turns: of all cells.
        paths_to_verdicts: of all cells and judges.
        paths_to_annotations: of all rounds.
        paths_to_keys: of all rounds.
        paths_to_items: what annotators saw, of all rounds.
        path_to_rubric: names the labels.
        paths: where each table goes: agreement, confusion, disagreements; those ending in _csv too.
    """
    turns = pl.concat([pl.read_parquet(p, columns=[*TURN, "key"]) for p in paths_to_user_turns])
    verdicts = pl.concat([pl.read_parquet(p, columns=VERDICTS) for p in paths_to_verdicts])
    annotations, keys = read_annotations_and_keys(paths_to_annotations, paths_to_keys)
    labelled, judged = labelled_beside_judges(turns, verdicts, annotations, keys, humans.families)
    items = read_tables(paths_to_items, ITEMS_SCHEMA)
    labels, seed = list(read_rubric(path_to_rubric)), humans.grid.config["seed"]
    tables = {
        "agreement": agreement(labelled, judged, labels, seed),
        "confusion": confusion(labelled, judged),
        "disagreements": disagreements(
            labelled.rename({PEOPLE: "people_label"}), verdicts, items, humans.private
        ),
    }
    for name, table in tables.items():
        write_table(table, paths[name], identity)
        write_csv(table, paths[f"{name}_csv"])

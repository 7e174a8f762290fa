"""Table `judge_card`: how accurate each judge is on turns whose kind is known.

There are five sources: human follow-ups, hard planted failures, the other planted failures, the
project's own labelled turns, and people's labels of the study's turns. A judge can be right about a
turn's side (genuine or not) or about its label, which is stricter; the measures say which.
"""

from collections.abc import Iterator

import numpy as np
import polars as pl

from userturn.controls.control_turn import HARD, HUMAN, LABELS, NOT_GENUINE, PLANTED, PLANTED_HARD
from userturn.datasets.clusters import clusters
from userturn.humans.labels import PEOPLE
from userturn.humans.rater_pairs import PEOPLE_GENUINE
from userturn.judges.judge_cell import VERDICTS_SCHEMA
from userturn.judges.verdict import GENUINE
from userturn.sources.labelled import LABELLED
from userturn.stats.agreement import Ratings
from userturn.stats.cluster_bootstrap import estimate_all
from userturn.stats.rng import generator
from userturn.storage.parquet import Schema
from userturn.study.cells import ALL
from userturn.tables.controls import control_verdicts
from userturn.tables.layout import INTERVAL, Layout, column, texts
from userturn.tables.make_tables import Material
from userturn.tables.turn_clusters import rate_over
from userturn.workflow.declarations import Table

TABLE = Table(
    rule="measure_judges",
    place=120,
    row="a judge, source of turns, group of them, and measure",
    made_of=(
        "control_verdicts",
        "human_items",
        "user_turns",
        "verdicts",
        "annotations",
        "round_keys",
        "labelled_verdicts",
        "labelled_items",
        "labelled_turns",
    ),
    settings=("families", "seed"),
)
MEANINGS = {
    "source": "where the turns of known kind come from (human, planted, labelled, people)",
    "measure": (
        "sensitivity: genuine follow-ups called genuine; specificity: all others not called "
        "genuine; right side; right label; kappa (genuine or not)"
    ),
    "estimate": "the measure",
    "n_turns": "turns of that kind",
    "n_conversations": "conversations that they belong to",
}
SCHEMA: Schema = {
    "judge": pl.String,
    "source": pl.String,
    "by": pl.String,
    "group": pl.String,
    "measure": pl.String,
    "n_turns": pl.Int64,
    "n_scored": pl.Int64,
    "n_conversations": pl.Int64,
    "estimate": pl.Float64,
    "lower": pl.Float64,
    "upper": pl.Float64,
    "reason": pl.String,
}
# The columns of a turn of known kind: its source, its true label, and the judge's.
TURN: Schema = {
    "judge": pl.String,
    "source": pl.String,
    "cluster": pl.String,
    "truth": pl.String,
    "label": pl.String,
    "kind": pl.String,
    "length": pl.String,
    "language": pl.String,
    "temperature": pl.String,
}
BY = ("kind", "length", "language", "temperature")
NOT_SCORED = "the judge scored none of these turns"


def table(material: Material) -> pl.DataFrame:
    """Return the table of a study."""
    turns = pl.concat([_known_turns(material), _labelled_turns(material), _peoples_turns(material)])
    return judge_card(turns, material.seed)


def lengths(texts: pl.Expr) -> pl.Expr:
    """Return the length bins of texts."""
    n = texts.fill_null("").str.len_chars()
    long = pl.when(n <= 120).then(pl.lit("31 to 120 characters"))
    short = pl.when(n <= 30).then(pl.lit("up to 30 characters"))
    return short.otherwise(long.otherwise(pl.lit("over 120 characters")))


def turns_of(verdicts: pl.DataFrame, **columns: pl.Expr) -> pl.DataFrame:
    """Return verdicts as turns of known kind; columns that are not given are null."""
    own = {name: pl.col(name) for name in ("judge", "label")}
    nothing = {name: pl.lit(None) for name in TURN}
    found = nothing | own | columns
    return verdicts.select(found[name].cast(kind).alias(name) for name, kind in TURN.items())


def _known_turns(material: Material) -> pl.DataFrame:
    """Return human follow-ups and planted failures."""
    if not material.paths["control_verdicts"]:
        return pl.DataFrame(schema=TURN)
    control = pl.col("perturbation")
    return turns_of(
        control_verdicts(material),
        source=pl.when(control == HUMAN)
        .then(pl.lit(HUMAN))
        .when(control.is_in(list(HARD)))
        .then(pl.lit(PLANTED_HARD))
        .otherwise(pl.lit(PLANTED)),
        cluster=pl.col("conversation"),
        truth=control.replace_strict(LABELS, return_dtype=pl.String),
        kind=control,
        language=pl.col("language"),
    )


def _labelled_turns(material: Material) -> pl.DataFrame:
    """Return the project's own labelled turns."""
    if not material.paths["labelled_verdicts"]:
        return pl.DataFrame(schema=TURN)
    items = pl.read_parquet(material.paths["labelled_items"][0])
    said = pl.read_parquet(material.paths["labelled_turns"][0], columns=["item", "text"])
    return beside_labels(material.read("labelled_verdicts", list(VERDICTS_SCHEMA)), items, said)


def beside_labels(verdicts: pl.DataFrame, items: pl.DataFrame, said: pl.DataFrame) -> pl.DataFrame:
    """Return verdicts on the labelled turns with the turns' true labels.

    Args:
        verdicts: verdicts of any judges.
        items: `item`, `conversation`, `language` and `label` of each turn.
        said: `item` and `text` of each turn.
    """
    known = items.select("item", "conversation", "language", truth="label").join(said, on="item")
    return turns_of(
        verdicts.join(known, on="item", how="left", maintain_order="left"),
        source=pl.lit(LABELLED),
        cluster=pl.col("conversation"),
        truth=pl.col("truth"),
        kind=pl.col("truth"),
        length=lengths(pl.col("text")),
        language=pl.col("language"),
    )


def _peoples_turns(material: Material) -> pl.DataFrame:
    """Return the study's turns that people labelled, one row per turn and judge."""
    labelled, _ = material.labelled
    seen = labelled.filter(pl.col(PEOPLE_GENUINE).is_not_null())
    judges = [name for name in seen.columns if name.startswith("judge ")]
    own = pl.col(PEOPLE)
    agrees = (own == GENUINE) == (pl.col(PEOPLE_GENUINE) == GENUINE)
    truth = pl.when(agrees).then(own).otherwise(pl.col(PEOPLE_GENUINE))
    parts = [
        turns_of(
            seen,
            judge=pl.lit(name.removeprefix("judge ")),
            label=pl.col(name),
            source=pl.lit(PEOPLE),
            cluster=pl.concat_str("dataset", clusters(), separator="\n"),
            truth=truth,
            kind=truth,
            temperature=pl.col("temperature"),
        )
        for name in judges
    ]
    return pl.concat([pl.DataFrame(schema=TURN), *parts])


def judge_card(turns: pl.DataFrame, seed: int) -> pl.DataFrame:
    """Return the measures of each judge, by source, and within a source by kind of turn.

    Args:
        turns: columns of `TURN`, one row per turn and judge.
        seed: the study's seed, for the limits of kappa.
    """
    rows = []
    for (judge, source), part in _groups(turns, ["judge", "source"]):
        at = {"judge": judge, "source": source}
        rows += [at | row for row in _measures(part, {"by": ALL, "group": ALL})]
        rows.append(at | _kappa(part, generator(seed, "judge card", judge, source)))
        for by in BY:
            for (group,), some in _groups(part.filter(pl.col(by).is_not_null()), [by]):
                rows += [at | row for row in _measures(some, {"by": by, "group": group})]
    return pl.DataFrame(rows, schema=SCHEMA)


def _groups(turns: pl.DataFrame, by: list[str]) -> Iterator[tuple[tuple[str, ...], pl.DataFrame]]:
    parts = turns.partition_by(by, as_dict=True, maintain_order=True)
    for names in sorted(parts):
        yield tuple(map(str, names)), parts[names]


def _measures(turns: pl.DataFrame, of: dict[str, str]) -> Iterator[dict[str, object]]:
    """Yield the measures that can be computed on these turns."""
    is_genuine = pl.col("truth") == GENUINE
    right_side = (pl.col("label") == GENUINE) == is_genuine
    called = pl.when(pl.col("label").is_not_null()).then(right_side)
    labels = turns.filter(pl.col("truth") != NOT_GENUINE)
    for measure, part, right in (
        ("sensitivity", turns.filter(is_genuine), called),
        ("specificity", turns.filter(~is_genuine), called),
        ("right side", turns, called),
        ("right label", labels, pl.col("label") == pl.col("truth")),
    ):
        if part.height:
            seen = part.with_columns(right=right)
            interval, _ = rate_over(seen, ["cluster"], "right")
            n_scored = seen["right"].count()
            yield of | {
                "measure": measure,
                "n_turns": part.height,
                "n_scored": n_scored,
                "n_conversations": part["cluster"].n_unique(),
                **interval._asdict(),
                "reason": None if n_scored else NOT_SCORED,
            }


def _kappa(turns: pl.DataFrame, rng: np.random.Generator) -> dict[str, object]:
    """Return Cohen's kappa between a judge and the truth, genuine or not."""
    scored = turns.filter(pl.col("label").is_not_null())
    sides = scored.select((pl.col(name) != GENUINE).cast(pl.Int64) for name in ("truth", "label"))
    weights, clusters = np.ones(scored.height), scored["cluster"].to_numpy()
    ratings = Ratings(sides.to_numpy(), weights, clusters, 2)
    found = estimate_all(ratings, ["cohen_kappa"], rng)["cohen_kappa"]
    is_one_side = (turns["truth"] == GENUINE).n_unique() == 1
    one_side = "these turns are all of one side" if is_one_side else None
    return {
        "by": ALL,
        "group": ALL,
        "measure": "kappa",
        "n_turns": turns.height,
        "n_scored": scored.height,
        "n_conversations": turns["cluster"].n_unique(),
        **(found._asdict() if one_side is None else {"reason": one_side}),
    }


LAYOUT = Layout(
    "Judges: how far each can be believed",
    {"by": ALL},
    (
        *texts("judge", "source", "measure"),
        column("estimate", "share or kappa", "estimate", *INTERVAL, "measure"),
        column("of turns scored", "of", "n_scored", "n_turns"),
        column("conversations", "count", "n_conversations"),
        *texts("reason"),
    ),
)

"""Table `judge_card`: how accurate each judge is on turns whose kind is known.

There are five sources: human follow-ups, hard planted failures, the other planted failures, the
project's own labelled turns, and people's labels of the study's turns. A judge can be right about a
turn's side (genuine or not) or about its label, which is stricter; the measures say which. Of
planted failures each is the mean over their kinds, since a kind of which there are few, and which a
judge misses, would be hidden in a share of all of them.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from userturn.controls.control_turn import HARD, HUMAN, LABELS, NOT_GENUINE, PLANTED, PLANTED_HARD
from userturn.datasets.clusters import clusters
from userturn.humans.labels import PEOPLE
from userturn.humans.rater_pairs import PEOPLE_GENUINE
from userturn.judges.judge_cell import VERDICTS_SCHEMA
from userturn.judges.kinds import kind_of
from userturn.judges.verdict import GENUINE
from userturn.stats.agreement import Ratings
from userturn.stats.cluster_bootstrap import estimate_all
from userturn.stats.margins import Counts, combination, first_part, side_by_side
from userturn.stats.proportions import Interval
from userturn.stats.rng import generator
from userturn.storage.parquet import Schema
from userturn.study.cells import ALL
from userturn.study.inputs import LABELLED
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
    version=4,
)
MEANINGS = {
    "source": "where the turns of known kind come from (human, planted, labelled, people)",
    "measure": (
        "sensitivity: genuine follow-ups called genuine; specificity: all others not called "
        "genuine; right side; right label; kappa (genuine or not). Of planted failures the "
        "mean over their kinds"
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
# The columns of a turn of known kind: its source, its true label, the judge's, and its weight.
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
    "weight": pl.Float64,  # how many turns of the study it represents
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
    nothing = {name: pl.lit(None) for name in TURN} | {"weight": pl.lit(1.0)}
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
    """Return the project's own labelled turns, of judges whose rules were not written by them."""
    if not material.paths["labelled_verdicts"]:
        return pl.DataFrame(schema=TURN)
    items = pl.read_parquet(material.paths["labelled_items"][0])
    said = pl.read_parquet(material.paths["labelled_turns"][0], columns=["item", "text"])
    verdicts = material.read("labelled_verdicts", list(VERDICTS_SCHEMA))
    tuned = [n for n, entry in material.grid.judges.items() if kind_of(entry).SAW_LABELLED_TURNS]
    return beside_labels(verdicts.filter(~pl.col("judge").is_in(tuned)), items, said)


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
            weight=pl.col("weight"),
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
        rows += [at | row for row in measures(part, {"by": ALL, "group": ALL})]
        rows.append(at | _kappa(part, generator(seed, "judge card", judge, source)))
        for by in BY:
            for (group,), some in _groups(part.filter(pl.col(by).is_not_null()), [by]):
                of = {"by": by, "group": group}
                rows += [at | row for row in measures(some, of, part if by == "kind" else some)]
    return pl.DataFrame(rows, schema=SCHEMA)


def _groups(turns: pl.DataFrame, by: list[str]) -> Iterator[tuple[tuple[str, ...], pl.DataFrame]]:
    parts = turns.partition_by(by, as_dict=True, maintain_order=True)
    for names in sorted(parts):
        yield tuple(map(str, names)), parts[names]


def measures(
    turns: pl.DataFrame, of: dict[str, str], drawn: pl.DataFrame | None = None
) -> Iterator[dict[str, object]]:
    """Yield the measures that can be computed on these turns.

    Args:
        turns: the turns.
        of: what they are.
        drawn: the turns among which people's labels found them, if they are a kind of turn.
    """
    is_genuine, is_called = pl.col("truth") == GENUINE, pl.col("label") == GENUINE
    is_right = is_called == is_genuine
    labels = turns.filter(pl.col("truth") != NOT_GENUINE)
    among = turns if drawn is None else drawn
    for measure, part, right, side in (
        ("sensitivity", turns.filter(is_genuine), is_right, is_called),
        ("specificity", turns.filter(~is_genuine), is_right, ~is_called),
        ("right side", turns, is_right, None),
        ("right label", labels, pl.col("label") == pl.col("truth"), None),
    ):
        if part.height:
            n_scored = part["label"].count()
            if part["source"][0] in (PLANTED, PLANTED_HARD):
                found = _mean_over_kinds(part, right)
            else:
                found = _share(part, right) if side is None else _recalled(part, among, right, side)
            yield of | {
                "measure": measure,
                "n_turns": part.height,
                "n_scored": n_scored,
                "n_conversations": part["cluster"].n_unique(),
                **found._asdict(),
                "reason": None if n_scored else NOT_SCORED,
            }


def _columns(turns: pl.DataFrame, sides: Sequence[pl.Expr], positive: pl.Expr) -> Counts:
    """Return turns and positive turns of each conversation on some sides, by their weights."""
    w = pl.col("weight")
    sums = turns.group_by("cluster").agg(
        *(w.filter(side).sum().alias(f"turns {i}") for i, side in enumerate(sides)),
        *(w.filter(side & positive).sum().alias(f"some {i}") for i, side in enumerate(sides)),
    )
    sums = sums.sort("cluster")
    columns = [(sums[f"turns {i}"], sums[f"some {i}"]) for i in range(len(sides))]
    weights = [turns.filter(side)["weight"].to_numpy() for side in sides]
    least = [float((one**2).sum() / one.sum()) if len(one) else 1.0 for one in weights]  # Kish 1965
    return side_by_side(*columns)._replace(least=np.array(least))


def _share(turns: pl.DataFrame, right: pl.Expr) -> Interval:
    """Return the share of some turns that are right; the judge's two sides are drawn apart."""
    scored = turns.drop_nulls("label")
    if scored["weight"].n_unique() < 2:
        return rate_over(turns.with_columns(right=right), ["cluster"], "right")[0]
    called = pl.col("label") == GENUINE
    sides = [side for side in (called, ~called) if scored.filter(side).height]
    counts = _columns(scored, sides, right)
    sizes = counts.turns.sum(0)
    return combination(counts, sizes / sizes.sum())


def _mean_over_kinds(turns: pl.DataFrame, right: pl.Expr) -> Interval:
    """Return the mean over kinds of turns of the share of each that is right."""
    scored = turns.drop_nulls("label")
    kinds = scored["kind"].unique().sort().to_list()
    if not kinds:
        return Interval(None, None, None)
    counts = _columns(scored, [pl.col("kind") == kind for kind in kinds], right)
    return combination(counts, np.full(len(kinds), 1 / len(kinds)))


def _recalled(part: pl.DataFrame, among: pl.DataFrame, right: pl.Expr, side: pl.Expr) -> Interval:
    """Return the share of a kind of turns that the judge calls by its side.

    Of drawn turns, the judge's two sides were drawn apart, one much more densely. So the turns of
    the kind are estimated on either side, and the limits know that a side on which none was found
    may have some.

    Args:
        part: the turns of the kind.
        among: the turns among which they were found.
        right: whether the judge is right.
        side: whether the judge calls a turn by the side of the kind.
    """
    scored = among.drop_nulls("label")
    both = scored.filter(side).height and scored.filter(~side).height
    if scored["weight"].n_unique() < 2 or not both:
        return _share(part, right)
    kinds = pl.col("truth").is_in(part["truth"].unique().to_list())
    return first_part(_columns(scored, [side, ~side], kinds))


def _kappa(turns: pl.DataFrame, rng: np.random.Generator) -> dict[str, object]:
    """Return Cohen's kappa between a judge and the truth, genuine or not."""
    scored = turns.filter(pl.col("label").is_not_null())
    sides = scored.select((pl.col(name) != GENUINE).cast(pl.Int64) for name in ("truth", "label"))
    weights, clusters = scored["weight"].to_numpy(), scored["cluster"].to_numpy()
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

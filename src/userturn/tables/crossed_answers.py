"""Table `crossed_answers`: who spoke and who answered, told apart by crossing the two."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from userturn.datasets.turns import clusters
from userturn.sources.crossed_answers import REFERENCE, answerers, crossings, own_cells
from userturn.stats.margins import Counts, combination
from userturn.stats.proportions import Array
from userturn.storage.table_files import Schema
from userturn.study.cells import ALL
from userturn.study.grid import Grid
from userturn.tables.layout import GENUINE, INTERVAL, SCORED, Layout, column, texts
from userturn.tables.make_tables import Material
from userturn.tables.turn_rates import rate_over, sorted_groups
from userturn.workflow.registry import Table


class Effect(NamedTuple):
    """An effect on a rate, as coefficients of the rates of all pairs: speakers x answerers."""

    name: str  # speaker, answerer, interaction, or own answers
    speaker: str | None  # of the row, if it is of one
    answerer: str | None  # of the column, if it is of one
    coefficients: Array


def two_way_effects(speakers: Sequence[str], answerers: Sequence[str]) -> Iterator[Effect]:
    """Yield the effects of rates by speaker and answerer, as deviations that sum to zero.

    The effect of a speaker or answerer is the mean of its row or column minus the mean of all. An
    interaction is what the rate of a pair has beyond both (Scheffé 1959, The Analysis of Variance,
    section 4.1). A single row or column has no effect.
    """
    shape = len(speakers), len(answerers)
    rates = np.eye(shape[0] * shape[1]).reshape(*shape, *shape)  # each rate as coefficients
    mean, rows, columns = rates.mean((0, 1)), rates.mean(1), rates.mean(0)
    both = rates - rows[:, None] - columns[None, :] + mean
    if shape[0] > 1:
        for i, name in enumerate(speakers):
            yield Effect("speaker", name, None, rows[i] - mean)
    if shape[1] > 1:
        for j, name in enumerate(answerers):
            yield Effect("answerer", None, name, columns[j] - mean)
    if min(shape) > 1:
        for i, speaker in enumerate(speakers):
            for j, answerer in enumerate(answerers):
                yield Effect("interaction", speaker, answerer, both[i, j])
        own = [both[speakers.index(name), j] for j, name in enumerate(answerers)
               if name in speakers]  # fmt: skip
        if own:
            yield Effect("own answers", None, None, np.mean(own, axis=0))


TABLE = Table(
    rule="tabulate_crossed",
    place=205,
    row=(
        "a model after a model's answers (`pair`), or what the speaker, the answerer or both "
        "together change"
    ),
    made_of=("crossed_verdicts", "uncrossed_verdicts", "judges", "copies"),
    settings=("thresholds",),
    formats=(".parquet", ".csv", ".md"),
    needs="crossed_verdicts",
)
MEANINGS = {
    "dataset": "name of the dataset, or `all`",
    "effect": (
        "pair: the rate of a model after a model's answers; speaker: the mean rate of a model "
        "over all who answered, less that of all models; answerer: the mean rate of all models "
        "after a model's answers, less that after all; interaction: what a pair has beyond its "
        "speaker and its answerer; own answers: the mean interaction of models with themselves"
    ),
    "model": "who spoke: the model that wrote the user turns; null of an answerer's effect",
    "answers_from": (
        "who answered: a model, or `reference` for the dataset; null of a speaker's effect"
    ),
    "n_items": "items with a scored turn; of an effect, those with one in every pair",
    "estimate": "share of genuine turns, or a difference of such shares",
    "reason": "why there is no estimate",
}
GROUP_KEYS = ["dataset", "temperature", "judge"]
PAIR = ["model", "answers_from"]
SCHEMA: Schema = {
    "dataset": pl.String,
    "temperature": pl.Float64,
    **dict.fromkeys(("judge", "effect", "model", "answers_from"), pl.String),
    **dict.fromkeys(("n_items", "n_turns", "n_scored"), pl.Int64),
    **dict.fromkeys(("estimate", "lower", "upper"), pl.Float64),
    "reason": pl.String,
}
TURNS: Schema = {
    **{name: SCHEMA[name] for name in (*GROUP_KEYS, *PAIR)},
    "cluster": pl.String,
    "genuine": pl.Boolean,
}
NO_ITEM = "no item has a scored turn of every model after every other one's answer"


def table(material: Material) -> pl.DataFrame:
    """Return the table of a study."""
    grid = material.grid
    turns = pl.concat([pl.DataFrame(schema=TURNS), *_turns(grid, material.paths)])
    named = answerers(grid.config)
    columns = [name for name in named if name != REFERENCE] or named
    several = turns.with_columns(dataset=pl.lit(ALL)) if len(grid.datasets) > 1 else turns.clear()
    rows = [
        names | row
        for names, part in sorted_groups(pl.concat([turns, several]), GROUP_KEYS)
        for row in (*pairs(part), *effects(part, list(grid.models), sorted(columns)))
    ]
    return pl.DataFrame(rows, schema=SCHEMA)


def _turns(grid: Grid, paths: Mapping[str, Sequence[str]]) -> Iterator[pl.DataFrame]:
    """Yield the verdicts on the turns after each answerer's answers, including models' own."""
    of_judges = range(len(grid.judges))
    crossed = [at.answerer for at in crossings(grid) for _ in of_judges]
    own = [cell.model for cell in own_cells(grid) for _ in of_judges]
    columns = ["dataset", "temperature", "judge", "model", "item", "genuine"]
    for answerer, path in zip(
        [*crossed, *own], [*paths["crossed_verdicts"], *paths["uncrossed_verdicts"]], strict=True
    ):
        yield pl.read_parquet(path, columns=columns).select(
            *GROUP_KEYS,
            "model",
            answers_from=pl.lit(answerer),
            cluster=pl.concat_str("dataset", clusters(), separator="\n"),
            genuine="genuine",
        )


def pairs(turns: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield the rate of each model after each answerer's answers, over all its scored turns."""
    for pair, part in sorted_groups(turns, PAIR):
        scored = part.drop_nulls("genuine")
        yield {
            "effect": "pair",
            **pair,
            "n_items": scored["cluster"].n_unique(),
            "n_turns": part.height,
            "n_scored": scored.height,
            **rate_over(part, ["cluster"])[0]._asdict(),
            "reason": None if scored.height else "no turn has a verdict",
        }


def effects(
    turns: pl.DataFrame, speakers: Sequence[str], answering: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """Yield the effects of a two-way layout over the items that were scored in all of its pairs.

    Turns are of one judge. `answering` has the answerers after whose answers every speaker spoke.
    """
    counts, n_turns = _complete(turns, speakers, answering)
    for effect, model, answerer, coefficients in two_way_effects(speakers, answering):
        row = {"effect": effect, "model": model, "answers_from": answerer}
        if not len(counts.n):
            yield {**row, "n_items": 0, "reason": NO_ITEM}
            continue
        estimate = combination(counts, coefficients.ravel())
        n_scored = int(counts.turns.sum())
        n_items = len(counts.n)
        sizes = {"n_items": n_items, "n_turns": n_turns, "n_scored": n_scored}
        yield {**row, **sizes, **estimate._asdict()}


def _complete(
    turns: pl.DataFrame, speakers: Sequence[str], answering: Sequence[str]
) -> tuple[Counts, int]:
    """Return the turns of items that were scored in every pair, and the number of these turns."""
    pairs = [(speaker, answerer) for speaker in speakers for answerer in answering]
    block = pl.DataFrame(pairs, schema=PAIR, orient="row").with_row_index("pair")
    counted = (
        turns.join(block, on=PAIR)
        .group_by("cluster", "pair")
        .agg(n=pl.len(), m=pl.col("genuine").count(), y=pl.col("genuine").sum())
        .filter((pl.col("m") > 0) & (pl.col("m") > 0).sum().over("cluster").eq(len(pairs)))
        .sort("cluster", "pair")
    )
    shape = -1, len(pairs)
    m, y = (counted[name].cast(pl.Float64).to_numpy().reshape(shape) for name in ("m", "y"))
    return Counts(np.ones(len(m)), m, y), int(counted["n"].sum())


LAYOUT = (
    Layout(
        "Who speaks, and after whose answers",
        {"effect": "pair"},
        (
            *texts("dataset", "temperature", "judge"),
            column("speaker", "text", "model"),
            column("answers from", "text", "answers_from", printed=None),
            GENUINE._replace(printed="after answers of {}, %"),
            SCORED._replace(printed=None),
        ),
        spread=("answers_from",),
    ),
    Layout(
        "What the speaker changes, and what the answerer",
        {"effect": ("speaker", "answerer", "interaction", "own answers")},
        (
            *texts("dataset", "temperature", "judge", "effect"),
            column("speaker", "text", "model", text=pl.col("model").fill_null("")),
            column(
                "answers from", "text", "answers_from", text=pl.col("answers_from").fill_null("")
            ),
            column("change", "change", "estimate", *INTERVAL, printed="difference, points"),
            column("items", "count", "n_items"),
            *texts("reason"),
        ),
        about=(
            "A model's rate over all who answered beside those of the other models (speaker), the "
            "rate after a model's answers beside that after the others' (answerer), and what a "
            "pair has beyond both. Over the items that were scored in every pair."
        ),
    ),
)

"""Table `likelihood`: how likely models find reference follow-ups and their own turns."""

from collections.abc import Iterator
from typing import Any

import polars as pl

from userturn.generation.scores import turn_gains
from userturn.humans.labels import NO_LABELS, PEOPLE, PEOPLE_GENUINE
from userturn.judges.verdict import GENUINE
from userturn.sources.scores import HUMAN_TURNS, OWN_TURNS
from userturn.stats.discrimination import clustered_auc
from userturn.storage.table_files import CELL_KEYS, TURN_KEYS, Schema
from userturn.study.cells import ALL
from userturn.tables.added_columns import stacked
from userturn.tables.layout import INTERVAL, Layout, P, column, texts
from userturn.tables.likelihood_measures import (
    CHARACTER,
    IDENTIFIED,
    ending,
    identification,
    likelihood_contrasts,
    measures,
    pairs_of,
)
from userturn.tables.make_tables import Material
from userturn.tables.turn_rates import mean_over
from userturn.workflow.registry import Table

AREA = "area"
RATER_KEYS = ["rater", "model", "temperature"]
NOT_BOTH = "not both genuine and other turns among the scored ones"


def areas(gains: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
    """Return the area under the ROC curve of the gain, for each rater, model and temperature.

    The gain is in nats per character. Turns of all datasets and perturbations are pooled. `labels`
    has one row per turn and rater, null if unscored.
    """
    value = pl.col("gain_answer") / pl.col("n_characters")
    valued = gains.with_columns(value=value).drop_nulls("value")
    seen = valued.join(labels.drop_nulls("genuine"), on=TURN_KEYS).sort(*RATER_KEYS, *TURN_KEYS)
    rows = [_row(group) for group in seen.partition_by(RATER_KEYS, maintain_order=True)]
    if PEOPLE not in labels["rater"]:
        rows.append({"rater": PEOPLE, "measure": AREA, "reason": NO_LABELS})
    return pl.DataFrame(rows, infer_schema_length=None)


def _row(turns: pl.DataFrame) -> dict[str, Any]:
    area = clustered_auc(turns["value"], turns["genuine"], turns["conversation"].to_list())
    n_genuine = int(turns["genuine"].sum())
    return {
        **turns.select(RATER_KEYS).row(0, named=True),
        "measure": AREA,
        "unit": "share",
        "n_genuine": n_genuine,
        "n_not_genuine": turns.height - n_genuine,
        "n_conversations": turns["conversation"].n_unique(),
        **area._asdict(),
        "reason": NOT_BOTH if area.estimate is None else None,
    }


IDENTIFIED_ANSWER, GAIN = "identified_answer", "gain_answer"


def contingency(gains: pl.DataFrame, judged: pl.DataFrame) -> pl.DataFrame:
    """Return the gain and identification of each cell's turns, for all and by judges' verdicts."""
    everything = gains.with_columns(rater=pl.lit(ALL), turns=pl.lit(ALL))
    verdict = pl.when("genuine").then(pl.lit("genuine")).otherwise(pl.lit("not_genuine"))
    labelled = judged.drop_nulls("genuine").with_columns(turns=verdict).drop("genuine")
    together = pl.concat([everything, labelled.select(everything.columns)])
    groups = together.partition_by(*CELL_KEYS, "rater", "turns", maintain_order=True)
    rows = [row for group in groups for row in _rows(group)]
    order = [*CELL_KEYS, pl.col("rater") != ALL, "rater", "turns", "measure"]
    return pl.DataFrame(rows, infer_schema_length=None).sort(order)


def _rows(turns: pl.DataFrame) -> Iterator[dict[str, Any]]:
    seen = turns.with_columns(value=pl.col(GAIN) / pl.col("n_characters")).drop_nulls("value")
    row = {
        **turns.select(*CELL_KEYS, "rater", "turns").row(0, named=True),
        "n_turns": turns.height,
        "n_scored": seen.height,
        "n_conversations": seen["conversation"].n_unique(),
    }
    identified = identification(turns, IDENTIFIED_ANSWER, IDENTIFIED[IDENTIFIED_ANSWER])
    gain = mean_over(seen, "value")
    yield row | {"measure": IDENTIFIED_ANSWER, "unit": "share", **identified}
    yield row | {"measure": GAIN, "unit": CHARACTER, **gain._asdict()}


TABLE = Table(
    rule="tabulate_likelihood",
    place=130,
    row="a measure of reference follow-ups, of two models on them, or of a model's own turns",
    made_of=("scores", "user_turns", "verdicts", "annotations", "round_keys", "copies"),
    settings=("families", "bases", "trainings"),
    needs="scores",
    version=6,
)
REFERENCE = "reference follow-ups"
COMPARED = "two models on reference follow-ups"
OWN = "own turns"
TELLS = "own turns, whether the gain tells the genuine ones"
MEANINGS = {
    "part": f"what the row is of: {REFERENCE}; {COMPARED}; {OWN}; {TELLS}",
    "measure": (
        "identified: likelier after its own context than after every distractor; gain: log-"
        "likelihood after its own context less that after the distractors, or under the "
        "assistant's header (role); surprisal: minus the log-likelihood after its own context; "
        "ends_at_once: probability that the token which ends a user turn is its first; "
        "area: chance that a genuine turn has a larger gain, a character, than another turn"
    ),
    "rater": "judge, or people, by whose verdicts own turns are told apart; `all` is any verdict",
    "turns": "own turns of which verdict: genuine, not_genuine, all",
    "factor": "size, family, post-training or format",
    "condition": (
        "the larger model, the second family, the post-trained model, or a model in another format"
    ),
    "baseline": (
        "the next smaller model of the family, the first family, the base, or the default format"
    ),
    "n_turns": "turns; of two models, those that all models of both scored",
    "n_scored": "of which the measure is known",
    "n_conversations": "conversations that they belong to",
    "n_genuine": "turns with a gain that the rater calls genuine",
    "n_not_genuine": "those that it does not",
    "mean_baseline": "the measure at the baseline",
    "mean_condition": "the measure under the condition",
    "estimate": "the measure, a mean over turns; of two models the condition's less the baseline's",
    "reason": "why turns have no value, the most frequent reason; or why there is no estimate",
}
SCHEMA: Schema = {
    **dict.fromkeys(("part", "model", "dataset"), pl.String),
    "temperature": pl.Float64,
    **dict.fromkeys(("perturbation", "rater", "turns"), pl.String),
    **dict.fromkeys(("factor", "condition", "baseline", "measure", "unit"), pl.String),
    **dict.fromkeys(("n_turns", "n_scored", "n_conversations"), pl.Int64),
    **dict.fromkeys(("n_genuine", "n_not_genuine"), pl.Int64),
    **dict.fromkeys(("chance", "mean_baseline", "mean_condition"), pl.Float64),
    **dict.fromkeys(("estimate", "lower", "upper", "p", "p_adjusted"), pl.Float64),
    "reason": pl.String,
}


def table(material: Material) -> pl.DataFrame:
    """Return the table of a study."""
    reference, endings_of_reference = _gains_and_endings(material, HUMAN_TURNS)
    own, endings_of_own = _gains_and_endings(material, OWN_TURNS)
    rows = [row for turns in reference if turns.height for row in measures(turns)]
    parts = {REFERENCE: pl.DataFrame(rows, infer_schema_length=None)}
    if reference:
        parts[COMPARED] = likelihood_contrasts(pl.concat(reference), pairs_of(material.grid))
    parts[REFERENCE] = pl.concat([parts[REFERENCE], endings_of_reference], how="diagonal_relaxed")
    if own:
        gains = pl.concat(own)
        verdicts = material.read("verdicts", [*TURN_KEYS, "judge", "genuine"])
        verdicts = verdicts.rename({"judge": "rater"})
        parts[OWN] = contingency(gains, gains.join(verdicts, on=TURN_KEYS, how="left"))
        parts[OWN] = pl.concat([parts[OWN], endings_of_own], how="diagonal_relaxed")
        parts[TELLS] = areas(gains, pl.concat([verdicts, _peoples_verdicts(material)]))
    some = {name: part for name, part in parts.items() if part.height}
    return stacked(some, "part", SCHEMA)


def _gains_and_endings(material: Material, kind: str) -> tuple[list[pl.DataFrame], pl.DataFrame]:
    paths = [path for path in material.paths["scores"] if path.endswith(f"{kind}.parquet")]
    gains, endings = [], []
    for path in sorted(paths):  # one at a time, since each token has a score
        scores = pl.read_parquet(path)
        gains.append(turn_gains(scores))
        endings += [ending(scores)] if scores.height else []
    return gains, pl.DataFrame(endings, infer_schema_length=None)


def _peoples_verdicts(material: Material) -> pl.DataFrame:
    labelled, _ = material.labelled
    genuine = (pl.col(PEOPLE_GENUINE) == GENUINE).alias("genuine")
    told = labelled.drop_nulls(PEOPLE_GENUINE)
    return told.select(*TURN_KEYS, pl.lit(PEOPLE).alias("rater"), genuine)


ESTIMATE = column("estimate", "number", "estimate", *INTERVAL)
OF_TURNS = column("scored", "of", "n_scored", "n_turns")
LAYOUT = (
    Layout(
        "Reference follow-ups: how likely each model finds them",
        {"part": REFERENCE},
        (
            *texts("model", "dataset", "measure", "unit"),
            ESTIMATE,
            column("chance", "number", "chance"),
            OF_TURNS,
        ),
        about=(
            "The share identified comes first: no scale of the log-likelihood and no tail moves "
            "it. Gains are means over turns, each over its own length, so that a short follow-up "
            "counts as a long one; in nats a turn they are whole. Where a few follow-ups have "
            "most of the gain, limits of a mean may miss it (docs/methods.md)."
        ),
    ),
    Layout(
        "Reference follow-ups: models, sizes and families compared",
        {"part": COMPARED},
        (
            *texts("factor", "condition", "baseline", "dataset", "measure", "unit"),
            column("follow-ups", "count", "n_turns"),
            column("difference", "number", "estimate", *INTERVAL),
            *P,
        ),
        about=(
            "How models differ on the same reference follow-ups: each model and the next smaller "
            "one of its family, families, and post-trained models and their bases. A family's "
            "value is the mean over its models. Gains are in nats a character, which different "
            "tokenizers share. Intervals are 95% and keep turns of one conversation together; p "
            "is by flipping the signs of whole conversations (of gains no smaller than the "
            "mean's), adjusted by Holm over the tests of one factor, dataset and measure. Of a "
            "recipe that was trained several times both are of these trainings, too."
        ),
    ),
    Layout(
        "The models' own turns: how much they depend on the answer",
        {"part": OWN},
        (
            *texts("model", "dataset", "temperature", "perturbation", "rater", "turns", "measure"),
            ESTIMATE,
            column("chance", "number", "chance"),
            OF_TURNS,
        ),
        about=(
            "Gain in nats a character and identification of the models' own user turns over the "
            "model's answers to other items. A model's own sample is likelier after its own "
            "context by construction, so the rows of control perturbations and of turns that a "
            "judge calls not genuine are the null to compare with. Gains at different "
            "temperatures are not comparable: hotter turns are less likely after any context."
        ),
    ),
    Layout(
        "The models' own turns: does the gain tell the genuine ones?",
        {"part": TELLS},
        (
            *texts("rater", "model", "temperature"),
            column("area under the curve", "number", "estimate", *INTERVAL),
            column("genuine", "count", "n_genuine"),
            column("not genuine", "count", "n_not_genuine"),
            *texts("reason"),
        ),
        about=(
            "How well the gain of a model's own turn over its other answers, in nats a character, "
            "tells the turns that a judge, or the majority of people, calls genuine: the area "
            "under the ROC curve (one half is chance), with 95% intervals that keep turns of one "
            "item together. Turns of all datasets and perturbations are together."
        ),
    ),
)

"""Table `likelihood`: how likely models find reference follow-ups and their own turns."""

import polars as pl

from userturn.humans.labels import PEOPLE
from userturn.humans.rater_pairs import PEOPLE_GENUINE
from userturn.judges.verdict import GENUINE
from userturn.likelihood.gains import turn_gains
from userturn.sources.scores import HUMAN_TURNS, OWN_TURNS
from userturn.storage.key_columns import TURN_KEYS
from userturn.storage.parquet import Schema
from userturn.tables.contingency import contingency
from userturn.tables.gain_auc import areas
from userturn.tables.layout import INTERVAL, TEMPERATURE, Layout, P, column, texts
from userturn.tables.likelihood_contrasts import likelihood_contrasts, pairs_of
from userturn.tables.likelihood_measures import measures
from userturn.tables.make_tables import Material
from userturn.workflow.declarations import Table

TABLE = Table(
    rule="tabulate_likelihood",
    place=130,
    row="a measure of reference follow-ups, of two models on them, or of a model's own turns",
    made_of=("scores", "user_turns", "verdicts", "annotations", "round_keys"),
    settings=("families", "bases"),
    needs="scores",
    version=2,
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
        "area: chance that a genuine turn has a larger gain, a token, than another turn"
    ),
    "rater": "judge, or people, by whose verdicts own turns are told apart; `all` is any verdict",
    "turns": "own turns of which verdict: genuine, not_genuine, all",
    "factor": "size, family, post-training or format",
    "condition": "the larger model, the second family, or the post-trained model",
    "baseline": "the next smaller model of the family, the first family, or the base",
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
    reference, own = _gains(material, HUMAN_TURNS), _gains(material, OWN_TURNS)
    rows = [row for turns in reference if turns.height for row in measures(turns)]
    parts = {REFERENCE: pl.DataFrame(rows, infer_schema_length=None)}
    if reference:
        parts[COMPARED] = likelihood_contrasts(pl.concat(reference), pairs_of(material.grid))
    if own:
        gains = pl.concat(own)
        verdicts = material.read("verdicts", [*TURN_KEYS, "judge", "genuine"])
        verdicts = verdicts.rename({"judge": "rater"})
        parts[OWN] = contingency(gains, gains.join(verdicts, on=TURN_KEYS, how="left"))
        parts[TELLS] = areas(gains, pl.concat([verdicts, _by_people(material)]))
    named = [part.with_columns(part=pl.lit(name)) for name, part in parts.items() if part.height]
    whole = pl.concat([pl.DataFrame(schema=SCHEMA), *named], how="diagonal_relaxed")
    return whole.select(pl.col(name).cast(kind) for name, kind in SCHEMA.items())


def _gains(material: Material, kind: str) -> list[pl.DataFrame]:
    """Return the gains of a kind of turns, by model and dataset."""
    paths = [path for path in material.paths["scores"] if path.endswith(f"{kind}.parquet")]
    return [turn_gains(pl.read_parquet(path)) for path in sorted(paths)]


def _by_people(material: Material) -> pl.DataFrame:
    """Return the sides that people gave turns, as those of one more judge."""
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
            "is by flipping the signs of whole conversations, and adjusted by Holm over the tests "
            "of one factor, dataset and measure."
        ),
    ),
    Layout(
        "The models' own turns: how much they depend on the answer",
        {"part": OWN},
        (
            *texts("model", "dataset"),
            TEMPERATURE,
            *texts("perturbation", "rater", "turns", "measure"),
            ESTIMATE,
            column("chance", "number", "chance"),
            OF_TURNS,
        ),
        about=(
            "Gain in nats a token and identification of the models' own user turns over the "
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
            *texts("rater", "model"),
            TEMPERATURE,
            column("area under the curve", "number", "estimate", *INTERVAL),
            column("genuine", "count", "n_genuine"),
            column("not genuine", "count", "n_not_genuine"),
            *texts("reason"),
        ),
        about=(
            "How well the gain of a model's own turn over its other answers, in nats a token, "
            "tells the turns that a judge, or the majority of people, calls genuine: the area "
            "under the ROC curve (one half is chance), with 95% intervals that keep turns of one "
            "item together. Turns of all datasets and perturbations are together."
        ),
    ),
)

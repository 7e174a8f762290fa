"""Table `judges`: how far each judge can be believed, by turns of a known kind and by people."""

import polars as pl

from userturn.datasets.turns import clusters
from userturn.humans.labels import PEOPLE
from userturn.storage.table_files import TURN_KEYS, Schema
from userturn.study.cells import ALL
from userturn.tables.agreement import agreement
from userturn.tables.judge_card import CARD, CONTROLS, judge_card, missing_controls
from userturn.tables.known_turns import known_turns
from userturn.tables.layout import INTERVAL, Layout, column, reported, texts
from userturn.tables.make_tables import Material
from userturn.tables.turn_rates import rate_over
from userturn.workflow.registry import Table

EDITED, FLIPS = "edited", "flips"  # the source and the measure
NONE_ACCEPTED = "the judge called none of these turns genuine after its own answer"
NONE_SCORED = "the judge scored none of them after the edited answer"


def flip_rates(material: Material) -> pl.DataFrame:
    """Return the flip rate of each judge of a study, without rows if no answer was edited."""
    if not material.paths["edited_verdicts"]:
        return pl.DataFrame(schema=CARD)
    keys = [*TURN_KEYS, "judge", "genuine"]
    return flips(material.read("unedited_verdicts", keys), material.read("edited_verdicts", keys))


def flips(own: pl.DataFrame, edited: pl.DataFrame) -> pl.DataFrame:
    """Return the flip rate of each judge, as a row of its card.

    `own` has `genuine` after the turn's own answer, null if unscored. `edited` has some of these
    turns with `genuine` after the edited answer.
    """
    on = [*TURN_KEYS, "judge"]
    after = edited.with_columns(flipped=~pl.col("genuine")).drop("genuine")
    both = own.join(after, on=on, nulls_equal=True).with_columns(
        cluster=pl.concat_str("dataset", clusters(), separator="\n")
    )
    rows = []
    for (judge,), part in sorted(both.partition_by(["judge"], as_dict=True).items()):
        accepted = part.filter("genuine")
        n_scored = accepted["flipped"].count()
        flipped = rate_over(accepted, ["cluster"], "flipped")[0] if n_scored else None
        rows.append(
            {"judge": judge, "source": EDITED, "by": ALL, "group": ALL, "measure": FLIPS}
            | {"n_turns": accepted.height, "n_scored": n_scored}
            | {"n_conversations": accepted["cluster"].n_unique()}
            | (flipped._asdict() if flipped else {})
            | {"reason": None if flipped else NONE_SCORED if accepted.height else NONE_ACCEPTED}
        )
    return pl.DataFrame(rows, schema=CARD)


TABLE = Table(
    rule="measure_judges",
    place=120,
    row="a measure of a judge on turns of a known kind, or a coefficient of agreement of raters",
    made_of=(
        "control_verdicts",
        "injected_verdicts",
        "human_items",
        "user_turns",
        "verdicts",
        "annotations",
        "round_keys",
        "rubric",
        "labelled_verdicts",
        "labelled_items",
        "labelled_turns",
        "edited_verdicts",
        "unedited_verdicts",
        "copies",
    ),
    settings=("families", "seed"),
)
KNOWN = "known turns"
MEANINGS = {
    "part": (
        f"what the row is of: {KNOWN}; agreement of two raters: human-human, judge-human, "
        "judge-judge"
    ),
    "judge": "name of the judge; of two the first; null between people",
    "source": (
        "where the turns of known kind come from: human, planted (copies and fixed texts), "
        "planted_hard (like a follow-up), injected, labelled, edited (turns of the study, with "
        "what they take up exchanged in the answer), people; also of the kappa with people, which "
        "is part of a judge's card"
    ),
    "by": "what the turns are grouped by; `all` is all of them",
    "group": "the kind, length, language, temperature, dataset or family of the turns",
    "measure": (
        "sensitivity: genuine follow-ups called genuine; specificity: all others not called "
        "genuine; right side; right label; kappa (genuine or not); the same with `lenient` before "
        "it, if what is arguably genuine counts as genuine; flips: of turns called genuine, those "
        "that no longer are after the edited answer; of judges that give probabilities brier, the "
        "mean squared error of that of genuine_followup, and in bins of it (by `probability`) mean "
        "probability and share genuine. Of planted failures the mean over their kinds. Or a "
        "coefficient: raw, kappa (Cohen's), krippendorff_alpha, gwet_ac1"
    ),
    "estimate": "the measure",
    "n_turns": "turns of that kind; of two raters, turns that both labelled",
    "n_conversations": "conversations that they belong to",
}
SCHEMA: Schema = {
    **dict.fromkeys(("part", "judge", "source", "first", "second", "scale", "weights"), pl.String),
    **dict.fromkeys(("by", "group", "measure"), pl.String),
    **dict.fromkeys(("n_turns", "n_scored", "n_conversations"), pl.Int64),
    **dict.fromkeys(("estimate", "lower", "upper"), pl.Float64),
    "reason": pl.String,
}


def table(material: Material) -> pl.DataFrame:
    """Return the table of a study."""
    turns = known_turns(material)
    labels = list(material.rubric.labels)
    agreed = agreement(*material.labelled, labels, material.seed)
    return judges(turns, agreed, material.seed, flip_rates(material))


def judges(
    turns: pl.DataFrame, agreed: pl.DataFrame, seed: int, flipped: pl.DataFrame | None = None
) -> pl.DataFrame:
    """Return each judge's card and the agreement of raters as one table.

    `turns` are from `known_turns`, `agreed` from `agreement`, and `flipped` from `flip_rates`.
    """
    none = pl.DataFrame(missing_controls(turns), schema=CARD)
    with_judge = pl.col("part").is_in(["judge-human", "judge-judge"])
    by = pl.when(pl.col("group") == ALL).then(pl.lit(ALL)).otherwise(pl.lit("family"))
    kappa = pl.col("measure").replace("cohen_kappa", "kappa")
    raters = agreed.with_columns(
        judge=pl.when(with_judge).then("first"), by=by, measure=kappa, n_scored="n_turns"
    )
    of_card = {"second": PEOPLE, "scale": "genuine", "weights": "study", "measure": "kappa"}
    in_card = pl.all_horizontal(pl.col(n) == v for n, v in (of_card | {"by": ALL}).items())
    parts = [pl.DataFrame(schema=SCHEMA)]
    cards = [judge_card(turns, seed), none, *([] if flipped is None else [flipped])]
    parts += [part.with_columns(part=pl.lit(KNOWN)) for part in cards]
    parts.append(raters.with_columns(source=pl.when(in_card).then(pl.lit(PEOPLE))))
    whole = pl.concat(parts, how="diagonal_relaxed")
    return whole.select(pl.col(name).cast(kind) for name, kind in SCHEMA.items())


def cards(judges: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of the judges' cards: measures over all turns of a source."""
    return judges.filter(pl.col("source").is_not_null(), by=ALL)


def kinds_of_controls(judges: pl.DataFrame) -> pl.DataFrame:
    """Return the share of each kind of control that a judge puts on its side."""
    return judges.filter(pl.col("source").is_in(CONTROLS), by="kind", measure="right side")


OF = (column("of turns scored", "of", "n_scored", "n_turns"),)
LAYOUT = (
    Layout(
        "Judges: how far each can be believed",
        {"by": ALL, "source": (*CONTROLS, "labelled", EDITED, PEOPLE)},
        (
            *texts("judge", "source", "measure"),
            column("estimate", "share or kappa", "estimate", *INTERVAL, "measure"),
            *OF,
            column("conversations", "count", "n_conversations"),
            *texts("reason"),
        ),
    ),
    Layout(
        "Judges: turns of a known kind",
        {"by": "kind", "measure": "right side", "source": CONTROLS},
        reported(
            *texts("source"),
            column("control", "text", "group"),
            *texts("judge"),
            column("judged correctly", "share", "estimate", *INTERVAL),
            *OF,
            *texts("reason"),
        ),
        about=(
            "Human turns should be called genuine, planted failures should not. Most of them are "
            "easy to recognise; docs/controls.md tells them apart."
        ),
    ),
    Layout(
        "Judges: whether probabilities hold",
        {"by": "probability", "measure": ("mean probability", "share genuine")},
        reported(
            *texts("judge", "source"),
            column("probability", "text", "group"),
            *texts("measure"),
            column("value", "share", "estimate", *INTERVAL),
            *OF,
        ),
        about=(
            "Turns of a known kind by the probability that a judge gives to a genuine follow-up. "
            "Where it holds, the share that is genuine is near the mean probability."
        ),
    ),
    Layout(
        "Agreement of people and judges",
        {"by": ALL, "part": ("human-human", "judge-human", "judge-judge")},
        reported(
            column("raters", "text", "part"),
            *texts("first", "second", "scale", "weights"),
            column("coefficient", "text", "measure"),
            column("agreement", "number", "estimate", *INTERVAL),
            column("turns", "count", "n_turns"),
            *texts("reason"),
        ),
        about="Over all families; docs/annotation.md explains each coefficient.",
    ),
)

"""Table `contrasts`: a condition against its baseline, and families against each other."""

from collections.abc import Sequence
from types import MappingProxyType

import polars as pl

from userturn.config.families import Pair, Trainings, trainings
from userturn.config.trained_models import trained_on
from userturn.prompts.perturbations import controls_of
from userturn.storage.table_files import Schema
from userturn.study.cells import ALL, PLAIN
from userturn.study.grid import Grid
from userturn.tables.added_columns import FORMAT, SEEN, mark_seen
from userturn.tables.contrast_tests import (
    ADJUSTED_SCHEMA,
    BETWEEN_FAMILIES,
    FOLLOW_UP,
    OF_FAMILIES,
    adjusted,
    compare,
    compare_families,
    compared_members,
    interactions,
)
from userturn.tables.corrected_rates import (
    CORRECTED,
    add_corrected,
    corrected_change_columns,
    domains_of,
)
from userturn.tables.corrected_rates import MEANINGS as OF_CORRECTED
from userturn.tables.item_pairs import Cells, Pairs, cells_of, paired_items, pairs_with_base
from userturn.tables.layout import (
    IF_UNSCORED,
    INTERVAL,
    Layout,
    P,
    column,
    limited,
    printed_only,
    reported,
    texts,
)
from userturn.tables.make_tables import Material
from userturn.tables.parts_of_cells import LANGUAGE, TURN, language_contrasts, turn_contrasts
from userturn.tables.repeated_trainings import (
    IN_WORDS,
    ONE_TRAINING,
    WITH_SEEN,
    Seen,
    add_unseen_and_recipes,
    n_trainings,
)
from userturn.tables.turn_rates import count_answers
from userturn.workflow.registry import Table

TABLE = Table(
    rule="analyse",
    place=30,
    row="a condition against its baseline; or two families under both; or the reason for none",
    made_of=(
        "verdicts",
        "grades",
        "turn_languages",
        "conversation_verdicts",
        "families",
        "judges",
        "user_turns",
        "annotations",
        "round_keys",
        "copies",
    ),
    settings=("bases", "trainings", "controls", "exposure", "thresholds"),
    formats=(".parquet", ".csv", ".md", ".tex"),
    version=10,
)
MEANINGS = {
    "judge": "name of the judge, or `verifier` for accuracy",
    "measure": "follow-up or accuracy",
    "scope": (
        "model and dataset; model (over datasets, of a trained model those that it has not seen); "
        "model, with seen datasets; each of these with `one training`, where there are several; "
        "family (over its models and datasets); two families: the change of `family` less that of "
        "`other_family`"
    ),
    "other_family": "the family that `family` is compared with",
    "n_trainings": (
        "trainings, by the same recipe with other seeds, that a row of a post-trained model is "
        "over; with one, the limits and p are of items alone"
    ),
    "n_scored": "scored turns, or graded answers, under the condition",
    "n_scored_baseline": "the same under the baseline",
    "rate_baseline": (
        "rate under the baseline, over all its scored turns; of factor turn, of conversations "
        "that were scored at both turns"
    ),
    "rate_condition": "the same under the condition",
    "difference": "rate_condition less rate_baseline; of two families change less change_other",
    "n_items": "items that were scored under both, which the test is over",
    "reason": "why there is no contrast",
    "corrected": "difference of the two rates corrected by people's labels",
    **OF_CORRECTED,
}
SCHEMA: Schema = {
    **ADJUSTED_SCHEMA,
    **OF_FAMILIES,
    "method": pl.String,
    "n_trainings": pl.Int64,
    **SEEN,
    "reason": pl.String,
    **CORRECTED,
}
OF_TURNS = (  # rows that compare rates of genuine turns of cells, or of models
    (pl.col("measure") == FOLLOW_UP)
    & pl.col("factor").is_in(["perturbation", "temperature", "model", FORMAT])
    & pl.col("scope").str.strip_suffix(ONE_TRAINING).is_in(["model and dataset", "model"])
    & (pl.col("n_trainings").fill_null(1) == 1)
)
NO_BASE = "no model line of this study names its base"


def table(material: Material) -> pl.DataFrame:
    """Return the table of a study."""
    grid, members = material.grid, material.table("families")
    recipes, controls = trainings(grid.models, grid.entries), controls_of(grid.perturbations)
    seen = {name: trained_on(grid.entries, grid.contents.recipes, name) for name in grid.trained}
    compared, between_families = contrasts(
        material.items, recipes, controls, seen, compared_members(members)
    )
    of_models = pl.concat(
        [
            compared,
            accuracy_contrasts(material.grades, members, recipes, seen),
            language_contrasts(material),
            turn_contrasts(material),
        ]
    )
    parts = [pl.DataFrame(schema=SCHEMA), trained(of_models, members, grid), between_families]
    if not recipes:
        parts.append(pl.DataFrame({"factor": ["model"], "scope": ["model"], "reason": [NO_BASE]}))
    joined = pl.concat(parts, how="diagonal_relaxed").select(
        pl.col(name).cast(kind) for name, kind in SCHEMA.items() if name not in CORRECTED
    )
    return add_corrected(joined, domains_of(material), OF_TURNS, corrected_change_columns)


def contrasts(
    items: pl.DataFrame,
    trainings: Trainings,
    controls: Sequence[str],
    seen: Seen,
    members: pl.Expr,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return follow-ups' contrasts of conditions and trained models, and those of two families.

    `items` are counted by cell and judge (`turn_rates.count_items`). `members` says which families
    are compared (`compared_members`).
    """
    cells = cells_of(items)
    models = [pair for pairs in trainings.values() for pair in pairs]
    perturbed, warmer, others = paired_items(cells, items["temperature"].min(), models)
    rows = [row for pairs in (perturbed, warmer) for row in compare_families(pairs, members)]
    compared = compare([perturbed, warmer, *others])

    def pairs_of(some: Cells, pair: Pair) -> Pairs:
        return pairs_with_base(some, *pair)

    of_models = adjusted(
        add_unseen_and_recipes(compared, cells, pairs_of, trainings, seen), controls
    )
    return of_models, interactions(cells, rows, members, controls)


def graded_answers(grades: pl.DataFrame, families: pl.DataFrame) -> Cells:
    """Return the cells of graded answers as counted items, with the family of each model."""
    counted = count_answers(grades).join(families.select("model", "family"), on="model")
    return cells_of(counted)


def pairs_of_answers(answers: Cells, pair: Pair) -> Pairs:
    """Return the answers of a post-trained model paired with those of its base."""
    return pairs_with_base(answers, *pair, keys=["dataset"])


def accuracy_contrasts(
    grades: pl.DataFrame,
    families: pl.DataFrame,
    trainings: Trainings,
    seen: Seen = MappingProxyType({}),
) -> pl.DataFrame:
    """Return how the accuracy of each post-trained model differs from that of its bases."""
    answers = graded_answers(grades, families)
    models = [pair for pairs in trainings.values() for pair in pairs]
    compared = compare(pairs_of_answers(answers, pair) for pair in models)
    of_all = add_unseen_and_recipes(compared, answers, pairs_of_answers, trainings, seen)
    return adjusted(of_all, [])


def trained(table: pl.DataFrame, families: pl.DataFrame, grid: Grid) -> pl.DataFrame:
    """Return contrasts with how each post-trained model was trained, and what it has seen.

    A model trained from a trained one has rows against that model and against their common base.
    Rows over a family of trained models are left out.
    """
    is_trained = pl.col("factor") == "model"
    untrained = table.filter(~is_trained | (pl.col("scope") != "family"))
    methods = families.select("model", "method")
    told = untrained.join(methods, on="model", how="left", maintain_order="left")
    told = mark_seen(told, grid.entries, grid.contents.recipes, grid.datasets)
    told = told.with_columns(n_trainings(trainings(grid.models, grid.entries)))
    return told.with_columns(pl.when(is_trained).then(pl.col("method", "n_trainings", *SEEN)))


def _yes_or_no(column: str) -> pl.Expr:
    yes = pl.when(column).then(pl.lit("yes")).when(~pl.col(column)).then(pl.lit("no"))
    return yes.otherwise(pl.lit("not known"))


CHANGE = column("change", "change", "difference", *INTERVAL, printed="difference, points")
CORRECTED_CHANGE = limited("corrected by people", "change", "corrected")
ITEMS = column("items tested", "count", "n_items")
LAYOUT = (
    Layout(
        "Contrasts",
        {
            "measure": FOLLOW_UP,
            "scope": "model",
            "factor": ("perturbation", "temperature", "model", "format"),
            "correction": "Holm",
        },
        (
            *texts("factor", "condition", "baseline", "model", "judge"),
            column("baseline's rate", "share", "rate_baseline", printed=None),
            column("rate", "share", "rate_condition", printed=None),
            CHANGE,
            *reported(CORRECTED_CHANGE),
            IF_UNSCORED,
            ITEMS,
            *P,
            column(
                "detectable change, at Holm's first step",
                "change",
                "detectable_difference",
                printed="detectable, points",
            ),
        ),
    ),
    Layout(
        "Do families change alike?",
        {"scope": BETWEEN_FAMILIES, "dataset": ALL},
        (
            *texts("factor", "condition", "family", "other_family"),
            *reported(*texts("temperature", "perturbation")),
            *texts("judge"),
            *reported(
                column("its change", "change", "change"),
                column("the other's", "change", "change_other"),
            ),
            column(
                "difference",
                "change",
                "difference",
                *INTERVAL,
                printed="its change less the other's, points",
            ),
            ITEMS,
            *P,
            *reported(*texts("reason")),
        ),
        printed={"scope": BETWEEN_FAMILIES, "dataset": ALL, "correction": "Holm"},
        about=(
            "Whether a perturbation or a temperature changes one family's follow-ups more than "
            "another's: the difference of two changes, each a difference of two rates over all "
            "scored turns of the family's models."
        ),
    ),
    Layout(
        "What post-training changes",
        {"factor": "model", "scope": ("model", WITH_SEEN, "model and dataset")},
        (
            *texts("measure", "model", "baseline"),
            *reported(*texts("dataset")),
            *texts("judge", "temperature"),
            CHANGE,
            *reported(CORRECTED_CHANGE),
            ITEMS,
            column("trainings", "text", "n_trainings", text=IN_WORDS),
            P[0],
            *reported(P[1], *texts("reason")),
            printed_only("a dataset was seen", "text", text=_yes_or_no("seen")),
            printed_only("trained on the metric", "text", text=_yes_or_no("trains_on_the_metric")),
            printed_only("learns user turns", "text", text=_yes_or_no("learns_user_turns")),
        ),
        printed={"factor": "model", "scope": "model", "perturbation": PLAIN},
        about=(
            "A model against its base: follow-ups and accuracy, over the datasets that it has not "
            "seen in training. Over several trainings (`seeds`) limits and p are of the recipe; "
            "over one they are of its weights alone."
        ),
    ),
    Layout(
        "A later turn of conversations against the first",
        {"factor": TURN, "scope": "model and dataset"},
        reported(
            *texts("model", "dataset", "temperature", "perturbation", "judge"),
            column("turn", "text", "condition"),
            column("rate at the first", "share", "rate_baseline"),
            column("rate", "share", "rate_condition"),
            CHANGE,
            ITEMS._replace(heading="conversations of both"),
            *P,
        ),
        about=(
            "Of the conversations that were scored at both turns, since later turns are of fewer "
            "and other conversations."
        ),
    ),
    Layout(
        "The same problems across languages",
        {"factor": LANGUAGE, "scope": "model"},
        (
            *texts(
                "measure", "condition", "baseline", "model", "temperature", "perturbation", "judge"
            ),
            CHANGE,
            IF_UNSCORED,
            ITEMS._replace(heading="problems tested", printed=None),
            *P,
            *texts("correction", "reason"),
        ),
        about=(
            "The same problems in another language and in English. Contrasts of models without a "
            "perturbation at the lowest temperature are confirmatory (Holm), all others "
            "exploratory (Benjamini and Hochberg). A judge whose rules know only English has none."
        ),
    ),
)

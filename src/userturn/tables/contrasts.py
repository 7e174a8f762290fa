"""Table `contrasts`: a condition against its baseline, and families against each other."""

from collections.abc import Callable, Mapping, Sequence, Set
from types import MappingProxyType

import polars as pl

from userturn.config.families import baselines
from userturn.config.training_exposure import trained_on
from userturn.prompts.perturbations import controls_of
from userturn.storage.parquet import Schema
from userturn.study.cells import ALL, PLAIN
from userturn.study.grid import Grid
from userturn.tables.compared_conditions import ADJUSTED_SCHEMA, FOLLOW_UP, adjusted, compare
from userturn.tables.corrected_rates import CORRECTED, domains_of, of_contrast, with_corrected
from userturn.tables.corrected_rates import MEANINGS as OF_CORRECTED
from userturn.tables.exposure import HELD_OUT, SEEN, mark_seen
from userturn.tables.format_columns import FORMAT
from userturn.tables.interactions import BETWEEN_FAMILIES, OF_FAMILIES, interactions
from userturn.tables.item_counts import count_answers
from userturn.tables.item_pairs import paired_items, pairs
from userturn.tables.language_contrasts import FACTOR as LANGUAGE
from userturn.tables.language_contrasts import language_contrasts
from userturn.tables.layout import (
    IF_UNSCORED,
    INTERVAL,
    TEMPERATURE,
    Layout,
    P,
    column,
    printed_only,
    reported,
    texts,
)
from userturn.tables.make_tables import Material
from userturn.tables.turn_clusters import LIMITS
from userturn.tables.turn_contrasts import FACTOR as TURN
from userturn.tables.turn_contrasts import turn_contrasts
from userturn.workflow.declarations import Table

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
    settings=("bases", "controls", "exposure", "thresholds"),
    formats=(".parquet", ".csv", ".md", ".tex"),
    version=6,
)
MEANINGS = {
    "judge": "name of the judge, or `verifier` for accuracy",
    "measure": "follow-up or accuracy",
    "scope": (
        "model and dataset; model (over datasets, of a trained model those that it has not seen); "
        "model, with seen datasets; family (over its models and datasets); two "
        "families: the change of `family` less that of `other_family`"
    ),
    "other_family": "the family that `family` is compared with",
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
    **SEEN,
    "reason": pl.String,
    **CORRECTED,
}
OF_TURNS = (  # rows that compare rates of genuine turns of cells, or of models
    (pl.col("measure") == FOLLOW_UP)
    & pl.col("factor").is_in(["perturbation", "temperature", "model", FORMAT])
    & pl.col("scope").is_in(["model and dataset", "model"])
)
Seen = Mapping[str, Set[str]]  # by model, the datasets that it has seen
WITH_SEEN = "model, with seen datasets"
MODELS = 2  # the place of a model beside its base among the pairs of `paired_items`
NO_BASE = "no model line of this study names its base"


def table(material: Material) -> pl.DataFrame:
    """Return the table of a study."""
    grid, members = material.grid, material.table("families")
    bases, controls = baselines(grid.models, grid.entries), controls_of(grid.perturbations)
    seen = {name: trained_on(grid.entries, grid.contents.recipes, name) for name in grid.trained}
    of_models = pl.concat(
        [
            contrasts(material.items, bases, controls, seen),
            accuracy_contrasts(material.grades, members, bases, seen),
            language_contrasts(material),
            turn_contrasts(material),
        ]
    )
    parts = [pl.DataFrame(schema=SCHEMA), trained(of_models, members, grid)]
    parts.append(interactions(material.items, members, controls))
    if not bases:
        parts.append(pl.DataFrame({"factor": ["model"], "scope": ["model"], "reason": [NO_BASE]}))
    found = pl.concat(parts, how="diagonal_relaxed").select(
        pl.col(name).cast(kind) for name, kind in SCHEMA.items() if name not in CORRECTED
    )
    return with_corrected(found, domains_of(material), OF_TURNS, of_contrast)


def contrasts(
    items: pl.DataFrame,
    baselines: Sequence[tuple[str, str]],
    controls: Sequence[str],
    seen: Seen = MappingProxyType({}),
) -> pl.DataFrame:
    """Return every contrast of follow-ups, of `item_pairs.paired_items`.

    Args:
        items: one row per item of a cell and judge, with `family`.
        baselines: pairs of a post-trained model and one of its bases.
        controls: names of the perturbations that are controls.
        seen: the datasets that models have seen.
    """
    coolest = items["temperature"].min()
    found = compare(*paired_items(items, coolest, baselines))

    def pairs_of(some: pl.DataFrame, pair: tuple[str, str]) -> pl.DataFrame:
        return paired_items(some, coolest, [pair])[MODELS]

    return adjusted(with_held_out(found, items, pairs_of, baselines, seen), controls)


def with_held_out(
    found: pl.DataFrame,
    items: pl.DataFrame,
    pairs_of: Callable[[pl.DataFrame, tuple[str, str]], pl.DataFrame],
    baselines: Sequence[tuple[str, str]],
    seen: Seen,
) -> pl.DataFrame:
    """Return contrasts with those of models over the datasets that they have not seen.

    Such a row takes the place of the one over all datasets, which gets a scope of its own.

    Args:
        found: contrasts.
        items: the items that they are of.
        pairs_of: pairs the items of a model and of its base.
        baselines: pairs of a post-trained model and one of its bases.
        seen: the datasets that models have seen.
    """
    datasets = set(items["dataset"].cast(pl.String).unique())
    for name, base in baselines:
        if not (known := seen.get(name, set()) & datasets):
            continue
        is_model = (pl.col("factor") == "model") & (pl.col("scope") == "model")
        is_pair = is_model & (pl.col("condition") == name) & (pl.col("baseline") == base)
        scope = pl.when(is_pair).then(pl.lit(WITH_SEEN)).otherwise("scope").alias("scope")
        others = items.filter(~pl.col("dataset").cast(pl.String).is_in(list(known)))
        held_out = compare(pairs_of(others, (name, base))).filter(pl.col("scope") == "model")
        found = pl.concat(
            [found.with_columns(scope), held_out.with_columns(dataset=pl.lit(HELD_OUT))]
        )
    return found


def graded_answers(grades: pl.DataFrame, families: pl.DataFrame) -> pl.DataFrame:
    """Return the answers in the form of counted items, with the family of each model."""
    return count_answers(grades).join(families.select("model", "family"), on="model")


def beside_bases(items: pl.DataFrame, baselines: Sequence[tuple[str, str]]) -> list[pl.DataFrame]:
    """Pair the answers of each post-trained model with those of each of its bases."""
    both = pl.col("model")
    return [
        pairs(items.filter(both.is_in([name, base])), "model", base, ["dataset", "item"])
        for name, base in baselines
    ]


def accuracy_contrasts(
    grades: pl.DataFrame,
    families: pl.DataFrame,
    baselines: Sequence[tuple[str, str]],
    seen: Seen = MappingProxyType({}),
) -> pl.DataFrame:
    """Return how the accuracy of each post-trained model differs from that of its bases."""
    items = graded_answers(grades, families)

    def pairs_of(some: pl.DataFrame, pair: tuple[str, str]) -> pl.DataFrame:
        return beside_bases(some, [pair])[0]

    found = compare(*beside_bases(items, baselines))
    return adjusted(with_held_out(found, items, pairs_of, baselines, seen), [])


def trained(table: pl.DataFrame, families: pl.DataFrame, grid: Grid) -> pl.DataFrame:
    """Return contrasts with how each post-trained model was trained, and what it has seen.

    A model trained from a trained one has rows against that model and against their common base.
    """
    is_trained = pl.col("factor") == "model"
    kept = table.filter(~is_trained | (pl.col("scope") != "family"))
    methods = families.select("model", "method")
    told = kept.join(methods, on="model", how="left", maintain_order="left")
    told = mark_seen(told, grid.entries, grid.contents.recipes, grid.datasets)
    return told.with_columns(pl.when(is_trained).then(pl.col("method", *SEEN)))


def _yes_or_no(column: str) -> pl.Expr:
    yes = pl.when(column).then(pl.lit("yes")).when(~pl.col(column)).then(pl.lit("no"))
    return yes.otherwise(pl.lit("not known"))


CHANGE = column("change", "change", "difference", *INTERVAL, printed="difference, points")
CORRECTED_CHANGE = column("corrected by people", "change", *(f"corrected{end}" for end in LIMITS))
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
            *reported(TEMPERATURE, *texts("perturbation")),
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
            *texts("judge"),
            TEMPERATURE,
            CHANGE,
            *reported(CORRECTED_CHANGE),
            ITEMS,
            P[0],
            *reported(P[1], *texts("reason")),
            printed_only("a dataset was seen", "text", text=_yes_or_no("seen")),
            printed_only("trained on the metric", "text", text=_yes_or_no("trains_on_the_metric")),
            printed_only("learns user turns", "text", text=_yes_or_no("learns_user_turns")),
        ),
        printed={"factor": "model", "scope": "model", "perturbation": PLAIN},
        about=(
            "A model against its base: follow-ups and accuracy, over the datasets that it has not "
            "seen in training."
        ),
    ),
    Layout(
        "A later turn of conversations against the first",
        {"factor": TURN, "scope": "model and dataset"},
        reported(
            *texts("model", "dataset"),
            TEMPERATURE,
            *texts("perturbation", "judge"),
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
            *texts("measure", "condition", "baseline", "model"),
            TEMPERATURE,
            *texts("perturbation", "judge"),
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

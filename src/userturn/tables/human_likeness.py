"""Table `human_likeness`: how often people take a model's turn for the one that a person wrote."""

from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from userturn.humans.blinding import stop_tokens
from userturn.humans.import_labels import PAIR_LABELS_SCHEMA
from userturn.humans.labels import NO_LABELS
from userturn.humans.pairs import (
    CUT,
    FAILED,
    FIRST,
    PAIR_KEY_SCHEMA,
    SAME,
    SIDES,
    TURNS_SCHEMA,
    paired_turns,
    people_turns,
)
from userturn.stats.agreement import estimate_all
from userturn.stats.rng import generator
from userturn.stats.significance import sign_flip_p
from userturn.storage.table_files import TURN_KEYS, Schema, read_tables
from userturn.study.cells import ALL
from userturn.tables.added_columns import add_holm
from userturn.tables.agreement import ratings
from userturn.tables.layout import INTERVAL, Layout, P, column, texts
from userturn.tables.make_tables import Material
from userturn.tables.turn_rates import rate_over
from userturn.workflow.registry import Table

TABLE = Table(
    rule="tabulate_pairs",
    place=210,
    row=(
        "a cell, model and temperature, model, or all, whose `annotator` is `all`; and each "
        "annotator of several"
    ),
    made_of=(
        "paired_turns",
        "paired_items",
        "described_models",
        "pair_labels",
        "pair_keys",
        "copies",
    ),
    settings=("seed",),
    needs="pair_keys",
    version=2,
)
MEANINGS = {
    "scope": (
        "cell; model and temperature, over datasets; model, over these and temperatures; study; "
        "annotator, of the study's labels"
    ),
    "annotator": "name of the annotator; `all` is all of them",
    "n_turns": "the model's turns after an answer to which a person replied",
    "n_failed": "turns that are empty or failed, and in no pair",
    "n_pairs": "pairs that were drawn, and whose turn the study still has",
    "n_labelled": "pairs that somebody labelled",
    "estimate": "n_chosen / n_labels; 0.5 if the two cannot be told apart",
    "p": (
        "exact p that the model's turn is taken for the person's as often as not, by flipping the "
        "signs of pairs"
    ),
    "p_adjusted": "p adjusted over the rows of a scope, by Holm",
}
NO_PAIR = "no pair of it was drawn; name a new round in humans.pairs"
NOTHING_LEFT = "all of its turns failed, were cut, or say the same as the person"
SCOPES = {  # what a row is over, by the columns that it keeps
    "cell": ["model", "dataset", "temperature"],
    "model and temperature": ["model", "temperature"],
    "model": ["model"],
    "study": [],
}
COUNTS = ("n_turns", *(f"n_{why}" for why in (FAILED, CUT, SAME)), "n_pairs")
LABELLED = ("n_labelled", "n_labels", "n_unsure", "n_first", "n_chosen")
AGREEMENT = ("agreement", "agreement_lower", "agreement_upper")
SCHEMA: Schema = {
    **dict.fromkeys(("scope", "model", "dataset"), pl.String),
    "temperature": pl.Float64,
    "annotator": pl.String,
    **dict.fromkeys((*COUNTS, *LABELLED), pl.Int64),
    **dict.fromkeys(("estimate", *INTERVAL), pl.Float64),
    "interval": pl.String,
    **dict.fromkeys(("p", "p_adjusted", *AGREEMENT), pl.Float64),
    "reason": pl.String,
}


def table(material: Material) -> pl.DataFrame:
    """Return the table of a study."""
    paths = material.paths
    turns = read_tables(paths["paired_turns"], TURNS_SCHEMA)
    people = people_turns(paths["paired_items"])
    paired = paired_turns(turns, people, stop_tokens(paths["described_models"]))
    keys = read_tables(paths["pair_keys"], PAIR_KEY_SCHEMA)
    labels = read_tables(paths["pair_labels"], PAIR_LABELS_SCHEMA)
    return human_likeness(paired, keys, labels, material.seed)


def human_likeness(
    paired: pl.DataFrame, keys: pl.DataFrame, labels: pl.DataFrame, seed: int
) -> pl.DataFrame:
    """Return a row per cell, model and temperature, and model, of all, and by annotator of several.

    `paired` is the result of `paired_turns`, for all cells. Pairs whose turn the study no longer
    has are left out.
    """
    labelled_pairs = keys.join(paired, on=[*TURN_KEYS, "key"], how="semi")
    labels = labels.join(labelled_pairs, on="id", how="semi").sort("id", "annotator")
    rows = []
    for scope, by in SCOPES.items():
        turns, pairs, labels_of = (_parts(table, by) for table in (paired, labelled_pairs, labels))
        for names, part in sorted(turns.items()):
            names_of_row = {"scope": scope, "model": ALL, "dataset": ALL, "annotator": ALL}
            names_of_row |= dict(zip(by, names, strict=True))
            own_pairs = pairs.get(names, keys.clear())
            of_part = labels_of.get(names, labels.clear())
            counts = {
                "n_turns": part.height,
                **{f"n_{w}": int((part["left_out"] == w).sum()) for w in (FAILED, CUT, SAME)},
                "n_pairs": own_pairs.height,
            }
            measures = _measures(of_part, seed, *names)
            rows.append(
                names_of_row | counts | measures | {"reason": _reason(part, own_pairs, of_part)}
            )
            if scope == "study":
                rows += [names_of_row | counts | row for row in _annotator_rows(of_part, seed)]
    return add_holm(pl.DataFrame(rows, schema=SCHEMA, infer_schema_length=None), "scope")


def _parts(table: pl.DataFrame, by: Sequence[str]) -> dict[tuple[Any, ...], pl.DataFrame]:
    return table.partition_by(by, as_dict=True) if by else {(): table}


def _reason(turns: pl.DataFrame, pairs: pl.DataFrame, labels: pl.DataFrame) -> str | None:
    if labels.height:
        return None
    if pairs.height:
        return NO_LABELS
    return NO_PAIR if turns["left_out"].null_count() else NOTHING_LEFT


def _annotator_rows(labels: pl.DataFrame, seed: int) -> Iterator[dict[str, Any]]:
    of_people = labels.partition_by("annotator", as_dict=True)
    for (name,), own in sorted(of_people.items()) if len(of_people) > 1 else []:
        yield {"scope": "annotator", "annotator": name, **_measures(own, seed, name)}


def _measures(labels: pl.DataFrame, seed: int, *names: object) -> dict[str, Any]:
    """Return the share of labels that take the model's turn for the person's, and agreement.

    Labels of one pair are not independent, since its annotators saw the same turns in one order.
    """
    limits, method = rate_over(labels, ["conversation"], "model_chosen")
    return {
        "n_labelled": labels["id"].n_unique(),
        "n_labels": labels.height,
        "n_unsure": labels["unsure"].sum(),
        "n_first": (labels["label"] == FIRST).sum(),
        "n_chosen": labels["model_chosen"].sum(),
        **limits._asdict(),
        "interval": method if labels.height else None,
        "p": _p(labels) if labels.height else None,
        **dict(zip(AGREEMENT, _agreement(labels, seed, *names), strict=True)),
    }


def _p(labels: pl.DataFrame) -> float:
    excess = pl.col("model_chosen").cast(pl.Float64) - 0.5
    of_pairs = labels.group_by("conversation").agg(excess=excess.sum())
    counts = of_pairs.group_by("excess").agg(n=pl.len().cast(pl.Float64)).sort("excess")
    return sign_flip_p(counts["excess"].to_numpy(), counts["n"].to_numpy())


def _agreement(labels: pl.DataFrame, seed: int, *names: object) -> list[float | None]:
    raters = sorted(labels["annotator"].unique())
    if len(raters) < 2:
        return [None, None, None]
    wide = labels.pivot("annotator", index=["dataset", "item", "id"], values="label")
    codes = ratings(wide.sort("id").with_columns(weight=pl.lit(1.0)), raters, SIDES)
    random = generator(seed, "agreement on pairs", *names)
    return list(estimate_all(codes, ["raw"], random)["raw"][:3])


LAYOUT = Layout(
    "Model's turns that people take for a person's",
    {"annotator": ALL},
    (
        *texts("scope", "model", "dataset", "temperature"),
        column("taken for the person's", "share", "estimate", *INTERVAL),
        column("labels", "of", "n_chosen", "n_labels"),
        column("pairs labelled", "of", "n_labelled", "n_pairs"),
        column("not sure", "of", "n_unsure", "n_labels"),
        column("annotators agree", "share", *AGREEMENT),
        *P,
        column("turns cut", "of", "n_cut", "n_turns"),
        *texts("reason"),
    ),
)

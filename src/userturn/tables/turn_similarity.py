"""Table `turn_similarity`: how near turns are to what people said, by an embedder and by chrF.

For each turn it has how near the turn is to what a person said at the same place, and to what
another person said elsewhere.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from userturn.controls.control_turn import HUMAN
from userturn.controls.swapped_answers import donors, random_order
from userturn.datasets.messages import answer_to
from userturn.datasets.turns import clusters
from userturn.models.embedder import embedded
from userturn.stats.clustered_measures import clustered_mean
from userturn.stats.rng import generator
from userturn.storage.table_files import (
    CELL_COLUMNS,
    CELL_KEYS,
    TURN_COLUMNS,
    TURN_KEYS,
    Schema,
    write_table,
)
from userturn.tables.layout import Layout, column, limited, texts
from userturn.tables.make_tables import Material
from userturn.tables.repeated_texts import STRIPPED
from userturn.tables.turn_rates import LIMITS, limits_of
from userturn.workflow.registry import Table

TABLE = Table(
    rule="tabulate_similarity",
    place=116,
    row="a cell of a study with an `embedder`",
    made_of=("turn_similarities", "turn_properties", "copies"),
    needs="turn_similarities",
)
PEOPLES = ["item", "messages", "reference_context", "reference_user_turn"]
BY_CHRF = ("chrf", "chrf_unrelated", "chrf_above")
BY_EMBEDDER = ("similarity", "similarity_unrelated", "similarity_above")
OF_CHRF = {
    "n_compared": "turns with text where a person's turn after the item is known, and another's",
    "chrf": "chrF of a turn against that person's, 0 to 100, the mean over these turns",
    "chrf_unrelated": "the same against a person's turn in another conversation of the dataset",
    "chrf_above": "the first less the second, a mean over the same turns",
}
MEANINGS = {
    **OF_CHRF,
    "similarity": "cosine of the embedder's vectors of a turn and of that person's, a mean",
    "similarity_unrelated": "the same against a person's turn in another conversation",
    "similarity_above": "the first less the second, a mean over the same turns",
    "reason": "why a cell has none",
}
LIMITS_OF_CHRF: Schema = {f"{name}{end}": pl.Float64 for name in BY_CHRF for end in LIMITS}
SCHEMA: Schema = {
    **CELL_COLUMNS,
    "n_compared": pl.Int64,
    **{f"{name}{end}": pl.Float64 for name in BY_EMBEDDER for end in LIMITS},
    **LIMITS_OF_CHRF,
    "reason": pl.String,
}
SIMILARITIES: Schema = {
    **TURN_COLUMNS,
    "unrelated_item": pl.String,
    "similarity": pl.Float64,
    "similarity_unrelated": pl.Float64,
}
DIGITS_OF_COSINE = 6  # after the point of a cosine; further ones depend on the machine
NOBODY = "no turn with text after an item where two people's turns are known"
LONGEST = 6  # characters of an n-gram
BETA = 2  # times that recall counts as much as precision


def _counts(text: str, n: int) -> Counter[str]:
    return Counter(text[i : i + n] for i in range(len(text) - n + 1))


def chrf(text: str, reference: str) -> float:
    """Return chrF of a text against a reference, 0 to 100 (Popović 2015, W15-3049).

    It is the F-score with double weight on recall, from the mean precision and the mean recall of
    character n-grams of 1 to 6, for the lengths that both texts have. White space does not count.
    """
    one, other = ("".join(string.split()) for string in (text, reference))
    lengths = range(1, min(LONGEST, len(one), len(other)) + 1)
    shared = [(_counts(one, n) & _counts(other, n)).total() for n in lengths]
    if not any(shared):
        return 0.0
    precision, recall = (
        sum(matches / (len(string) - n + 1) for matches, n in zip(shared, lengths, strict=True))
        / len(lengths)
        for string in (one, other)
    )
    return 100 * (1 + BETA**2) * precision * recall / (BETA**2 * precision + recall)


class People(NamedTuple):
    """What people wrote after an item: the turn there, and one in another conversation."""

    there: str
    elsewhere: str
    other_item: str = ""


def people_of(items: pl.DataFrame, dataset: str, seed: int) -> dict[str, People]:
    """Return people's turns after each item, where that and another person's turn are known.

    The other turn is that of the next item in a random order whose conversation and turn differ, as
    answers are exchanged for the chance floor. Items have the columns `PEOPLES`.
    """
    turns = {
        item: text.strip()
        for item, messages, context, text in items.select(PEOPLES).iter_rows()
        if text and text.strip() and answer_to(messages, context) is not None
    }
    order = random_order(list(turns), generator(seed, "an unrelated person's turn", dataset))
    others = donors(turns, order)
    return {item: People(turns[item], turns[other], other) for item, other in others.items()}


def chrf_to_people(turns: pl.DataFrame, people: Mapping[str, People]) -> dict[str, Any]:
    """Return the columns `n_compared` and those of chrF for the turns of a cell."""
    rows = [
        (cluster, chrf(text, people[item].there), chrf(text, people[item].elsewhere))
        for item, cluster, text in turns.select("item", "cluster", "said").iter_rows()
        if text and item in people
    ]
    return {"n_compared": len(rows), **above_unrelated("chrf", rows)}


def above_unrelated(measure: str, rows: Sequence[tuple[str, float, float]]) -> dict[str, Any]:
    """Return the means of a measure, of its baseline and of their difference, with limits.

    Each row has a turn's cluster, its similarity to the person's turn, and that to an unrelated
    one.
    """
    clusters, there, elsewhere = zip(*rows, strict=True) if rows else ((), (), ())
    above = [one - other for one, other in zip(there, elsewhere, strict=True)]
    means = {measure: there, f"{measure}_unrelated": elsewhere, f"{measure}_above": above}
    limits: dict[str, Any] = {}
    for name, values in means.items():
        limits |= limits_of(name, clustered_mean(values, clusters))
    return limits


def embed_turns(
    dataset: str,
    identity: str,
    seed: int,
    embedder: Mapping[str, str],
    paths_to_user_turns: Sequence[str],
    path_to_items: str,
    path_to_similarities: str,
) -> None:
    """Write how near each turn of a model on a dataset is to people's turns, by an embedder."""
    people = people_of(pl.read_parquet(path_to_items, columns=PEOPLES), dataset, seed)
    columns = [*TURN_KEYS, "outcome", "text"]
    turns = pl.concat([pl.read_parquet(path, columns=columns) for path in paths_to_user_turns])
    texts = turns.select(*TURN_KEYS, STRIPPED).filter(pl.col("said") != "").sort(TURN_KEYS)
    compared = texts.filter(pl.col("item").is_in(list(people)))
    rows = _similarities(compared, people, embedder) if compared.height else ()
    similarities = pl.DataFrame(rows, schema=SIMILARITIES, orient="row")
    write_table(similarities, path_to_similarities, identity)


def _similarities(
    turns: pl.DataFrame, people: Mapping[str, People], embedder: Mapping[str, str]
) -> Iterator[tuple[Any, ...]]:
    of_people = [text for item in turns["item"].unique() for text in people[item][:2]]
    texts = sorted({*turns["said"], *of_people})
    vectors = embedded(texts, embedder["source"], embedder.get("revision"))
    vector_of = dict(zip(texts, vectors, strict=True))
    for *keys, turn in turns.iter_rows():
        there, elsewhere, other_item = people[keys[TURN_KEYS.index("item")]]
        cosines = (float(vector_of[turn] @ vector_of[text]) for text in (there, elsewhere))
        yield (*keys, other_item, *(round(cosine, DIGITS_OF_COSINE) for cosine in cosines))


def table(material: Material) -> pl.DataFrame:
    """Return the table of a study."""
    cells = material.table("turn_properties").filter(pl.col("model") != HUMAN)
    turns = material.read("turn_similarities").with_columns(clusters().alias("cluster"))
    of_cells = turns.partition_by(CELL_KEYS, as_dict=True)
    nothing = turns.clear()
    rows = [
        {**cell, **_similar(of_cells.get(tuple(cell[name] for name in CELL_KEYS), nothing))}
        for cell in cells.select(*CELL_KEYS, *LIMITS_OF_CHRF).iter_rows(named=True)
    ]
    joined = pl.DataFrame(rows, schema=SCHEMA, infer_schema_length=None)
    return joined.sort(*CELL_KEYS, nulls_last=True)


def _similar(turns: pl.DataFrame) -> dict[str, Any]:
    rows = turns.select("cluster", "similarity", "similarity_unrelated").rows()
    means = above_unrelated("similarity", rows)
    return {**means, "n_compared": len(rows), "reason": None if rows else NOBODY}


LAYOUT = Layout(
    "How near turns are to what people said",
    {},
    (
        *texts("model", "dataset", "temperature", "perturbation"),
        column("turns compared", "count", "n_compared"),
        limited("similarity to the person's turn", "number", "similarity"),
        limited("to an unrelated person's", "number", "similarity_unrelated"),
        limited("above that", "number", "similarity_above"),
        limited("chrF to the person's turn", "number", "chrf"),
        limited("chrF above an unrelated person's", "number", "chrf_above"),
        *texts("reason"),
    ),
)

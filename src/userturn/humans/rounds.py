"""Annotation rounds: the turns of a round, what annotators see of them, and the key.

A round is drawn once and never changes. New cells go into a new round, which draws the next turns
after those of earlier rounds. So each stratum is always drawn from its beginning. If all rounds
together have k of its N turns, each turn has the probability k / N.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from userturn.humans.blinding import neutral, stop_tokens
from userturn.humans.sample import allocation_name, keyed_hashes, mark_drawn, shared_out
from userturn.judges.verdict import GENUINE
from userturn.logs import say
from userturn.stats.proportions import labels_to_reach
from userturn.storage.files import written_whole
from userturn.storage.hashing import fingerprint
from userturn.storage.table_files import STRATUM_KEYS, TURN_KEYS, Schema, read_tables, write_table
from userturn.wording import number_of
from userturn.workflow.humans import HumanGrid, RoundGrid


class NewRound(NamedTuple):
    """A newly drawn round: its key, what annotators see, and metadata of both."""

    key: pl.DataFrame
    items: pl.DataFrame
    noted: Mapping[str, str]


def draw_once(
    rounds: RoundGrid,
    round_name: str,
    draw: Callable[[], NewRound],
    path_to_key: str,
    path_to_items: str,
) -> None:
    """Write a round's key and, in another file, what annotators see, drawn now or earlier.

    A round is drawn once, whatever is added to the grid later. A round without any turn is not
    kept.
    """
    folder = rounds.round_folder(round_name)
    if not rounds.is_drawn(round_name):
        key, items, noted = draw()
        identity = fingerprint([round_name, key["id"].to_list()])
        if key.is_empty():  # not kept, so that it is drawn when there are turns
            write_table(items, path_to_items, identity, **noted)
            write_table(key, path_to_key, identity, **noted)
            return
        write_table(items, folder / "items.parquet", identity, **noted)
        write_table(key, folder / "key.parquet", identity, **noted)
    for name, path in (("key.parquet", path_to_key), ("items.parquet", path_to_items)):
        with written_whole(path) as temporary:
            temporary.write_bytes((folder / name).read_bytes())


ASKED_FIRST = "asked_first"  # metadata key: how many turns come first, since they are needed most
OPAQUE_ID_LENGTH = 16  # hexadecimal digits of an opaque id
KEY_SCHEMA: Schema = {
    "round": pl.String,
    "id": pl.String,
    "model": pl.String,
    "family": pl.String,
    "dataset": pl.String,
    "temperature": pl.Float64,
    "perturbation": pl.String,
    "item": pl.String,
    "sample": pl.Int64,
    "key": pl.String,
    "judge": pl.String,
    "stratum": pl.String,
    "rank": pl.Int64,
    "stratum_size": pl.Int64,
    "n_drawn": pl.Int64,
    "inclusion_probability": pl.Float64,
}
SAMPLE_SCHEMA: Schema = {
    **{name: KEY_SCHEMA[name] for name in (*TURN_KEYS, "key", "stratum", "rank", "stratum_size")},
    **{name: KEY_SCHEMA[name] for name in ("n_drawn", "inclusion_probability")},
    "is_drawn": pl.Boolean,
}
TURNS_SCHEMA: Schema = {
    **{name: KEY_SCHEMA[name] for name in (*TURN_KEYS, "key")},
    "answer": pl.String,
    "text": pl.String,
}
NO_LABELLED = pl.DataFrame(schema={"stratum": pl.String, "genuine": pl.Float64})
ITEMS_SCHEMA: Schema = {
    "id": pl.String,
    "conversation": pl.List(pl.Struct({"role": pl.String, "text": pl.String})),
    "turn": pl.String,
}


def topped_up(strata: pl.DataFrame, minimum: int, seed: int) -> pl.DataFrame:
    """Return strata with a larger `n_drawn`, so that each model family has its minimum.

    The least drawn strata are raised first, one turn at a time, and equally drawn ones in the order
    of a keyed hash. Only sizes decide, not the hash of any turn, so within a stratum all turns stay
    equally likely. A family that has fewer turns gives all.
    """
    secret = fingerprint(["strata that are topped up", seed])
    names = strata.select(pl.concat_str(STRATUM_KEYS, separator="\n")).to_series()
    room = pl.int_ranges("n_drawn", pl.min_horizontal("stratum_size", pl.col("n_drawn") + minimum))
    steps = (
        strata.with_columns(order=keyed_hashes(secret, names), level=room)
        .explode("level", empty_as_null=True)
        .drop_nulls("level")
        .sort("family", "level", "order")
        .with_columns(step=pl.int_range(pl.len()).over("family"))
        .join(strata.group_by("family").agg(short=minimum - pl.sum("n_drawn")), on="family")
        .filter(pl.col("step") < pl.col("short"))
    )
    raised = steps.group_by(STRATUM_KEYS).agg(n_more=pl.len())
    return (
        strata.join(raised, on=STRATUM_KEYS, how="left", maintain_order="left")
        .with_columns(n_drawn=pl.col("n_drawn") + pl.col("n_more").fill_null(0))
        .drop("n_more")
    )


def draw(
    frame: pl.DataFrame,
    earlier: pl.DataFrame,
    families: Mapping[str, str],
    minimum: int,
    seed: int,
    n_turns: int | None = None,
    labels: pl.DataFrame = NO_LABELLED,
) -> pl.DataFrame:
    """Return the turns of a new round: sampled turns that no earlier round drew.

    `frame` has the human samples of all cells (`sample.mark_drawn`), `earlier` the keys of all
    earlier rounds, and `labels` people's labels in these: `stratum` and `genuine`, a share. All
    rounds together have at least `minimum` turns of each family, and `n_turns` turns, which
    Neyman's allocation shares out, unless that is None.
    """
    family = pl.col("model").replace_strict(families, return_dtype=pl.String)
    before = pl.col("key").is_in(earlier["key"].to_list())
    reached = pl.col("rank").filter(before).max().fill_null(0)
    strata = (
        frame.group_by(STRATUM_KEYS, maintain_order=True)
        .agg(pl.first("stratum_size"), n_drawn=pl.max_horizontal(pl.first("n_drawn"), reached))
        .with_columns(family=family)
    )
    if n_turns is not None:
        strata = shared_out(strata, n_turns, labels)
    raised = topped_up(strata, minimum, seed).select(*STRATUM_KEYS, "family", wanted="n_drawn")
    placed = frame.drop("n_drawn", "inclusion_probability", "is_drawn").join(
        raised, on=STRATUM_KEYS
    )
    return mark_drawn(placed, pl.col("wanted")).filter("is_drawn", ~before)


def keyed(turns: pl.DataFrame, round_name: str, judge: str, seed: int) -> pl.DataFrame:
    """Return the key of a round in the order of its opaque ids."""
    secret = fingerprint(["annotation ids", seed, round_name])
    names = turns.select(pl.concat_str(*TURN_KEYS, "key", separator="\n")).to_series()
    return (
        turns.with_columns(
            id=keyed_hashes(secret, names).str.head(OPAQUE_ID_LENGTH),
            round=pl.lit(round_name),
            judge=pl.lit(judge),
        )
        .sort("id")
        .select(pl.col(name).cast(kind) for name, kind in KEY_SCHEMA.items())
    )


def asked_first(
    key: pl.DataFrame, earlier: pl.DataFrame, least: Mapping[str, float]
) -> tuple[pl.DataFrame, int]:
    """Return a round's key in the order in which people are asked, and how many turns come first.

    First come as many turns of either side as are needed to show the judge to be right on it, minus
    those of earlier rounds. Turns that the judge calls genuine are for its sensitivity, the others
    for its specificity. Within the first turns, and within the rest, opaque ids decide, so that no
    place tells a label. `least` is `judge_card` of the config: the lower limits that a judge has to
    reach.
    """
    is_genuine = pl.col("stratum") == GENUINE
    sides = (is_genuine, least["min_sensitivity"]), (~is_genuine, least["min_specificity"])
    genuine, other = (
        (labels_to_reach(limit, 0, 0) or 0) - earlier.filter(side).height for side, limit in sides
    )
    rank = pl.int_range(pl.len()).over(is_genuine)
    is_first = rank < pl.when(is_genuine).then(genuine).otherwise(other)
    told = key.sort("id").with_columns(is_first=is_first).sort(~pl.col("is_first"), "id")
    return told.drop("is_first"), int(told["is_first"].sum())


def shown(
    key: pl.DataFrame,
    turns: pl.DataFrame,
    items: Mapping[str, Mapping[str, Sequence[Mapping[str, str]]]],
    tokens: Sequence[str],
) -> pl.DataFrame:
    """Return what annotators see of a round's turns: opaque id, conversation and user turn."""
    columns = [*TURN_KEYS, "key", "answer", "text"]
    seen = key.join(turns.select(columns), on=[*TURN_KEYS, "key"], maintain_order="left")
    rows = []
    for row in seen.iter_rows(named=True):
        messages = items[row["dataset"]][row["item"]]
        conversation = conversation_shown(messages, row["answer"], tokens)
        turn = neutral(row["text"] or "", tokens, is_turn=True)
        rows.append({"id": row["id"], "conversation": conversation, "turn": turn})
    return pl.DataFrame(rows, schema=ITEMS_SCHEMA)


def conversation_shown(
    messages: Sequence[Mapping[str, str]], answer: str | None, tokens: Sequence[str]
) -> list[dict[str, str]]:
    """Return a conversation and the answer to it, if any, as annotators see them."""
    answered = [] if answer is None else [{"role": "assistant", "content": answer}]
    return [
        {"role": message["role"], "text": neutral(message["content"], tokens)}
        for message in (*messages, *answered)
    ]


def conversations(paths_to_datasets: Sequence[str]) -> dict[str, Any]:
    """Return the messages of each item, by dataset and item."""
    return {
        Path(path).stem: dict(pl.read_parquet(path, columns=["item", "messages"]).iter_rows())
        for path in paths_to_datasets
    }


def _labelled_before(paths_to_annotations: Sequence[str], earlier: pl.DataFrame) -> pl.DataFrame:
    """Return the labelled turns of earlier rounds: `stratum`, `genuine` as a share of people."""
    labels = read_tables(paths_to_annotations, {"id": pl.String, "genuine": pl.Boolean})
    shares = labels.group_by("id").agg(genuine=pl.col("genuine").mean())
    return shares.join(earlier, on="id").select(NO_LABELLED.columns).sort(pl.all())


def _draw_round(
    humans: HumanGrid,
    round_name: str,
    paths_to_samples: Sequence[str],
    paths_to_user_turns: Sequence[str],
    paths_to_datasets: Sequence[str],
    paths_to_descriptions: Sequence[str],
    paths_to_earlier_keys: Sequence[str],
    paths_to_earlier_annotations: Sequence[str],
) -> NewRound:
    seed = humans.grid.config["seed"]
    earlier = read_tables(paths_to_earlier_keys, KEY_SCHEMA)
    frame = read_tables(paths_to_samples, SAMPLE_SCHEMA)
    minimum = humans.settings["minimum_per_family"]
    labels = _labelled_before(paths_to_earlier_annotations, earlier)
    new = draw(frame, earlier, humans.families, minimum, seed, humans.n_turns, labels)
    key = keyed(new, round_name, humans.judge, seed)
    turns = read_tables(paths_to_user_turns, TURNS_SCHEMA)
    items = conversations(paths_to_datasets)
    say(
        f"round '{round_name}': drew {number_of(key.height, 'turn')} of "
        f"{number_of(len(humans.cells), 'cell')}, left out {number_of(humans.n_hidden, 'cell')} of "
        "private datasets"
    )
    ordered, n_first = asked_first(key, earlier, humans.grid.config["judge_card"])
    seen = shown(ordered, turns, items, stop_tokens(paths_to_descriptions))
    allocation = allocation_name(humans.n_turns, labels.height)
    return NewRound(key, seen, {"allocation": allocation, ASKED_FIRST: str(n_first)})


def draw_annotation_round(
    humans: HumanGrid,
    round_name: str,
    path_to_key: str,
    path_to_items: str,
    **inputs: Sequence[str],
) -> None:
    """Write a round's key and, in another file, what annotators see, drawn now or earlier.

    `inputs` are the path parameters of `_draw_round`.
    """
    drawing = partial(_draw_round, humans, round_name, **inputs)
    draw_once(humans, round_name, drawing, path_to_key, path_to_items)

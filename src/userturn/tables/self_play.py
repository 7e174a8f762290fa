"""Table `self_play`: conversations that a model continues with itself, depth by depth."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from userturn.datasets.turns import clusters
from userturn.generation.scores import turn_gains
from userturn.sources.self_play import NAMED, depths_from_the_first
from userturn.storage.table_files import Schema
from userturn.tables.layout import BOUNDS, GENUINE, SCORED, Layout, column, texts
from userturn.tables.make_tables import Material
from userturn.tables.repeated_texts import share_repeated
from userturn.tables.turn_rates import (
    RATE,
    change,
    mean_over,
    most_frequent,
    rate_columns,
    rate_over,
)
from userturn.workflow.registry import Table

TABLE = Table(
    rule="tabulate_self_play",
    place=200,
    row="a model, dataset, temperature, judge and depth of self-play",
    made_of=(
        "self_play_conversations",
        "self_play_turns",
        "self_play_verdicts",
        "self_play_scores",
        "copies",
    ),
    needs="self_play_turns",
    version=3,
)
MEANINGS = {
    "n_conversations": "conversations that were begun, one for each item",
    "n_turns": "user turns of this depth, failed ones included",
    "change": (
        "rate at this depth minus the rate at depth 1, over conversations that were scored at "
        "both; null at depth 1"
    ),
    "n_shared": "conversations that were scored at both",
    "gain": (
        "how much likelier the model finds a turn after its own conversation than after answers of "
        "other conversations, in nats a character; a mean over the scored turns, null if "
        "likelihood is off"
    ),
    "reason": "why most of the ended conversations ended",
}
KEYS = ["model", "dataset", "temperature", "judge"]
GAINS: Schema = {
    "model": pl.String,
    "dataset": pl.String,
    "temperature": pl.Float64,
    "conversation": pl.String,
    "value": pl.Float64,
    "depth": pl.Int64,
}
ASSISTANT_SPEECH = "assistant_turn_restate"  # the rubric's label of assistant speech
SPEECH, PROMPT, TURNS, GAIN = (
    (name, f"{name}_lower", f"{name}_upper")
    for name in ("assistant_speech", "repeats_prompt", "repeats_turns", "gain")
)
CHANGE = ("change", "change_lower", "change_upper")
SCHEMA: Schema = {
    "model": pl.String,
    "dataset": pl.String,
    "temperature": pl.Float64,
    "judge": pl.String,
    **dict.fromkeys(("depth", "n_conversations", "n_ended", "n_turns", "n_scored"), pl.Int64),
    "n_genuine": pl.Int64,
    **RATE,
    **dict.fromkeys(CHANGE, pl.Float64),
    "n_shared": pl.Int64,
    **dict.fromkeys((*SPEECH, *PROMPT, *TURNS, *GAIN), pl.Float64),
    "n_valued": pl.Int64,
    "reason": pl.String,
}


def table(material: Material) -> pl.DataFrame:
    """Return the table of a study."""
    paths, grid = material.paths, material.grid
    gains = gains_of(paths["self_play_scores"])
    rows: list[dict[str, Any]] = []
    first: dict[tuple[str, ...], pl.DataFrame] = {}
    for number, at in enumerate(depths_from_the_first(grid)):
        conversations = pl.read_parquet(paths["self_play_conversations"][number])
        written = pl.read_parquet(paths["self_play_turns"][number])
        turns = add_repetition(written, conversations, at.depth)
        for judge, name in enumerate(grid.judges):
            path = paths["self_play_verdicts"][number * len(grid.judges) + judge]
            judged = match_verdicts(turns, pl.read_parquet(path))
            begun = first.setdefault((*at[:3], name), judged)
            names = {**at._asdict(), "temperature": grid.temperatures[at.temperature]}
            measured = measures(judged, begun, conversations)
            rows.append({**names, "judge": name, **measured, **gain(gains, names)})
    return pl.DataFrame(rows, schema=SCHEMA).sort(*KEYS, "depth")


def gains_of(paths_to_scores: Sequence[str]) -> pl.DataFrame:
    """Return the gain per character of each scored turn, with its `depth`, or no rows."""
    a_character = pl.col("gain_answer") / pl.col("n_characters")
    depth = pl.col("perturbation").str.strip_prefix(NAMED).cast(pl.Int64)
    columns = ["model", "dataset", "temperature", "conversation"]
    tables = [
        turn_gains(pl.read_parquet(path))
        .select(*columns, value=a_character, depth=depth)
        .drop_nulls("value")
        for path in paths_to_scores
    ]
    return pl.concat([pl.DataFrame(schema=GAINS), *tables])


def gain(gains: pl.DataFrame, names: Mapping[str, Any]) -> dict[str, Any]:
    """Return the mean gain of the turns with these names and their number, empty without scores."""
    keys = [*KEYS[:3], "depth"]
    seen = gains.filter(*(pl.col(key) == names[key] for key in keys))
    if gains.is_empty():
        return {}
    mean = mean_over(seen, "value")
    return {**dict(zip(GAIN, mean, strict=True)), "n_valued": seen.height}


def add_repetition(turns: pl.DataFrame, conversations: pl.DataFrame, depth: int) -> pl.DataFrame:
    """Return by `item` the share of the turn that repeats earlier user texts (`share_repeated`).

    The turn is the first sample. `prompt` is of the item's own user messages, `turns` of the
    model's, which are the last `depth - 1` of the conversation before the turn.
    """
    texts = turns.filter(sample=0).select("item", "outcome", "text")
    both = texts.join(conversations.select("item", "messages"), on="item", maintain_order="left")
    shares = [
        _repeated(text, messages, depth) if outcome == "ok" else (None, None)
        for _, outcome, text, messages in both.iter_rows()
    ]
    columns = {name: [pair[i] for pair in shares] for i, name in enumerate(("prompt", "turns"))}
    return both.select(
        "item", *(pl.Series(name, values, dtype=pl.Float64) for name, values in columns.items())
    )


def _repeated(
    text: str, messages: Sequence[Mapping[str, str]], depth: int
) -> tuple[float | None, float | None]:
    """Return the shares of a turn that repeat the item's user messages, and the model's turns."""
    users = [message["content"] for message in messages if message["role"] == "user"]
    begin = len(users) - (depth - 1)
    own = share_repeated(text, users[begin:]) if depth > 1 else None
    return share_repeated(text, users[:begin]), own


def match_verdicts(turns: pl.DataFrame, verdicts: pl.DataFrame) -> pl.DataFrame:
    """Return one judge's verdicts on the first samples, beside the repetition of each."""
    judged = verdicts.filter(sample=0).select("item", "genuine", "label", conversation=clusters())
    return judged.join(turns, on="item", maintain_order="left").with_columns(
        speech=pl.when(pl.col("genuine").is_not_null()).then(
            pl.col("label").eq_missing(ASSISTANT_SPEECH)
        )
    )


def measures(
    turns: pl.DataFrame, first: pl.DataFrame, conversations: pl.DataFrame
) -> dict[str, Any]:
    """Return counts, rates and means of one depth, by one judge.

    `turns` and `first` are results of `match_verdicts`, at this depth and at depth 1.
    """
    drift, _ = rate_over(turns, ["conversation"], "speech")
    is_first = "ended" not in conversations.columns
    nothing = pl.Series([], dtype=pl.String)
    ended = nothing if is_first else conversations["ended"].drop_nulls()
    difference, n_shared = change(first, turns, "conversation")
    changed = {**dict(zip(CHANGE, difference, strict=True)), "n_shared": n_shared}
    return {
        "n_conversations": conversations.height,
        "n_turns": turns.height,
        "n_scored": turns["genuine"].count(),
        "n_genuine": int(turns["genuine"].sum()),
        **rate_columns(turns, "conversation"),
        **({} if turns.equals(first) else changed),
        "n_ended": len(ended),
        **dict(zip(SPEECH, drift, strict=True)),
        **dict(zip(PROMPT, mean_over(turns, "prompt"), strict=True)),
        **dict(zip(TURNS, mean_over(turns, "turns"), strict=True)),
        "reason": most_frequent(ended),
    }


LAYOUT = Layout(
    "Self-play: the model answers its own user turns",
    {},
    (
        *texts("model", "dataset", "temperature", "judge"),
        column("depth", "count", "depth"),
        column("ended before", "of", "n_ended", "n_conversations"),
        GENUINE,
        SCORED,
        BOUNDS,
        column("change since depth 1", "change", *CHANGE),
        column("speaks as the assistant", "share", *SPEECH),
        column("repeats the prompt", "share", *PROMPT),
        column("repeats its turns", "share", *TURNS),
        column("gain, nats a character", "number", *GAIN),
        *texts("reason"),
    ),
)

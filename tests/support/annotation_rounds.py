"""Small studies for tests of people's labels: turns, verdicts and annotations of known content."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from userturn.humans.import_labels import annotations_table
from userturn.humans.label_files import Row
from userturn.humans.rounds import KEY_SCHEMA, draw, keyed
from userturn.humans.sample import mark_drawn, quota, sampling_frame

LABELS = [
    "genuine_followup",
    "prompt_restate",
    "assistant_turn_restate",
    "generic",
    "unrelated",
    "degenerate",
]
NO_KEY = pl.DataFrame(schema=KEY_SCHEMA)
FAMILIES = {"a-1b": "a", "a-2b": "a", "b-1b": "b"}
SEED = 1


def study(
    labels: Sequence[str | None],
    model: str = "a-1b",
    temperature: float = 0.0,
    perturbation: str = "none",
    judge: str = "judge",
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return one cell's user turns and a judge's verdicts, a turn a label."""
    cell = {"model": model, "dataset": "d", "temperature": temperature}
    keys = pl.DataFrame(
        [
            cell | {"perturbation": perturbation, "item": f"i{n:04}", "sample": 0}
            for n in range(len(labels))
        ]
    )
    place = f"{model} {temperature} {perturbation}"
    turns = keys.with_columns(
        key=pl.format("{} {}", pl.lit(place), "item"),
        outcome=pl.lit("ok"),
        answer=pl.lit("An answer."),
        text=pl.format("Turn {}<|im_end|>", "item"),
    )
    verdicts = keys.with_columns(
        judge=pl.lit(judge),
        label=pl.Series(labels, dtype=pl.String),
        genuine=pl.Series(
            [None if x is None else x == LABELS[0] for x in labels], dtype=pl.Boolean
        ),
        rationale=pl.lit("because"),
    )
    return turns, verdicts


def together(*studies: tuple[pl.DataFrame, pl.DataFrame]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return several cells as one."""
    turns, verdicts = zip(*studies, strict=True)
    return pl.concat(turns), pl.concat(verdicts)


def key_of(
    turns: pl.DataFrame,
    verdicts: pl.DataFrame,
    per_stratum: int = 2,
    genuine: int = 4,
    minimum: int = 0,
    earlier: pl.DataFrame = NO_KEY,
    round_name: str = "first",
) -> pl.DataFrame:
    """Return the key of a round drawn from a study."""
    frame = sampling_frame(turns, verdicts, SEED)
    sample = mark_drawn(frame, quota({"per_stratum": per_stratum, "genuine": genuine}))
    new = draw(sample, earlier, FAMILIES, minimum, SEED)
    return keyed(new, round_name, "judge", SEED)


def annotated(key: pl.DataFrame, **labels: Sequence[str]) -> pl.DataFrame:
    """Return annotations: each annotator's labels of the key's turns, in their order."""
    rows = [
        Row("", key["round"][0], name, turn, label, "")
        for name, given in labels.items()
        for turn, label in zip(key["id"], given, strict=True)
    ]
    return annotations_table(rows, key)


def mistaken(truth: Sequence[str], rate: float, generator: np.random.Generator) -> list[str]:
    """Return labels of someone who is wrong at a rate, then with any other label."""
    return [
        str(generator.choice([x for x in LABELS if x != label]))
        if generator.random() < rate
        else label
        for label in truth
    ]

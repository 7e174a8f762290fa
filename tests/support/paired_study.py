"""Small studies for tests of pairs: a model's turns, and what people wrote in their place."""

import polars as pl

from userturn.humans.pairs import (
    PAIR_KEY_SCHEMA,
    PEOPLE_SCHEMA,
    TURNS_SCHEMA,
    drawn_pairs,
    keyed_pairs,
    paired_turns,
)

SEED = 1
NO_PAIRS = pl.DataFrame(schema=PAIR_KEY_SCHEMA)


def people_of(n: int, dataset: str = "d") -> pl.DataFrame:
    """Return what people wrote after each of some conversations of one exchange."""
    rows = [
        {
            "dataset": dataset,
            "item": f"i{k:04}",
            "conversation": f"conversation {k}",
            "reference_user_turn": f"What a person wrote {k}",
            "messages": [{"role": "user", "content": f"Question {k}?"}],
        }
        for k in range(n)
    ]
    return pl.DataFrame(rows, schema=PEOPLE_SCHEMA)


def turns_of(n: int, model: str = "a-1b", temperature: float = 0.0) -> pl.DataFrame:
    """Return a model's finished turns after the dataset's answers to as many conversations."""
    rows = [
        {
            "model": model,
            "dataset": "d",
            "temperature": temperature,
            "perturbation": "reference_answer",
            "item": f"i{k:04}",
            "sample": 0,
            "key": f"{model} {temperature} {k}",
            "outcome": "ok",
            "finish_reason": "stop",
            "answer": "An answer of the dataset.",
            "text": f"A machine's words {k}<|im_end|>",
        }
        for k in range(n)
    ]
    return pl.DataFrame(rows, schema=TURNS_SCHEMA)


def paired_of(*cells: pl.DataFrame, n: int) -> pl.DataFrame:
    """Return the turns of cells that can stand beside a person's."""
    return paired_turns(pl.concat(cells), people_of(n), ["<|im_end|>"])


def pair_key(
    paired: pl.DataFrame, per_cell: int, earlier: pl.DataFrame = NO_PAIRS, round_name: str = "pairs"
) -> pl.DataFrame:
    """Return the key of a round drawn from such turns."""
    return keyed_pairs(drawn_pairs(paired, earlier, per_cell, SEED), round_name, SEED)

"""`userturn rates`: what people said next is shown beside chance."""

import polars as pl

from userturn.cli.rates import format_likelihood
from userturn.tables.likelihood import SCHEMA


def test_likelihood_is_shown_with_chance_and_limits_and_without_nats_a_character() -> None:
    shared = {"model": "m", "dataset": "d", "n_scored": 19, "n_turns": 20}
    identified = {"measure": "identified_answer", "unit": "share", "chance": 0.5}
    gain = {"measure": "gain_answer", "estimate": 0.575}
    table = pl.DataFrame(
        [
            shared | identified | {"estimate": 0.95, "lower": 0.764, "upper": 0.991},
            shared | gain | {"unit": "nats a token"},
            shared | gain | {"unit": "nats a character"},
        ],
        schema=SCHEMA,
    )
    _, first, second = format_likelihood(table).splitlines()
    assert first.split() == [
        *("m", "d", "identified_answer", "0.95", "[", "0.76,", "0.99]"),
        *("19/20", "scored", "chance", "0.50"),
    ]
    assert second.split() == ["m", "d", "gain_answer", "0.57", "19/20", "scored"]

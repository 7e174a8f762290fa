"""The flip rate of a judge is of turns that it called genuine after their own answers."""

import polars as pl

from userturn.storage.table_files import TURN_COLUMNS
from userturn.tables.judges import NONE_ACCEPTED, NONE_SCORED, flips


def verdicts(judge: str, *genuine: bool | None) -> pl.DataFrame:
    """Return a judge's verdicts on turns of items 0, 1, 2 ..."""
    place = {"model": "m", "dataset": "d", "temperature": 0.0, "perturbation": "none", "sample": 0}
    rows = [
        place | {"item": str(item), "judge": judge, "genuine": said}
        for item, said in enumerate(genuine)
    ]
    schema = TURN_COLUMNS | {"judge": pl.String, "genuine": pl.Boolean}
    return pl.DataFrame(rows, schema=schema)


def test_of_the_turns_that_a_judge_accepted_the_share_that_it_no_longer_does_has_an_interval() -> (
    None
):
    own = verdicts("j", True, True, True, True, False, None, True)
    after = verdicts("j", False, False, False, True, False, False, None)
    (row,) = flips(own, after).to_dicts()
    assert (row["judge"], row["source"], row["measure"]) == ("j", "edited", "flips")
    assert (row["n_turns"], row["n_scored"], row["estimate"]) == (5, 4, 0.75)
    # Wilson at 3 of 4: (0.75 + 0.4802 -+ 1.96 sqrt(0.1875/4 + 0.0600)) / 1.9604 = 0.301, 0.954
    assert (round(row["lower"], 3), round(row["upper"], 3)) == (0.301, 0.954)


def test_a_judge_that_accepts_none_or_scores_none_again_has_the_reason() -> None:
    own = pl.concat([verdicts("none", False, None), verdicts("once", True, True)])
    after = pl.concat([verdicts("none", False, False), verdicts("once", None, None)])
    found = flips(own, after)
    assert found["estimate"].to_list() == [None, None]
    assert found["reason"].to_list() == [NONE_ACCEPTED, NONE_SCORED]

"""The two user turns on the report's first screen: one that the judge accepts, one it rejects.

Nobody chooses them: of each kind it is the turn that ranks first by a hash.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from userturn.judges.verdict import GENUINE
from userturn.storage.hashing import fingerprint

Example = Mapping[str, Any]


def examples_of_cell(number: int, turns: pl.DataFrame, judge: int) -> list[Example]:
    """Return a cell's genuine turn and its other turn that rank first, as far as there are any.

    Args:
        number: the cell's number in the explorer.
        turns: as the explorer reads them.
        judge: number of the judge.

    Returns:
        For each: `rank`, `is_genuine`, `cell`, `item` and `sample`.
    """
    label = pl.col(f"label_{judge}")
    labelled = turns.filter(
        label.is_not_null(), pl.col("text").str.strip_chars().str.len_chars() > 0
    )
    rows = labelled.select("item", "sample", "key", is_genuine=label == GENUINE)
    return first_of_each_kind(
        {
            "rank": fingerprint(["example", key, item, sample]),
            "is_genuine": is_genuine,
            "cell": number,
            "item": item,
            "sample": sample,
        }
        for item, sample, key, is_genuine in rows.iter_rows()
    )


def first_of_each_kind(examples: Iterable[Example]) -> list[Example]:
    """Return the genuine example and the other one that rank first, as far as there are any."""
    ordered = sorted(examples, key=lambda example: (example["rank"], example["cell"]))
    kinds = [[e for e in ordered if e["is_genuine"] == is_genuine] for is_genuine in (True, False)]
    return [found[0] for found in kinds if found]

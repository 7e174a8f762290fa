"""Is every score of a turn's likelihood what was planned, and what the engine said?"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import polars as pl

from userturn.audit.findings import Finding
from userturn.audit.pair import compared, place_of
from userturn.export.read_archive import read_left_out
from userturn.likelihood.collect import scores_of
from userturn.storage.key_columns import TURN_KEYS
from userturn.study.record import StudyRecord
from userturn.study.scored_turns import scored_turns


def check_likelihood(
    results: Path, record: StudyRecord, broken: frozenset[str]
) -> Iterator[Finding]:
    """Join plans and journals of scores again, and compare.

    Args:
        results: folder of a study with its journals.
        record: of the study.
        broken: artifacts that are missing or altered, and found so.
    """
    grid, left_out = record.grid(results), read_left_out(results)
    for scored in scored_turns(grid):
        path = f"results/likelihood/{scored.file}"
        pair = f"{grid.places.of_pair(scored.model, scored.dataset)}/"
        of_pair = (f"results/requests/{pair}", f"results/journal/{pair}")
        if path in broken or any(name.startswith(of_pair) for name in left_out):
            continue
        there = partial(pl.read_parquet, place_of(grid, path))
        make = partial(scores_of, grid, scored)
        yield from compared("rows", path, make, there, [*TURN_KEYS, "context"])

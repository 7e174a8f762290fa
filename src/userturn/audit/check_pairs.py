"""Are the pairs of a round those that its turns give, shown as model and person wrote them?"""

from collections.abc import Iterator, Sequence
from functools import partial

import polars as pl

from userturn.audit.check_rounds import drawn_again, inputs_of
from userturn.audit.findings import Item
from userturn.audit.table_diff import Wrong, difference
from userturn.humans.pairs import PER_CELL, round_of_pairs
from userturn.provenance.study_files import Files
from userturn.workflow.pairs import PairGrid


def check_pairs(files: Files, pairs: PairGrid, broken: frozenset[str]) -> Iterator[Item]:
    """Yield the faults in the keys of rounds of pairs, and in what annotators saw.

    Args:
        files: the files of a results folder.
        pairs: the rounds of pairs of the study.
        broken: artifacts that were already reported as missing or altered.
    """
    for name in pairs.rounds:
        inputs = inputs_of(files, "draw_pairs", name)
        wrong = (partial(_wrong, files, pairs, name, kind) for kind in ("key", "items"))
        yield from drawn_again(files, f"results/pairs/{name}", inputs, broken, *wrong)


def _wrong(
    files: Files, pairs: PairGrid, name: str, kind: str, inputs: Sequence[str]
) -> Wrong | None:
    """Compare a key, or what annotators saw, with the round drawn again.

    How many pairs its settings asked for is taken from the key, since these may have changed since.
    """
    folder = f"results/pairs/{name}"
    noted = pl.read_parquet_metadata(files.at(f"{folder}/key.parquet"))
    made = round_of_pairs(
        name,
        int(noted[PER_CELL]),
        pairs.grid.config["seed"],
        *(
            [str(files.at(path)) for path in inputs if _is_of(path, place)]
            for place in (
                "/user_turns.parquet",
                "results/datasets/",
                "results/models/",
                "/key.parquet",
            )
        ),
    )
    drawn = made.key if kind == "key" else made.items
    return difference(drawn, pl.read_parquet(files.at(f"{folder}/{kind}.parquet")), ["id"])


def _is_of(path: str, place: str) -> bool:
    return path.endswith(place) or path.startswith(place)

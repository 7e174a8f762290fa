"""Are the turns of the chance floor those of the cells, after the answers that the draw gives?"""

from collections.abc import Iterator
from functools import partial

import polars as pl

from userturn.audit.check_verdicts import judged_again
from userturn.audit.findings import Finding
from userturn.audit.pair import Pair
from userturn.controls.swapped_answers import swapped_cells
from userturn.judges.kinds import kind_of
from userturn.storage.key_columns import TURN_KEYS
from userturn.workflow.chance_floor import ChanceFloorGrid


def check_chance_floor(pair: Pair) -> Iterator[Finding]:
    """Yield the faults in the swapped turns of a model and dataset, and in their verdicts.

    A judge whose rules have changed is noted with the verdicts of cells.
    """
    floor = ChanceFloorGrid(pair.grid)
    if (pair.model, pair.dataset) not in floor.sources:
        return
    folder = f"results/chance_floor/{pair.model}/{pair.dataset}"
    turns = f"{folder}/user_turns.parquet"
    yield from pair.held("rows", turns, partial(_turns, pair, floor), TURN_KEYS)
    for judge, entry in pair.grid.judges.items():
        kind, path = kind_of(entry), f"{folder}/verdicts/{judge}.parquet"
        is_known = pair.study.contents.judges[judge] == kind.identity(entry)
        if is_known if kind.IS_DETERMINISTIC else pair.with_journals:
            made = partial(judged_again, pair, turns, judge)
            yield from pair.held("verdicts", path, made, TURN_KEYS)


def _turns(pair: Pair, floor: ChanceFloorGrid) -> pl.DataFrame:
    cells = (pair.read(path) for path in floor.user_turns(pair.model, pair.dataset))
    seed = pair.grid.config["seed"]
    return swapped_cells(pair.dataset, cells, pair.items, floor.n_turns, seed)

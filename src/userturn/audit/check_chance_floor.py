"""Are the turns of the chance floor those of the cells, after the answers that the draw gives?"""

from collections.abc import Iterator
from functools import partial

import polars as pl

from userturn.audit.check_verdicts import check_verdicts_in
from userturn.audit.findings import Finding
from userturn.audit.pair import Pair
from userturn.controls.swapped_answers import swapped_cells
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
    yield from check_verdicts_in(pair, folder)


def _turns(pair: Pair, floor: ChanceFloorGrid) -> pl.DataFrame:
    cells = (pair.read(path) for path in floor.user_turns(pair.model, pair.dataset))
    seed = pair.grid.config["seed"]
    return swapped_cells(pair.dataset, cells, pair.items, floor.n_turns, seed)

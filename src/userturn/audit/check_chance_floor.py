"""Are the turns of the chance floor those of the cells, after the answers that the draw gives?"""

from collections.abc import Iterator
from functools import partial

import polars as pl

from userturn.audit.check_verdicts import check_verdicts_in
from userturn.audit.findings import Finding
from userturn.audit.pair import Pair
from userturn.controls.swapped_answers import swapped_cells
from userturn.sources.chance_floor import n_swapped
from userturn.sources.registry import judged
from userturn.sources.source import Turns
from userturn.storage.key_columns import TURN_KEYS


def check_chance_floor(pair: Pair) -> Iterator[Finding]:
    """Yield the faults in the swapped turns of a model and dataset, and in their verdicts.

    A judge whose rules have changed is noted with the verdicts of cells.
    """
    swapped = judged(pair.grid).get(f"chance_floor/{pair.model}/{pair.dataset}")
    if swapped is None:
        return
    yield from pair.held("rows", swapped.path, partial(_turns, pair, swapped), TURN_KEYS)
    yield from check_verdicts_in(pair, f"results/{swapped.folder}")


def _turns(pair: Pair, swapped: Turns) -> pl.DataFrame:
    cells = (pair.read(path) for path in swapped.made_of)
    n_turns, seed = n_swapped(pair.grid), pair.grid.config["seed"]
    return swapped_cells(pair.dataset, cells, pair.items, n_turns, seed)

"""Are the languages of turns those that the detection tells again?"""

from collections.abc import Iterator
from functools import partial

import polars as pl

from userturn.audit.findings import Finding
from userturn.audit.pair import Pair
from userturn.generation.turn_languages import turn_languages
from userturn.storage.key_columns import TURN_KEYS
from userturn.workflow.languages import LanguageGrid


def check_languages(pair: Pair) -> Iterator[Finding]:
    """Yield the faults in the languages of a model's turns on a dataset."""
    languages = LanguageGrid(pair.grid)
    if (pair.model, pair.dataset) not in languages.sources:
        return
    path = f"results/languages/{pair.model}/{pair.dataset}.parquet"
    cells = languages.user_turns_of(pair.model, pair.dataset)
    yield from pair.held("rows", path, partial(_told, pair, cells), TURN_KEYS)


def _told(pair: Pair, cells: list[str]) -> pl.DataFrame:
    columns = [*TURN_KEYS, "answer", "text", "outcome"]
    turns = pl.concat([pair.read(path).select(columns) for path in cells])
    return turn_languages(turns, pair.read(pair.path_to_answers), pair.read(pair.path_to_items))

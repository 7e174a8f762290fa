"""Are the candidates, their grades, and turns after them, what their requests gave?"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from userturn.audit.check_probes import OWN_ANSWER
from userturn.audit.check_rows import Asked, check_asked
from userturn.audit.check_verdicts import check_grades_of
from userturn.audit.findings import Item
from userturn.audit.pair import Pair
from userturn.generation.candidates import candidates_of
from userturn.sources.candidates import (
    CandidateTable,
    candidate_sources,
    candidates_identity,
    n_candidates,
    turn_temperature,
)
from userturn.sources.source import ANSWERS, USER_TURNS
from userturn.storage.key_columns import ANSWER_KEYS

KEYS = [*ANSWER_KEYS, "sample"]


def check_candidates(pair: Pair, rng: np.random.Generator) -> Iterator[Item]:
    """Yield the faults in the candidates of a model and dataset, and in all that follows them."""
    if (pair.model, pair.dataset) not in candidate_sources(pair.grid):
        return
    folder = f"results/candidates/{pair.model}/{pair.dataset}"
    answers, turns = f"{folder}/answers.parquet", f"{folder}/user_turns.parquet"
    drawn = pair.grid.answer_settings(pair.model)
    yield from _rows(pair, ANSWERS, answers, "assistant", drawn)
    drawn = pair.grid.user_turn_settings(turn_temperature(pair.grid))
    yield from _rows(pair, USER_TURNS, turns, "user", drawn)
    yield from pair.held("probes", turns, partial(_shown_own, pair, answers, turns), KEYS)
    yield from check_grades_of(pair, answers, f"{folder}/grades.parquet", KEYS, rng)


def _rows(pair: Pair, table: str, path: str, role: str, drawn: dict[str, Any]) -> Iterator[Item]:
    grid, of = pair.grid, CandidateTable(pair.model, pair.dataset, table)
    asked = Asked(path, candidates_identity(grid, of), role, drawn, n_candidates(grid.config))
    made = candidates_of(grid, of, pair.outcomes) if pair.with_journals else None
    yield from check_asked(pair, asked, made, KEYS)


def _shown_own(pair: Pair, answers: str, turns: str) -> pl.DataFrame:
    """Return the turns with the answers that the model gave, as far as it is known that it did."""
    is_shown = pl.col("outcome").is_in(OWN_ANSWER)
    own = pair.read(answers).select(*KEYS, own=pl.when(is_shown).then("answer"))
    found = pair.read(turns).join(own, on=KEYS, how="left", maintain_order="left")
    is_known = pl.lit(pair.never_failed) | pl.col("answer").is_not_null()
    shown = pl.when(is_known).then("own")
    return found.with_columns(answer=shown).drop("own")

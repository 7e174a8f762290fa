"""Is every answer and user turn what was planned, and what the engine wrote?

Each table is recomputed from plans and journals and compared with the present one. Keys and seeds
of requests are recomputed from everything that they depend on.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from userturn.audit.findings import Finding, remake
from userturn.audit.pair import BrokenError, Pair
from userturn.audit.table_diff import Wrong
from userturn.generation.collect import answers_of, user_turns_of
from userturn.models.requests import request_key
from userturn.models.seeds import derive_seed
from userturn.provenance.study_files import FAULTS
from userturn.storage.hashing import short_hash
from userturn.storage.key_columns import ANSWER_KEYS, TURN_KEYS
from userturn.study.cells import Cell, files_of
from userturn.study.model_description import request_identity, turn_ends


def check_answers(pair: Pair) -> Iterator[Finding]:
    """Yield the faults in the plan of answers, and in the answers."""
    grid, model, dataset = pair.grid, pair.model, pair.dataset
    yield from _plan(pair, grid.answers_identity(model, dataset), 1)
    yield from _requests(pair, None)
    if pair.with_journals:
        parts = answers_of(grid, model, dataset, pair.outcomes)
        yield from pair.held("rows", pair.path_to_answers, lambda: pl.concat(parts), ANSWER_KEYS)


def check_user_turns(pair: Pair, cell: Cell) -> Iterator[Finding]:
    """Yield the faults in the plan of a cell, and in its user turns."""
    yield from _plan(pair, pair.grid.cell_identity(cell), pair.grid.n_samples(cell.temperature))
    yield from _requests(pair, cell)
    if pair.with_journals:
        turns = files_of([cell], "user_turns.parquet")[0]
        parts = user_turns_of(pair.grid, cell, pair.outcomes)
        yield from pair.held("rows", turns, lambda: pl.concat(parts), TURN_KEYS)


def _plan(pair: Pair, identity: str, n_samples: int) -> Iterator[Finding]:
    """Compare a plan with the items and samples that it should have."""
    place = pair.grid.places.of_pair(pair.model, pair.dataset)
    folder = f"results/requests/{place}/{identity}"
    names = [path.name for path in sorted(pair.whole(folder).glob("*.parquet"))]
    try:
        wanted = {(item, sample) for item in pair.items for sample in range(n_samples)}
        plans = {n: pair.whole(f"{folder}/{n}") for n in names}
        columns = ["position", "item", "sample"]
        planned = {name: pl.read_parquet(path, columns=columns) for name, path in plans.items()}
    except (BrokenError, *FAULTS):
        return
    asked = {row for table in planned.values() for row in table[:, 1:].iter_rows()}
    for name, table in planned.items():
        rows, in_order = list(table[:, 1:].iter_rows()), table["position"].is_sorted()
        if asked != wanted or len(rows) != len(set(rows)) or not in_order:
            path = f"{folder}/{name}"
            expected = f"each of {len(wanted)} items and samples once, in their order"
            found = f"{len(rows)} rows, {len(asked & wanted)} of them in all shards"
            yield Finding("rows", path, expected, found, remake(path))


def _requests(pair: Pair, cell: Cell | None) -> Iterator[Finding]:
    """Compare items, samples, seeds and keys with their inputs; without a cell, the answers'."""
    path = pair.path_to_answers if cell is None else files_of([cell], "user_turns.parquet")[0]
    n_samples = 1 if cell is None else pair.grid.n_samples(cell.temperature)
    try:
        table, items, drawn = pair.read(path), pair.items, _drawn(pair, cell)
    except (BrokenError, *FAULTS):
        return  # reported elsewhere
    sample = pl.lit(0) if cell is None else pl.col("sample")
    rows = list(table.select("item", sample).iter_rows())
    wrong = None
    if rows != [(item, sample) for item in items for sample in range(n_samples)]:
        expected = f"{n_samples} rows of each of {len(items)} items, in their order"
        wrong = expected, f"{len(rows)} rows of {len({item for item, _ in rows})} items"
        yield Finding("rows", path, *wrong, remake(path))
        return
    role = "assistant" if cell is None else "user"
    wrong = _wrong_request(pair, table.with_columns(sample=sample), role, drawn)
    if wrong is not None:
        yield Finding("keys", path, *wrong, remake(path))


def _drawn(pair: Pair, cell: Cell | None) -> dict[str, Any]:
    """Return the sampling settings that all requests of a table share: those of `Sampling`."""
    if cell is None:
        drawn = pair.grid.answer_settings(pair.model)
    else:
        drawn = pair.grid.user_turn_settings(pair.grid.temperatures[cell.temperature])
    return {**drawn, **turn_ends(pair.description, "assistant" if cell is None else "user")}


def _wrong_request(
    pair: Pair, table: pl.DataFrame, role: str, drawn: Mapping[str, Any]
) -> Wrong | None:
    """Return the first seed or key of a table that does not follow from its request."""
    asked = table.filter(pl.col("key").is_not_null())
    identity = request_identity(pair.grid, pair.model, pair.description)
    dataset = pair.grid.places.of_dataset(pair.dataset)
    rows = asked.select("item", "sample", "seed", "key", "prompt_token_ids").iter_rows()
    for item, sample, seed, noted, prompt in rows:
        derived = None
        if drawn["temperature"] > 0:
            derived = derive_seed(pair.grid.config["seed"], role, dataset, item, sample)
        if seed != derived:
            return f"seed of {item}, sample {sample}, derived from the study's", str(seed)
        key = request_key(identity, dataset, sample, prompt, {**drawn, "seed": seed})
        if key != noted:
            where = f"{item}, sample {sample}"
            return f"key {short_hash(key)} of {where}, from its request", short_hash(noted)
    return None

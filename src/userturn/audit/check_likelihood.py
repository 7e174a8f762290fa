"""Is every score of a turn's likelihood what was to be asked, and what the engine said?"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import polars as pl

from userturn.audit.check_sources import is_at_hand
from userturn.audit.findings import Finding, Item, remake
from userturn.audit.pair import compared, place_of
from userturn.audit.table_diff import Wrong, difference
from userturn.export.read_archive import read_left_out
from userturn.generation.scored_turns import turns_to_score
from userturn.likelihood.collect import scores_of
from userturn.likelihood.scoring_plan import SCORING_PLAN_SCHEMA, TURN_SCHEMA, named_rows
from userturn.models.scoring import scoring_request
from userturn.provenance.study_files import FAULTS, Files
from userturn.sources.candidates import REACTIONS
from userturn.sources.registry import asked
from userturn.sources.scores import HUMAN_TURNS
from userturn.sources.source import SCORES, Asked
from userturn.storage.hashing import short_hash
from userturn.storage.journal import files_of_journal
from userturn.storage.journal_table import has_failed
from userturn.storage.key_columns import TURN_KEYS
from userturn.study.grid import Grid
from userturn.study.inputs import REACTIONS as REACTIONS_FILE
from userturn.study.model_description import read_description, request_identity
from userturn.study.record import StudyRecord
from userturn.study.replies import scan_plans

NAMED = [
    name
    for name in SCORING_PLAN_SCHEMA
    if name in (*TURN_SCHEMA, "position", "context", "distractor", "n_characters")
]


def check_likelihood(results: Path, record: StudyRecord, broken: frozenset[str]) -> Iterator[Item]:
    """Plan the turns and contexts to score again, join plans and journals again, and compare.

    Args:
        results: folder of a study.
        record: of the study.
        broken: artifacts that are missing or altered, and found so.
    """
    grid, left_out = record.grid(results), read_left_out(results)
    with_journals = Files(results, {}).has_journals
    for scored in (of for of in asked(grid).values() if of.kind == SCORES):
        path = scored.path
        pair = f"{grid.places.of_pair(scored.model, scored.dataset)}/"
        of_pair = (f"results/requests/{pair}", f"results/journal/{pair}")
        is_left_out = any(name.startswith(of_pair[: 1 + with_journals]) for name in left_out)
        if path in broken or is_left_out:
            continue
        yield from _plans(grid, scored, broken)
        if with_journals:
            there = partial(pl.read_parquet, place_of(grid, path))
            make = partial(_joined, grid, scored)
            yield from compared("rows", path, make, there, [*TURN_KEYS, "context"])


def _joined(grid: Grid, scored: Asked) -> pl.DataFrame:
    return pl.concat(scores_of(grid, scored))


def _plans(grid: Grid, scored: Asked, broken: frozenset[str]) -> Iterator[Finding]:
    """Compare the plan of each shard with the turns and contexts that it should have."""
    made_of = {f"results/datasets/{scored.dataset}.parquet", f"results/models/{scored.model}.json"}
    folder = grid.requests_folder(scored.model, scored.dataset, scored.identity)
    for place in sorted(folder.glob("[!.]*.parquet")):
        path = f"results/{place.relative_to(grid.results).as_posix()}"
        if not broken.isdisjoint({path, *made_of}):
            continue
        try:
            plan = scan_plans([place]).collect()
            wrong = _wrong_turn(grid, scored, place.stem, plan) or _wrong_key(grid, scored, plan)
        except FAULTS as error:
            wrong = "a plan of the dataset's turns", type(error).__name__
        if wrong is not None:
            yield Finding("rows", path, *wrong, remake(path))


def _wrong_turn(grid: Grid, scored: Asked, shard: str, plan: pl.DataFrame) -> Wrong | None:
    """Return how a plan differs from the turns and contexts to score, if they are known."""
    if not are_known(grid, scored):
        return None
    rows = [named for named, _, _ in named_rows(turns_to_score(grid, scored, shard))]
    schema = {name: SCORING_PLAN_SCHEMA[name] for name in NAMED}
    made = pl.DataFrame(rows, schema=schema, orient="row")
    return difference(made, plan.select(NAMED), ["item", "context"])


def are_known(grid: Grid, scored: Asked) -> bool:
    """Return whether the turns of a plan and their contexts can be told again.

    A model's own are in its journal. If a request had ended in an error when the plan was made, a
    turn or answer may have come since. Fixed turns are in a file, as the study had it.
    """
    if scored.name == REACTIONS and not is_at_hand(REACTIONS_FILE, grid.contents.reactions):
        return False
    if scored.name == HUMAN_TURNS:
        return True
    journal = grid.journal_folder(scored.model, scored.dataset)
    return bool(files_of_journal(journal)) and not has_failed(journal)


def _wrong_key(grid: Grid, scored: Asked, plan: pl.DataFrame) -> Wrong | None:
    """Return the first key of a plan that does not follow from its request."""
    identity = request_identity(grid, scored.model, read_description(grid, scored.model))
    dataset = grid.places.of_dataset(scored.dataset)
    asked_as = pl.col("asked_as").fill_null(dataset)
    asked = plan.drop_nulls("key").select("item", "key", "token_ids", "n_context", asked_as)
    for item, noted, token_ids, n_context, named in asked.iter_rows():
        key = scoring_request(identity, named, item, token_ids, n_context).key
        if key != noted:
            return f"key {short_hash(key)} of a turn of {item}, from its request", short_hash(noted)
    return None

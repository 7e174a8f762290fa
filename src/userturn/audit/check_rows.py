"""Is every answer, user turn and score what was planned, and what the engine wrote?

Each table is recomputed from plans and journals and compared with the present one. Keys and seeds
of requests are recomputed from everything that they depend on.
"""

from collections.abc import Iterator
from pathlib import Path

import polars as pl

from userturn.audit.check_probes import check_headers, check_probes
from userturn.audit.check_sources import is_at_hand
from userturn.audit.findings import Finding, Item, Wrong, difference
from userturn.audit.pair import BrokenError, Pair, findings_of
from userturn.config.endpoint_models import has_endpoint
from userturn.generation.collect import table_of
from userturn.generation.scored_turns import continued, going_on, turns_to_score
from userturn.generation.scorer import SCORING_PLAN_SCHEMA, TURN_SCHEMA, named_rows
from userturn.generation.scores import scores_of
from userturn.models.requests import derive_seed, request_key, role_at, scoring_request
from userturn.prompts.perturbations import NO_REFERENCE
from userturn.sources.candidates import REACTIONS
from userturn.sources.registry import asked, asked_of, judged
from userturn.sources.scores import HUMAN_TURNS
from userturn.sources.source import SCORES, USER_TURNS, Asked, Turns
from userturn.storage.hashing import fingerprint, short_hash
from userturn.storage.journal import files_of_journal
from userturn.storage.journal_table import has_failed
from userturn.storage.table_files import ANSWER_KEYS, TURN_KEYS
from userturn.study.asks import scan_plans
from userturn.study.contents import REACTIONS as REACTIONS_FILE
from userturn.study.grid import Grid
from userturn.study.model_description import (
    longest_text,
    read_description,
    request_identity,
    turn_ends,
)
from userturn.workflow.study_files import FAULTS

ENDS = ("stop", "length")  # why an engine ends a text
NAMED = [
    name
    for name in SCORING_PLAN_SCHEMA
    if name in (*TURN_SCHEMA, "position", "context", "distractor", "n_characters")
]
AGAIN = "fix the cause that the errors name and run snakemake: those requests are sent again"
# What a finding expects of files that were altered together with their hashes.
REQUESTS = "requests that follow from plan, items and the model's description"
HEADERS = "prompts that end in the user header of the model's description"


def check_rows(pair: Pair) -> Iterator[Item]:
    """Yield statuses and faults of plans, rows and probes of a pair's answers and user turns."""
    for of in asked_of(pair.grid, pair.model):
        if of.dataset == pair.dataset and of.kind != SCORES:
            yield from check_table(pair, of)


def check_table(pair: Pair, of: Asked) -> Iterator[Item]:
    """Yield the faults in the plan, the rows and the probes of a table of texts."""
    are_turns = of.kind == USER_TURNS
    if of.goes_on_from and are_turns:
        yield from _conversations(pair, judged(pair.grid)[of.folder])
    folder = (
        f"results/requests/{pair.grid.places.pair_folder(pair.model, pair.dataset)}/{of.identity}"
    )
    yield from findings_of("rows", of.path, REQUESTS, _plan(pair, of, folder))
    if are_turns:
        yield from findings_of("probes", of.path, HEADERS, check_headers(pair, folder))
    yield from findings_of("keys", of.path, REQUESTS, _requests(pair, of))
    if pair.with_journals:
        keys = TURN_KEYS if are_turns else [*ANSWER_KEYS, *["sample"] * (of.n_samples > 1)]

        def recompute() -> pl.DataFrame:
            return pl.concat(table_of(pair.grid, of, pair.outcomes))

        yield from pair.compare("rows", of.path, recompute, keys)
    yield from check_coverage(pair, of.path)
    if are_turns:
        yield from check_probes(pair, of)


def _conversations(pair: Pair, turns: Turns) -> Iterator[Item]:
    depth = asked(pair.grid)[turns.path].depth

    def recompute() -> pl.DataFrame:
        before, turns_before = map(pair.read, turns.input_paths)
        return continued(before, turns_before, depth - 1)

    yield from pair.compare("rows", turns.items, recompute, ["item"])


def _items_of(pair: Pair, of: Asked) -> list[str]:
    if not of.goes_on_from:
        return pair.items
    items = judged(pair.grid)[of.folder].items
    return going_on(pair.read(items))["item"].to_list()


def check_coverage(pair: Pair, path: str) -> Iterator[Finding]:
    """Yield a finding if a table has too large a share of errors, missing references aside."""
    most = pair.grid.config["max_error_share"]
    try:
        table = pair.read(path)
        failed = pl.col("outcome").eq("error") & pl.col("error").ne_missing(NO_REFERENCE)
        n_failed = table.filter(failed).height
    except (BrokenError, *FAULTS):
        return  # reported elsewhere
    if n_failed > most * table.height:
        expected = f"at most {most:.0%} of {table.height} in an error"
        yield Finding("coverage", path, expected, str(n_failed), AGAIN)


def _plan(pair: Pair, of: Asked, folder: str) -> Iterator[Finding]:
    names = [path.name for path in sorted(pair.whole(folder).glob("[!.]*.parquet"))]
    items = set(_items_of(pair, of))
    plans = {n: pair.whole(f"{folder}/{n}") for n in names}
    columns = ["position", "item", "sample"]
    planned = {name: pl.read_parquet(path, columns=columns) for name, path in plans.items()}
    asked_of = fingerprint(request_identity(pair.grid, pair.model, pair.description))
    noted = {name: pl.read_parquet_metadata(path) for name, path in plans.items()}
    rows_asked = {row for table in planned.values() for row in table[:, 1:].iter_rows()}
    n_expected = len(items) * of.n_samples  # any number, if the configuration is forged
    n_right = sum(item in items and 0 <= sample < of.n_samples for item, sample in rows_asked)
    is_whole = n_right == len(rows_asked) == n_expected
    for name, table in planned.items():
        rows, in_order = list(table[:, 1:].iter_rows()), table["position"].is_sorted()
        path, model = f"{folder}/{name}", noted[name].get("model", asked_of)
        if not is_whole or len(rows) != len(set(rows)) or not in_order:
            expected = f"each of {n_expected} items and samples once, in their order"
            actual = f"{len(rows)} rows, {n_right} of them in all shards"
            yield Finding("rows", path, expected, actual)
        if model != asked_of:
            expected, actual = (f"a plan for the model {short_hash(x)}" for x in (asked_of, model))
            yield Finding("rows", path, expected, actual)


def _requests(pair: Pair, of: Asked) -> Iterator[Finding]:
    table, items = pair.read(of.path), _items_of(pair, of)
    sample = pl.col("sample") if "sample" in table.columns else pl.lit(0)
    table = table.with_columns(sample=sample)
    rows = list(table.select("item", "sample").iter_rows())
    n_expected = len(items) * of.n_samples
    if len(rows) != n_expected or rows != [(i, s) for i in items for s in range(of.n_samples)]:
        called = "conversations that go on" if of.goes_on_from else "items"
        each = f"{of.n_samples} rows of each of {len(items)} {called}"
        number = f"{len(rows)} rows of {len({item for item, _ in rows})} items"
        yield Finding("rows", of.path, f"{each}, in their order", number)
        return
    if (wrong := _wrong_request(pair, table, of)) is not None:
        yield Finding("keys", of.path, *wrong)
    if (wrong := _wrong_end(pair, table, of.sampling["max_tokens"])) is not None:
        yield Finding("rows", of.path, *wrong)


def _wrong_request(pair: Pair, table: pl.DataFrame, of: Asked) -> Wrong | None:
    """Return the first seed or key of a table that does not follow from its request, or None."""
    writer = "user" if of.kind == USER_TURNS else "assistant"
    role = role_at(writer, of.depth)
    settings = {**of.sampling, **turn_ends(pair.description, writer)}
    sent = table.filter(pl.col("key").is_not_null())
    identity = request_identity(pair.grid, pair.model, pair.description)
    dataset = pair.grid.places.dataset_name(pair.dataset)
    names = pair.names(of.identity)
    rows = sent.select("item", "sample", "seed", "key", "prompt_token_ids").iter_rows()
    for item, sample, seed, noted, prompt in rows:
        asked_as, asked_item = names.get(noted, (dataset, item))
        derived = None
        if settings["temperature"] > 0:
            derived = derive_seed(pair.grid.config["seed"], role, asked_as, asked_item, sample)
        if seed != derived:
            return f"seed of {item}, sample {sample}, derived from the study's", str(seed)
        key = request_key(identity, asked_as, sample, prompt, {**settings, "seed": seed})
        if key != noted:
            where = f"{item}, sample {sample}"
            return f"key {short_hash(key)} of {where}, from its request", short_hash(noted)
    return None


def _wrong_end(pair: Pair, table: pl.DataFrame, max_tokens: int) -> Wrong | None:
    """Return the first row of a table whose text has an impossible end, or None.

    A server may not tell its number of tokens, so only texts of this machine's engines must be as
    long as the limit that ended them.
    """
    longest = longest_text(pair.grid, pair.model, pair.description)
    is_served = has_endpoint(pair.grid.models[pair.model])
    written = table.filter(pl.col("key").is_not_null() & (pl.col("outcome") != "error"))
    columns = ("item", "finish_reason", "prompt_token_ids", "token_ids")
    for item, reason, prompt, ids in written.select(columns).iter_rows():
        is_short = len(ids) < min(max_tokens, longest - len(prompt))
        if reason not in ENDS or (reason == ENDS[1] and is_short and not is_served):
            return f"the text of {item} to end at a stop or its limit", f"{len(ids)} tokens"
    return None


def check_likelihood(pair: Pair) -> Iterator[Item]:
    """Compare plans and tables of scores with those made again from turns and journals."""
    for scored in asked_of(pair.grid, pair.model):
        if scored.dataset == pair.dataset and scored.kind == SCORES:
            yield from _scores(pair, scored)


def _scores(pair: Pair, scored: Asked) -> Iterator[Item]:
    """Compare each shard's plan with its turns and contexts, and scores with the journal."""
    grid = pair.grid
    folder = grid.requests_folder(scored.model, scored.dataset, scored.identity)
    for file in sorted(folder.glob("[!.]*.parquet")):
        path = f"results/{file.relative_to(grid.results).as_posix()}"
        wrong = _wrong_plan(pair, scored, path, file)
        yield from findings_of("rows", path, "a plan of the dataset's turns", wrong)
    if pair.with_journals:

        def recompute() -> pl.DataFrame:
            return pl.concat(scores_of(grid, scored))

        yield from pair.compare("rows", scored.path, recompute, [*TURN_KEYS, "context"])


def _wrong_plan(pair: Pair, scored: Asked, path: str, file: Path) -> Iterator[Finding]:
    for part in (scored.path, path, pair.path_to_items, f"results/models/{pair.model}.json"):
        pair.whole(part)
    plan, grid = scan_plans([file]).collect(), pair.grid
    wrong = _wrong_turn(grid, scored, file.stem, plan) or _wrong_score(grid, scored, plan)
    if wrong is not None:
        yield Finding("rows", path, *wrong)


def _wrong_turn(grid: Grid, scored: Asked, shard: str, plan: pl.DataFrame) -> Wrong | None:
    if not can_be_derived(grid, scored):
        return None
    rows = [named for named, _, _ in named_rows(turns_to_score(grid, scored, shard))]
    schema = {name: SCORING_PLAN_SCHEMA[name] for name in NAMED}
    expected = pl.DataFrame(rows, schema=schema, orient="row")
    return difference(expected, plan.select(NAMED), ["item", "context"])


def can_be_derived(grid: Grid, scored: Asked) -> bool:
    """Return whether the turns and contexts of a plan can be derived again.

    Fixed turns need the file that the study used, and all but people's turns a journal in which no
    request failed: after a failure, a turn or answer may have arrived later than the plan.
    """
    if scored.name == REACTIONS and not is_at_hand(REACTIONS_FILE, grid.contents.reactions):
        return False
    if scored.name == HUMAN_TURNS:
        return True
    journal = grid.journal_folder(scored.model, scored.dataset)
    return bool(files_of_journal(journal)) and not has_failed(journal)


def _wrong_score(grid: Grid, scored: Asked, plan: pl.DataFrame) -> Wrong | None:
    """Return the first key of a plan that does not follow from its request, or None."""
    identity = request_identity(grid, scored.model, read_description(grid, scored.model))
    dataset = grid.places.dataset_name(scored.dataset)
    asked_as = pl.col("asked_as").fill_null(dataset)
    asked_for = plan.drop_nulls("key").select("item", "key", "token_ids", "n_context", asked_as)
    for item, noted, token_ids, n_context, named in asked_for.iter_rows():
        key = scoring_request(identity, named, item, token_ids, n_context).key
        if key != noted:
            return f"key {short_hash(key)} of a turn of {item}, from its request", short_hash(noted)
    return None

"""Is every answer and user turn what was planned, and what the engine wrote?

Each table is recomputed from plans and journals and compared with the present one. Keys and seeds
of requests are recomputed from everything that they depend on.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import polars as pl

from userturn.audit.check_probes import check_headers
from userturn.audit.findings import Finding, Item, remake
from userturn.audit.pair import BrokenError, Pair
from userturn.audit.table_diff import Wrong
from userturn.config.endpoint_models import has_endpoint
from userturn.generation.collect import answers_of, user_turns_of
from userturn.models.requests import request_key
from userturn.models.seeds import derive_seed, role_at
from userturn.provenance.study_files import FAULTS
from userturn.storage.hashing import fingerprint, short_hash
from userturn.storage.key_columns import ANSWER_KEYS, TURN_KEYS
from userturn.study.cells import Cell, files_of
from userturn.study.model_description import longest_text, request_identity, turn_ends

ENDS = ("stop", "length")  # why an engine ends a text
AGAIN = "fix the cause that the errors name and run snakemake: those requests are sent again"


class Asked(NamedTuple):
    """A table of answers or user turns, and what its requests depend on.

    Attributes:
        path: path of the table, from its rule.
        identity: of its plan.
        role: `assistant` or `user`.
        drawn: how they are sampled, without what ends them.
        n_samples: rows of each item.
        depth: that of self-play.
        items: reads the items that are asked about; those of the dataset if None.
        called: what these items are.
    """

    path: str
    identity: str
    role: str
    drawn: dict[str, Any]
    n_samples: int = 1
    depth: int = 1
    items: Callable[[], list[str]] | None = None
    called: str = "items"

    def items_of(self, pair: Pair) -> list[str]:
        """Return the items that are asked about."""
        return pair.items if self.items is None else self.items()


def check_answers(pair: Pair) -> Iterator[Item]:
    """Yield the faults in the plan of answers, and in the answers."""
    grid, model, dataset = pair.grid, pair.model, pair.dataset
    identity, drawn = grid.answers_identity(model, dataset), grid.answer_settings(model)
    asked = Asked(pair.path_to_answers, identity, "assistant", drawn)
    made = answers_of(grid, model, dataset, pair.outcomes) if pair.with_journals else None
    yield from check_asked(pair, asked, made, ANSWER_KEYS)
    yield from check_coverage(pair, asked.path)


def check_coverage(pair: Pair, path: str) -> Iterator[Finding]:
    """Yield answers, or turns beside the cells, of which too many are errors.

    Those of cells are counted in the table `rates`, which a copy without their rows has, too.
    """
    try:
        errors = pair.read(path).filter(pl.col("outcome") == "error").height
        n, most = pair.read(path).height, pair.grid.config["max_error_share"]
    except (BrokenError, *FAULTS):
        return  # reported elsewhere
    if errors > most * n:
        yield Finding(
            "coverage", path, f"at most {most:.0%} of {n} in an error", str(errors), AGAIN
        )


def check_user_turns(pair: Pair, cell: Cell) -> Iterator[Item]:
    """Yield the faults in the plan of a cell, and in its user turns."""
    grid, path = pair.grid, files_of([cell], "user_turns.parquet")[0]
    n_samples = grid.n_samples(cell.temperature)
    drawn = grid.user_turn_settings(grid.temperatures[cell.temperature])
    asked = Asked(path, grid.cell_identity(cell), "user", drawn, n_samples)
    made = user_turns_of(grid, cell, pair.outcomes) if pair.with_journals else None
    yield from check_asked(pair, asked, made, TURN_KEYS)


def check_asked(
    pair: Pair, asked: Asked, made: Iterator[pl.DataFrame] | None, keys: Sequence[str]
) -> Iterator[Item]:
    """Yield the faults in a plan and its table.

    Args:
        pair: model and dataset of the audited study.
        asked: the table.
        made: its parts made again; None without journals.
        keys: columns that identify a row.
    """
    yield from _plan(pair, asked)
    if asked.role == "user":
        yield from check_headers(pair, asked.path, asked.identity)
    yield from _requests(pair, asked)
    if made is not None:
        yield from pair.held("rows", asked.path, lambda: pl.concat(made), keys)


def _plan(pair: Pair, of: Asked) -> Iterator[Finding]:
    """Compare a plan with the items and samples that it should have."""
    place = pair.grid.places.of_pair(pair.model, pair.dataset)
    folder = f"results/requests/{place}/{of.identity}"
    names = [path.name for path in sorted(pair.whole(folder).glob("[!.]*.parquet"))]
    try:
        items = set(of.items_of(pair))
        plans = {n: pair.whole(f"{folder}/{n}") for n in names}
        columns = ["position", "item", "sample"]
        planned = {name: pl.read_parquet(path, columns=columns) for name, path in plans.items()}
        asked_of = fingerprint(request_identity(pair.grid, pair.model, pair.description))
        noted = {name: pl.read_parquet_metadata(path) for name, path in plans.items()}
    except BrokenError:
        return  # reported elsewhere
    except FAULTS as error:
        yield _not_checked("rows", of.path, error)
        return
    asked = {row for table in planned.values() for row in table[:, 1:].iter_rows()}
    n_wanted = len(items) * of.n_samples  # which may be any number, if the configuration is forged
    n_right = sum(item in items and 0 <= sample < of.n_samples for item, sample in asked)
    is_whole = n_right == len(asked) == n_wanted
    for name, table in planned.items():
        rows, in_order = list(table[:, 1:].iter_rows()), table["position"].is_sorted()
        path, model = f"{folder}/{name}", noted[name].get("model", asked_of)
        if not is_whole or len(rows) != len(set(rows)) or not in_order:
            expected = f"each of {n_wanted} items and samples once, in their order"
            found = f"{len(rows)} rows, {n_right} of them in all shards"
            yield Finding("rows", path, expected, found, remake(path))
        if model != asked_of:
            expected, found = (f"a plan for the model {short_hash(x)}" for x in (asked_of, model))
            yield Finding("rows", path, expected, found, remake(path))


def _not_checked(check: str, path: str, error: Exception) -> Finding:
    """Return that requests cannot be checked: what they are made of was altered, hashes too."""
    expected = "requests that follow from plan, items and the model's description"
    return Finding(check, path, expected, type(error).__name__, remake(path))


def _requests(pair: Pair, asked: Asked) -> Iterator[Finding]:
    """Compare items, samples, seeds and keys with their inputs."""
    path = asked.path
    try:
        table, items = pair.read(path), asked.items_of(pair)
        sample = pl.col("sample") if "sample" in table.columns else pl.lit(0)
        table = table.with_columns(sample=sample)
        rows = list(table.select("item", "sample").iter_rows())
        n_wanted = len(items) * asked.n_samples
        if len(rows) != n_wanted or rows != [(i, s) for i in items for s in range(asked.n_samples)]:
            each = f"{asked.n_samples} rows of each of {len(items)} {asked.called}"
            found = f"{len(rows)} rows of {len({item for item, _ in rows})} items"
            yield Finding("rows", path, f"{each}, in their order", found, remake(path))
            return
        if (wrong := _wrong_request(pair, table, asked)) is not None:
            yield Finding("keys", path, *wrong, remake(path))
        if (wrong := _wrong_end(pair, table, asked.drawn["max_tokens"])) is not None:
            yield Finding("rows", path, *wrong, remake(path))
    except BrokenError:
        return  # reported elsewhere
    except FAULTS as error:
        yield _not_checked("keys", path, error)


def _wrong_request(pair: Pair, table: pl.DataFrame, of: Asked) -> Wrong | None:
    """Return the first seed or key of a table that does not follow from its request."""
    role = role_at(of.role, of.depth)
    drawn = {**of.drawn, **turn_ends(pair.description, of.role)}
    asked = table.filter(pl.col("key").is_not_null())
    identity = request_identity(pair.grid, pair.model, pair.description)
    dataset = pair.grid.places.of_dataset(pair.dataset)
    names = pair.names(of.identity)
    rows = asked.select("item", "sample", "seed", "key", "prompt_token_ids").iter_rows()
    for item, sample, seed, noted, prompt in rows:
        asked_as, asked_item = names.get(noted, (dataset, item))
        derived = None
        if drawn["temperature"] > 0:
            derived = derive_seed(pair.grid.config["seed"], role, asked_as, asked_item, sample)
        if seed != derived:
            return f"seed of {item}, sample {sample}, derived from the study's", str(seed)
        key = request_key(identity, asked_as, sample, prompt, {**drawn, "seed": seed})
        if key != noted:
            where = f"{item}, sample {sample}"
            return f"key {short_hash(key)} of {where}, from its request", short_hash(noted)
    return None


def _wrong_end(pair: Pair, table: pl.DataFrame, max_tokens: int) -> Wrong | None:
    """Return the first row of a table that did not end as any engine ends a text.

    How many tokens a server counted is not known where it told none, so only texts that were
    written here must be as long as the limit that ended them.
    """
    longest = longest_text(pair.grid, pair.model, pair.description)
    is_served = has_endpoint(pair.grid.models[pair.model])
    asked = table.filter(pl.col("key").is_not_null() & (pl.col("outcome") != "error"))
    columns = ("item", "finish_reason", "prompt_token_ids", "token_ids")
    for item, reason, prompt, written in asked.select(columns).iter_rows():
        is_short = len(written) < min(max_tokens, longest - len(prompt))
        if reason not in ENDS or (reason == ENDS[1] and is_short and not is_served):
            return f"the text of {item} to end at a stop or its limit", f"{len(written)} tokens"
    return None

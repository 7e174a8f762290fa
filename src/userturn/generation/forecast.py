"""What sweeps would ask: every pending request planned without a tokenizer, by its ask.

Sweeps and forecasts plan by the same functions. In a forecast a request is known by its ask, a
prompt has no tokens, and a reply is looked for in all journals of the model. A request that follows
from a missing reply counts as missing. A forecast may be too high if different texts give one
prompt, and is too low only by what the prompts alone would tell.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import polars as pl

from userturn.config.formats import answers_as
from userturn.datasets.prepare import Item, files_at_hand, items_table
from userturn.errors import UserError
from userturn.generation.other_names import PLANNER_VERSION, Name, has_seed
from userturn.generation.plan_files import AnyPlan, plan_keys
from userturn.generation.planner import Planned, Planner, Probe
from userturn.generation.scorer import Context as ScoredContext
from userturn.generation.scorer import Exchange, Scorer
from userturn.generation.sweep import complete_plans, present_items
from userturn.generation.sweep_plan import SweepPlans
from userturn.models.requests import Request, Sampling, ScoringRequest
from userturn.prompts.answer_layout import AnswerLayout
from userturn.prompts.chat_template import Prompt, tokens_needed
from userturn.prompts.perturbations import (
    NO_OTHER,
    NO_REFERENCE,
    Context,
    needs_donor,
    needs_reference,
)
from userturn.sources.registry import asked_of
from userturn.storage.files import read_identity
from userturn.storage.journal_table import (
    ASKED_SCHEMA,
    OUTCOME_SCHEMA,
    blocks_of,
    finished_keys,
)
from userturn.storage.table_files import Schema, write_parts
from userturn.study.asks import UNKNOWN, ForecastGrid, asks_of, journal_of, scan_plans
from userturn.study.grid import Grid
from userturn.study.model_description import last_description, longest_text
from userturn.study.sweep_notes import LostPlansError, written_plans

REPLY_SCHEMA: Schema = {**OUTCOME_SCHEMA, **ASKED_SCHEMA, "prompt_end": pl.String}
NO_REQUEST = "no request"  # outcome if no request can be made
NO_PROMPT = Prompt("", ())


@dataclass(frozen=True)
class ForecastPlanner(Planner):
    """A planner whose requests are known by their asks, without prompts."""

    def sampling(self, role: str, settings: Mapping[str, Any]) -> Sampling:
        """Return the sampling settings of a plan, without stops."""
        return Sampling(**settings, stop_token_ids=(), seed=None)

    def _probe(self, own: Context, operator: Mapping[str, Any], hashed: str) -> Probe:
        """Return a probe without prompt, or the reason why there is none."""
        if needs_donor(operator) and (own.donor is None or own.donor.answer is None):
            return Probe(None, error=NO_OTHER)
        if needs_reference(operator) and own.reference is None:
            return Probe(None, error=NO_REFERENCE)
        return Probe(NO_PROMPT, own.answer and own.answer.text, shown=hashed)

    def _answer_prompt(self, item: Item) -> Prompt:
        return NO_PROMPT

    def _request(
        self, row: Planned, role: str, dataset: str, prompt: Prompt, sampling: Sampling
    ) -> Request:
        return Request(_key(row.ask), dataset, row.item, row.sample, prompt, sampling)


def _key(ask: str | None) -> str:
    """Return the ask of a request as its key, or a new key if the ask is unknown."""
    return ask if ask and ask != UNKNOWN else f"{UNKNOWN}{next(_numbers)}"


_numbers = count(1)


@dataclass(frozen=True)
class ForecastScorer(Scorer):
    """A scorer whose requests are known by their asks."""

    def _request(self, exchange: Exchange, context: ScoredContext) -> ScoringRequest:
        return ScoringRequest(_key(self.ask(exchange, context)), self.dataset, exchange.item, (), 0)

    def _texts(self, request: ScoringRequest) -> list[str]:
        return []


@dataclass
class Counting:
    """A runner that counts the requests to which no journal has a reply.

    Attributes:
        names: by ask, the names under which it has a reply.
        present: the items that the study has (`present_items`).
        pending: the identities whose requests are counted.
        missing: by the identity of a plan, how many of its requests have no reply.
        asked: the different requests without a reply.
    """

    names: Mapping[str, set[Name]]
    present: Mapping[Name, str]
    pending: frozenset[str]
    missing: Counter[str] = field(default_factory=Counter)
    asked: set[tuple[str, Name | None]] = field(default_factory=set)
    _occupied: dict[tuple[str, Name], Name] = field(default_factory=dict)

    def complete(self, stage: str, plans: Iterable[AnyPlan]) -> None:
        """Count the requests of some plans."""
        for plan in plans:
            identity = str(read_identity(plan.path))
            if identity not in self.pending:
                continue
            self.missing[identity] += 0
            rows = scan_plans([plan.path]).select("key", "asked_as", "item").drop_nulls("key")
            for key, dataset, item in rows.collect().iter_rows():
                own = (dataset, item) if has_seed(plan) else None
                if not self._is_there(key, own):
                    self.missing[identity] += 1
                    self.asked.add((key, own))

    def _is_there(self, ask: str, own: Name | None) -> bool:
        """Return whether an ask has a reply, under a name free for `own` if that is given."""
        names = self.names.get(ask, ())
        if own is None or own in names:
            return bool(names)
        for name in sorted(names):
            is_claimed = name in self.present and self.present[name] == self.present.get(own)
            if not is_claimed and self._occupied.setdefault((ask, name), own) == own:
                return True
        return False


class Forecast(NamedTuple):
    """The number of requests that a model's sweep would ask.

    Attributes:
        missing: by the identity of a plan, how many of its requests have no reply.
        n_asked: number of different requests without a reply.
        is_known: whether every reply in the journals has its ask, which earlier versions did not
            note.
        outdated: identities of plans whose requests all have replies, some of them under other
            names than the plan on disk has.
    """

    missing: dict[str, int]
    n_asked: int
    is_known: bool
    outdated: list[str]


def forecast(
    grid: Grid, pending: Mapping[str, tuple[Collection[str], Collection[str]]]
) -> dict[str, Forecast]:
    """Return a forecast per model, or no forecasts if some dataset is not at hand.

    `pending` has, by model, the identities of missing answers, cells and scores, and all identities
    on which those may depend.
    """
    with TemporaryDirectory(prefix="userturn-") as folder:
        scratch = Path(folder)
        ready = {name for name in grid.prepared_datasets if _is_ready(grid, name, scratch)}
        replies = {model: replies_of(grid, model) for model in pending}
        rows_by_ask = {
            model: _outcomes_by_ask(grid, model, rows) for model, rows in replies.items()
        }
        again = ForecastGrid(grid.config, grid.results, grid.contents, scratch, rows_by_ask)
        present = present_items(again)
        return {
            model: Forecast(*missing, _outdated(grid, model, missing[0]))
            for model, identities in pending.items()
            if ready == {*grid.prepared_datasets}
            for missing in [_missing(again, model, *identities, replies[model], present)]
        }


def _outdated(grid: Grid, model: str, missing: Mapping[str, int]) -> list[str]:
    """Return the identities of plans that lack no reply, but name requests that have none."""
    complete = [identity for identity, n_missing in missing.items() if not n_missing]
    outdated = []
    for of in asked_of(grid, model, complete):
        with suppress(LostPlansError):  # it is planned anyway
            plans = written_plans(grid.requests_folder(model, of.dataset, of.identity))
            keys = plan_keys(plans)
            if not {*keys} <= finished_keys(journal_of(grid, model, of.dataset, plans), keys):
                outdated.append(of.identity)
    return outdated


def _is_ready(grid: Grid, dataset: str, scratch: Path) -> bool:
    """Return whether a dataset is current, or was now prepared in the scratch folder."""
    if read_identity(grid.dataset_path(dataset)) == grid.dataset_identity(dataset):
        return True
    settings = grid.dataset_settings(dataset)
    try:
        files = files_at_hand(settings)
        if files is not None:
            path = scratch / "datasets" / f"{dataset}.parquet"
            path.parent.mkdir(exist_ok=True)
            write_parts([items_table(settings, files)], path, grid.dataset_identity(dataset))
    except UserError:
        return False
    return files is not None


def replies_of(grid: Grid, model: str) -> pl.DataFrame:
    """Return the finished lines and notes of a model's journals (`REPLY_SCHEMA`).

    Replies of a model that answers alike are included, since its answers are this model's. Lines
    of an earlier version have no ask.
    """
    names = filter(None, [model, answers_as(grid.models, model)])
    journals = [grid.results / "journal" / grid.places.model_name(name) for name in names]
    paths = (path for folder in journals for path in sorted(folder.glob("[!.]*")))
    folders = [path for path in paths if path.is_dir()]
    is_needed = pl.col("outcome").fill_null("") != "error"
    blocks = (block.filter(is_needed) for block in blocks_of(folders, REPLY_SCHEMA))
    return pl.concat([pl.DataFrame(schema=REPLY_SCHEMA), *blocks])


def _outcomes_by_ask(grid: Grid, model: str, rows: pl.DataFrame) -> pl.DataFrame:
    """Return the replies of a model as outcomes, one per ask, with the ask as the key."""
    lines = rows.filter(pl.col("key").is_not_null())
    notes = rows.filter(pl.col("of").is_not_null()).select("of", "ask", "asked_as", "item")
    again = lines.drop("ask", "asked_as", "item", "of").join(notes, left_on="key", right_on="of")
    refused = _refused(grid, model, rows).with_columns(outcome=pl.lit(NO_REQUEST))
    with_ask = pl.concat([lines, again, refused], how="diagonal").drop_nulls("ask")
    return with_ask.with_columns(key="ask").unique("key", keep="first", maintain_order=True)


def _refused(grid: Grid, model: str, rows: pl.DataFrame) -> pl.DataFrame:
    """Return the notes of requests for which still no prompt can be made."""
    limit = longest_text(grid, model, last_description(grid, model))
    is_of_now = pl.col("planner") == PLANNER_VERSION
    notes = rows.filter(pl.col("key").is_null(), pl.col("of").is_null(), is_of_now)
    needed = [tokens_needed(error or "") for error in notes["error"]]
    holds = [n is None or n > limit for n in needed]
    return notes.filter(pl.Series(holds, dtype=pl.Boolean))


def _missing(
    grid: ForecastGrid,
    model: str,
    pending: Collection[str],
    every: Collection[str],
    rows: pl.DataFrame,
    present: Mapping[Name, str],
) -> tuple[dict[str, int], int, bool]:
    """Return `missing`, `n_asked` and `is_known` of a model's forecast."""
    names: defaultdict[str, set[Name]] = defaultdict(set)
    keys = set(rows["key"].drop_nulls())
    with_ask = rows.drop_nulls("ask").select("ask", "asked_as", "item", "key", "of").iter_rows()
    for ask, dataset, item, key, of in with_ask:
        if key is not None or of in keys:
            names[ask].add((dataset, item))
    for ask, dataset, item in _refused(grid, model, rows).select("ask", "asked_as", "item").rows():
        names[ask].add((dataset, item))
    answer_layout = AnswerLayout.recorded(last_description(grid, model))
    counting = Counting(names, present, frozenset(pending))
    asks, seed = asks_of(grid, model), grid.config["seed"]
    planner = ForecastPlanner({}, None, 0, seed, asks)  # type: ignore[arg-type]
    scorer = ForecastScorer({}, None, 1, "", asks)  # type: ignore[arg-type]
    for shard in grid.shards(model):
        with TemporaryDirectory() as scratch:
            identities, folder = frozenset(every), Path(scratch)
            plans = SweepPlans(
                grid, model, shard, identities, planner, scorer, answer_layout, folder
            )
            complete_plans(plans, counting)
    unsaid = rows.filter(pl.col("key").is_not_null(), pl.col("ask").is_null())
    is_known = set(unsaid["key"]) <= set(rows["of"].drop_nulls())
    return dict(counting.missing), len(counting.asked), is_known


def forecasts_as_json(grid: Grid, pending: Mapping[str, Any]) -> dict[str, Any]:
    """Return `forecast` as values of JSON, for `study.grid_elsewhere.asked_elsewhere`."""
    return {model: prediction._asdict() for model, prediction in forecast(grid, pending).items()}

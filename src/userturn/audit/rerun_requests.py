"""Run requests of a finished study again, on this machine, and ask judges again.

The recorded prompt tokens go through the engine of the study's record, each request with its own
seed. A model is loaded in a process of its own, once for texts and once for scores. Judges neither
read nor write journals of the study, and engines write nothing at all.
"""

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import chdir, suppress
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl

from userturn.audit.check_reruns import MOST_APART, Reruns, SampledRow, draw_rows_by, rerun_table
from userturn.audit.pair import artifact_path
from userturn.config.endpoint_models import has_endpoint
from userturn.config.model_keys import ModelEntry
from userturn.endpoints.budget import read_accounts
from userturn.endpoints.usage import Spent, money
from userturn.errors import UserError
from userturn.generation.ask_engine import GenerationRecord, any_record
from userturn.generation.scores import ScoreRecord
from userturn.judges.judge import Judge
from userturn.judges.kinds import kind_of
from userturn.judges.verdict import UserTurn
from userturn.models.engine import load_engine
from userturn.models.engine_setup import engine_settings
from userturn.models.fetch import folder_at_hand, local_path, model_folder, source_identity
from userturn.models.requests import (
    AnyRequest,
    Request,
    Sampling,
    ScoringRequest,
    make_request,
    scoring_request,
)
from userturn.prompts.chat_template import Prompt
from userturn.prompts.load_template import load_template
from userturn.sources.registry import asked, judged, written_verdicts
from userturn.sources.source import SCORES
from userturn.storage.table_files import TURN_KEYS
from userturn.study.aliases import AsDescribed
from userturn.study.asks import names_of, scan_plans
from userturn.study.grid import Grid
from userturn.study.judge import judge_of
from userturn.study.model_description import read_description, request_identity, turn_ends
from userturn.study.record import read_study_record
from userturn.workflow.study_files import FAULTS

SCORED = pl.col("logprob").is_not_null()
FINISHED = pl.col("outcome").is_in(["ok", "empty"]) & pl.col("prompt_token_ids").is_not_null()
OF_A_SERVER = "somebody else served the model, and no server is asked again"
OTHER_KEY = "the recorded settings do not give this request's key"


def regenerate(results: Path, k: int, rng: np.random.Generator) -> Reruns:
    """Run `k` random requests of answers and user turns again, and compare token ids and text."""
    grid = read_study_record(results).grid(results)
    rows_by_model = draw_rows_by("model", generated_tables(grid), FINISHED, k, rng)
    return _rerun(grid, rows_by_model, _text, _equal_text)


def rescore(results: Path, k: int, rng: np.random.Generator) -> Reruns:
    """Score `k` random turns again and compare the score of each token (`equal_scores`).

    A row's context is taken from the plan that has its key.
    """
    grid = read_study_record(results).grid(results)
    paths = sorted(results.glob("likelihood/*/*/[!.]*.parquet"))
    return _rerun(grid, draw_rows_by("model", paths, SCORED, k, rng), _score, _equal_score)


RequestOf = Callable[[Grid, Mapping[str, Any], Mapping[str, Any], SampledRow], AnyRequest | None]
"""Returns a row's request from the grid and its model's description and identity, or None if that
has another key than the row."""
Compared = Callable[[SampledRow, Any], dict[str, Any]]
"""Returns the measures of a row from the row and its new record."""


def _rerun(
    grid: Grid,
    rows_by_model: Mapping[str, list[SampledRow]],
    request_of: RequestOf,
    compared: Compared,
) -> Reruns:
    rows: list[tuple[SampledRow, dict[str, Any]]] = []
    for model, of_model in rows_by_model.items():
        rows += _rerun_of_model(grid, model, of_model, request_of, compared)
    return Reruns(rerun_table(grid.results, rows))


def generated_tables(grid: Grid) -> list[Path]:
    """Return the paths of the tables of answers and user turns that exist, of every source."""
    written = (artifact_path(grid, of.path) for of in asked(grid).values() if of.kind != SCORES)
    return [path for path in written if path.is_file()]


def _rerun_of_model(
    grid: Grid, model: str, rows: list[SampledRow], request_of: RequestOf, compared: Compared
) -> Iterator[tuple[SampledRow, dict[str, Any]]]:
    """Run a model's rows again in a new process, and yield each with its `RERUN_SCHEMA` columns."""
    if model not in grid.models or has_endpoint(grid.models[model]):
        reason = OF_A_SERVER if model in grid.models else "the study's record has no such model"
        yield from ((row, {"reason": reason}) for row in rows)
        return
    try:
        description = read_description(grid, model)
    except FAULTS as error:
        reason = f"results/models/{model}.json cannot be read ({type(error).__name__})"
        yield from ((row, {"reason": reason}) for row in rows)
        return
    identity = request_identity(grid, model, description)
    requests = [request_of(grid, description, identity, row) for row in rows]
    fitting = [request for request in requests if request is not None]
    try:
        records, why_not = _run_apart(grid.results.resolve(), model, fitting)
    except UserError as error:
        records, why_not = {}, str(error)
    for row, request in zip(rows, requests, strict=True):
        if request is None:
            yield row, {"reason": OTHER_KEY}
        elif (record := records.get(request.key)) is None:
            yield row, {"reason": why_not}
        elif record["outcome"] == "error":
            yield row, {"reason": f"the engine refused it: {record['error']}"}
        else:
            yield row, compared(row, record)


def _complete(results: Path, model: str, requests: list[AnyRequest]) -> dict[str, Any]:
    """Return the engine's record of each request by key; requests that it loses have none."""
    grid = read_study_record(results).grid(results)
    entry, description = grid.models[model], read_description(grid, model)
    with chdir(_folder_with_model(grid, entry, description)):
        folder = model_folder(entry["source"], description["revision"])
        template = load_template(folder, entry, grid.config["today"], description)
        settings = engine_settings(grid.config, entry) | {"reads_text": template.has_stop_texts}
        engine = load_engine(grid.config["engine"], folder, settings)
        by_key = {request.key: request for request in requests}
        finished = [done for done in engine(requests) if done is not None]
        return {r.key: any_record(by_key[r.key], c, template) for r, c in finished}


def _folder_with_model(grid: Grid, entry: ModelEntry, description: Mapping[str, Any]) -> Path:
    """Return the folder to which the model path in a model's entry is relative."""
    source, revision = entry["source"], description["revision"]
    folder_identity = AsDescribed(description.get("forms", {})).folder_identity
    for folder in (grid.results.parent, Path.cwd()):
        with chdir(folder), suppress(UserError):
            if local_path(source) is None:
                is_here = folder_at_hand(source, revision or "main") is not None
            else:
                now = source_identity(source, revision, folder_identity)
                is_here = now == description["identity"]["source"]
            if is_here:
                return folder
    raise UserError(
        f"the model '{source}' is not on this machine in the version used; fetch that version, or "
        "audit without `--regenerate`"
    )


def _run_apart(
    results: Path, model: str, requests: list[AnyRequest]
) -> tuple[dict[str, Any], str | None]:
    """Run requests in a new process, and return their records by key and why others are missing."""
    if not requests:
        return {}, None
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        try:
            return pool.submit(_complete, results, model, requests).result(), "the engine lost it"
        except BrokenProcessPool:
            return {}, "the engine's process ended"
        except Exception as error:  # the reason why nothing is compared
            return {}, f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"


def _text(
    grid: Grid, description: Mapping[str, Any], identity: Mapping[str, Any], row: SampledRow
) -> Request | None:
    """Return the request of an answer or user turn, or None if it has another key than the row."""
    values = row.values
    if "perturbation" in values:
        role, settings = "user", grid.user_turn_settings(values["temperature"])
    else:
        role, settings = "assistant", grid.answer_settings(values["model"])
    sampling = Sampling(**settings, **turn_ends(description, role), seed=values["seed"])
    prompt = Prompt(values["prompt_text"], tuple(values["prompt_token_ids"]))
    of_pair = grid.requests_folder(values["model"], values["dataset"], "")
    names = names_of(sorted(of_pair.glob("*/[!.]*.parquet")))
    own = grid.places.dataset_name(values["dataset"]), values["item"]
    dataset, item = names.get(values["key"], own)
    request = make_request(identity, dataset, item, values.get("sample", 0), prompt, sampling)
    return request if request.key == values["key"] else None


def _equal_text(row: SampledRow, record: GenerationRecord) -> dict[str, Any]:
    return {
        "equal_bytes": record["text"] == row.values["text"],
        "equal_tokens": record["token_ids"] == row.values["token_ids"],
    }


def _score(
    grid: Grid, description: Mapping[str, Any], identity: Mapping[str, Any], row: SampledRow
) -> ScoringRequest | None:
    """Return the scoring request of a row, or None if no plan gives its key."""
    values = row.values
    dataset = grid.places.dataset_name(values["dataset"])
    pair = grid.places.pair_folder(values["model"], values["dataset"])
    for path in sorted((grid.results / "requests" / pair).rglob("[!.]*.parquet")):
        if "n_context" not in pl.read_parquet_schema(path):
            continue
        plan = scan_plans([path]).filter(pl.col("key") == values["key"])
        columns = ["token_ids", "n_context", pl.col("asked_as").fill_null(dataset)]
        for ids, n, named in plan.select(columns).head(1).collect().iter_rows():
            request = scoring_request(identity, named, values["item"], ids, n)
            return request if request.key == values["key"] else None
    return None


def _equal_score(row: SampledRow, record: ScoreRecord) -> dict[str, Any]:
    """Return `equal_scores`: whether scores and their total agree within `MOST_APART` a token."""
    logprobs, noted = record["logprobs"], row.values["logprobs"]
    total = abs(sum(logprobs) - row.values["logprob"]) / max(1, len(logprobs))
    apart = [abs(a - b) for a, b in zip(logprobs, noted, strict=False)]
    return {"equal_scores": len(logprobs) == len(noted) and max([total, *apart]) <= MOST_APART}


LABELLED = pl.col("label").is_not_null()
NOT_HERE = "the turn or its item is not in this folder"
Outcome = dict[str, Any]


def rejudge_sample(results: Path, k: int, rng: np.random.Generator) -> Reruns:
    """Ask judges again about `k` random turns that they have labelled, and compare.

    `equal_label` compares labels and `equal_bytes` rationales. These requests may cost money, up to
    the `max_cost` of the study.

    Raises:
        UserError: the folder has no record.
    """
    record = read_study_record(results)
    grid = record.grid(results)
    paths = written_verdicts(results)
    rows: list[tuple[SampledRow, Outcome]] = []
    costs: list[float] = []
    with TemporaryDirectory(prefix="userturn-") as folder:
        scratch = Path(folder)
        texts = {name: str(scratch / f"text{i}") for i, name in enumerate(record.contents.texts)}
        for name, path in texts.items():  # the study's rubrics and prompts
            Path(path).write_text(record.contents.texts[name], encoding="utf-8")
        for name, verdicts in draw_rows_by("judge", paths, LABELLED, k, rng).items():
            turns = [_turn_of(grid, verdict) for verdict in verdicts]
            try:
                outcomes, cost = _judged(_judge(grid, name, scratch, texts), turns)
            except UserError as error:
                outcomes, cost = [{"reason": str(error)}] * len(turns), None
            costs += [] if cost is None else [cost]
            rows += zip(verdicts, outcomes, strict=True)
    return Reruns(rerun_table(results, rows), sum(costs) if costs else None)


def _judge(grid: Grid, name: str, folder: Path, texts: Mapping[str, str]) -> Judge:
    """Return a judge whose texts are read from new paths and whose accounts are in a folder."""
    try:
        judge = judge_of(grid, name)
        own = {k: texts[judge.settings[k]] for k in ("rubric", "prompt") if k in judge.settings}
    except KeyError as error:
        raise UserError(f"the study's record has no {error} for the judge '{name}'") from error
    settings, accounts = {**judge.settings, **own}, folder / "accounts" / name
    return Judge(name, settings, folder, accounts, judge.prices, judge.cap, judge.max_error_share)


def _turn_of(grid: Grid, verdict: SampledRow) -> dict[str, Any] | None:
    """Return the row of a verdict's turn with its item's messages, or None if either is missing.

    The key of the turn's request is set in the verdict's values.
    """
    folder = verdict.path.parent.parent
    turns = pl.scan_parquet(folder / "user_turns.parquet")
    same = [pl.col(name).eq_missing(pl.lit(verdict.values[name])) for name in TURN_KEYS]
    verdict.values["key"] = None
    try:
        row = turns.filter(*same).collect().row(0, named=True)
    except (OSError, pl.exceptions.PolarsError):
        return None
    verdict.values["key"] = row.get("key")
    items = judged(grid).get(folder.relative_to(grid.results).as_posix())
    path = None if items is None else artifact_path(grid, items.items)
    if path is None or not path.is_file():
        return None
    same_item = pl.scan_parquet(path).filter(pl.col("item") == row["item"])
    messages = same_item.select("messages").collect()["messages"].to_list()
    noted_verdict = {"label": verdict.values["label"], "rationale": verdict.values["rationale"]}
    return row | noted_verdict | {"messages": messages[0]} if messages else None


def _judged(judge: Judge, turns: list[dict[str, Any] | None]) -> tuple[list[Outcome], float | None]:
    here = [turn for turn in turns if turn is not None]
    user_turns = [UserTurn(t["messages"], t["answer"] or "", t["text"] or "") for t in here]
    verdicts = iter(kind_of(judge.settings).judge_turns(judge, user_turns, "rejudged"))
    outcomes: list[Outcome] = []
    for turn in turns:
        if turn is None:
            outcomes.append({"reason": NOT_HERE})
        elif (new_verdict := next(verdicts)).label is None:
            outcomes.append({"reason": str(new_verdict.unscored_reason)})
        else:
            equal = {"equal_bytes": new_verdict.rationale == turn["rationale"]}
            outcomes.append(equal | {"equal_label": new_verdict.label == turn["label"]})
    price = judge.prices.get(judge.name)
    spent = sum((account.total for account in read_accounts(judge.accounts)), start=Spent())
    return outcomes, None if price is None else money(spent, price)

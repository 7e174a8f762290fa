"""Run requests of a finished study again, on this machine.

The recorded prompt tokens go through the engine of the study's record, each request with its own
seed. Every model is loaded once, in a process of its own. Nothing is written.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import chdir, suppress
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from userturn.audit.check_reruns import (
    MOST_APART,
    Reruns,
    SampledRow,
    draw_rows_by,
    rerun_table,
)
from userturn.audit.pair import place_of
from userturn.config.endpoint_models import has_endpoint
from userturn.config.model_keys import ModelEntry
from userturn.errors import UserError
from userturn.generation.ask_engine import GenerationRecord, any_record
from userturn.generation.collect_scores import ScoreRecord
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
from userturn.sources.registry import asked
from userturn.sources.source import SCORES
from userturn.study.aliases import AsDescribed
from userturn.study.asks import names_of, scan_plans
from userturn.study.grid import Grid
from userturn.study.model_description import read_description, request_identity, turn_ends
from userturn.study.record import read_study_record
from userturn.workflow.study_files import FAULTS

SCORED = pl.col("logprob").is_not_null()
FINISHED = pl.col("outcome").is_in(["ok", "empty"]) & pl.col("prompt_token_ids").is_not_null()
OF_A_SERVER = "somebody else served the model, and no server is asked again"
OTHER_KEY = "the recorded settings do not give this request's key"


def regenerate(results: Path, k: int, rng: np.random.Generator) -> Reruns:
    """Run `k` random requests of answers and user turns again and compare.

    `equal_tokens` and `equal_bytes` compare token ids and text.

    Raises:
        UserError: the folder has no record.
    """
    grid = read_study_record(results).grid(results)
    return _rerun(grid, generated_tables(grid), FINISHED, k, rng, Kind(_text, _equal_text))


def rescore(results: Path, k: int, rng: np.random.Generator) -> Reruns:
    """Score `k` random turns after random contexts again; `equal_scores` compares each token.

    The context comes from the plan that the row's key names.

    Raises:
        UserError: the folder has no record.
    """
    grid = read_study_record(results).grid(results)
    paths = sorted(results.glob("likelihood/*/*/[!.]*.parquet"))
    return _rerun(grid, paths, SCORED, k, rng, Kind(_score, _equal_score))


class Kind(NamedTuple):
    """How rows of a kind are asked again, and compared.

    Attributes:
        request: the request of a row by grid, description and identity of its model; None if its
            record does not give its key.
        compared: the measures of a row beside its new record, or the reason why there are none.
    """

    request: Callable[[Grid, Mapping[str, Any], Mapping[str, Any], SampledRow], AnyRequest | None]
    compared: Callable[[SampledRow, Any], dict[str, Any]]


def _rerun(
    grid: Grid,
    paths: Sequence[Path],
    is_wanted: pl.Expr,
    k: int,
    rng: np.random.Generator,
    kind: Kind,
) -> Reruns:
    drawn = draw_rows_by("model", paths, is_wanted, k, rng).items()
    rows = [row for model, of in drawn for row in _rerun_of_model(grid, model, of, kind)]
    return Reruns(rerun_table(grid.results, rows))


def generated_tables(grid: Grid) -> list[Path]:
    """Return the paths of the answers and user turns of every source that a study has."""
    written = (place_of(grid, of.path) for of in asked(grid).values() if of.kind != SCORES)
    return [path for path in written if path.is_file()]


def _rerun_of_model(
    grid: Grid, model: str, rows: list[SampledRow], kind: Kind
) -> Iterator[tuple[SampledRow, dict[str, Any]]]:
    """Yield each row of a model with what became of it (`RERUN_SCHEMA`), run again in a process."""
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
    known = request_identity(grid, model, description)
    requests = [kind.request(grid, description, known, row) for row in rows]
    fitting = [request for request in requests if request is not None]
    try:
        records, why_not = _run_apart(grid.results.resolve(), model, fitting)
    except UserError as error:
        records, why_not = {}, str(error)
    for row, request in zip(rows, requests, strict=True):
        if request is None:
            yield row, {"reason": OTHER_KEY}
        elif request.key not in records:
            yield row, {"reason": why_not}
        else:
            yield row, kind.compared(row, records[request.key])


def _complete(results: Path, model: str, requests: list[AnyRequest]) -> dict[str, Any]:
    """Return each request's record by its key, as the study's engine gives it.

    Raises:
        UserError: model or engine are not here.
    """
    grid = read_study_record(results).grid(results)
    entry, description = grid.models[model], read_description(grid, model)
    with chdir(_folder_with_model(grid, entry, description)):
        folder = model_folder(entry["source"], description["revision"])
        template = load_template(folder, entry, grid.config["today"], description)
        settings = engine_settings(grid.config, entry) | {"reads_text": template.has_stop_texts}
        engine = load_engine(grid.config["engine"], folder, settings)
        asked = {request.key: request for request in requests}
        finished = [done for done in engine(requests) if done is not None]
        return {r.key: any_record(asked[r.key], c, template) for r, c in finished}


def _folder_with_model(grid: Grid, entry: ModelEntry, description: Mapping[str, Any]) -> Path:
    """Return the folder to which the path in a model's entry is relative."""
    source, revision = entry["source"], description["revision"]
    known = AsDescribed(description.get("forms", {})).of_folder
    for folder in (grid.results.parent, Path.cwd()):
        with chdir(folder), suppress(UserError):
            if local_path(source) is None:
                is_here = folder_at_hand(source, revision or "main") is not None
            else:
                now = source_identity(source, revision, known)
                is_here = now == description["identity"]["source"]
            if is_here:
                return folder
    raise UserError(f"the model '{source}' is not on this machine in the version used")


def _run_apart(
    results: Path, model: str, requests: list[AnyRequest]
) -> tuple[dict[str, Any], str | None]:
    """Return the records of requests, asked in a new process, or the reason why there are none."""
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
    """Return the request of an answer or user turn, or None if its row does not give its key."""
    values = row.values
    if "perturbation" in values:
        role, drawn = "user", grid.user_turn_settings(values["temperature"])
    else:
        role, drawn = "assistant", grid.answer_settings(values["model"])
    sampling = Sampling(**drawn, **turn_ends(description, role), seed=values["seed"])
    prompt = Prompt(values["prompt_text"], tuple(values["prompt_token_ids"]))
    of_pair = grid.requests_folder(values["model"], values["dataset"], "")
    names = names_of(sorted(of_pair.glob("*/[!.]*.parquet")))
    own = grid.places.of_dataset(values["dataset"]), values["item"]
    dataset, item = names.get(values["key"], own)
    request = make_request(identity, dataset, item, values.get("sample", 0), prompt, sampling)
    return request if request.key == values["key"] else None


def _equal_text(row: SampledRow, record: GenerationRecord) -> dict[str, Any]:
    """Return whether text and tokens are equal."""
    if record["outcome"] == "error":
        return {"reason": f"the engine refused it: {record['error']}"}
    return {
        "equal_bytes": record["text"] == row.values["text"],
        "equal_tokens": record["token_ids"] == row.values["token_ids"],
    }


def _score(
    grid: Grid, description: Mapping[str, Any], identity: Mapping[str, Any], row: SampledRow
) -> ScoringRequest | None:
    """Return the scoring request of a row, or None if no plan gives its key."""
    values = row.values
    dataset = grid.places.of_dataset(values["dataset"])
    pair = grid.places.of_pair(values["model"], values["dataset"])
    for path in sorted((grid.results / "requests" / pair).rglob("[!.]*.parquet")):
        if "n_context" not in pl.read_parquet_schema(path):
            continue
        plan = scan_plans([path]).filter(pl.col("key") == values["key"])
        columns = ["token_ids", "n_context", pl.col("asked_as").fill_null(dataset)]
        for ids, n, named in plan.select(columns).head(1).collect().iter_rows():
            made = scoring_request(identity, named, values["item"], ids, n)
            return made if made.key == values["key"] else None
    return None


def _equal_score(row: SampledRow, record: ScoreRecord) -> dict[str, Any]:
    """Return whether all tokens' scores, and their total, are within `MOST_APART` nats a token."""
    if record["outcome"] == "error":
        return {"reason": f"the engine refused it: {record['error']}"}
    found, noted = record["logprobs"], row.values["logprobs"]
    total = abs(sum(found) - row.values["logprob"]) / max(1, len(found))
    apart = [abs(a - b) for a, b in zip(found, noted, strict=False)]
    return {"equal_scores": len(found) == len(noted) and max([total, *apart]) <= MOST_APART}

"""Run requests of a finished study again, on this machine.

The recorded prompt tokens go through the engine of the study's record, each request with its own
seed. Every model is loaded once, in a process of its own. Nothing is written.
"""

from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import chdir
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import polars as pl

from userturn.audit.pair import place_of
from userturn.audit.rerun_sample import (
    Reruns,
    SampledRow,
    conversation_of,
    draw_rows_by,
    rerun_table,
)
from userturn.config.endpoint_models import has_endpoint
from userturn.config.model_keys import ModelEntry
from userturn.errors import UserError
from userturn.generation.ask_engine import GenerationRecord, any_record
from userturn.judges.kinds import kind_of
from userturn.judges.verdict import UserTurn
from userturn.models.completion import AnyRequest
from userturn.models.engine import load_engine
from userturn.models.engine_settings import engine_settings
from userturn.models.fetch import folder_at_hand, local_path, model_folder, source_identity
from userturn.models.requests import Request, make_request
from userturn.models.sampling import Sampling
from userturn.prompts.chat_template import Prompt
from userturn.prompts.load_template import load_template
from userturn.provenance.study_files import FAULTS
from userturn.sources.registry import asked
from userturn.sources.source import SCORES
from userturn.study.aliases import AsDescribed
from userturn.study.grid import Grid
from userturn.study.judge import judge_of
from userturn.study.model_description import read_description, request_identity, turn_ends
from userturn.study.record import read_study_record
from userturn.study.replies import names_of

FINISHED = pl.col("outcome").is_in(["ok", "empty"]) & pl.col("prompt_token_ids").is_not_null()
OF_A_SERVER = "somebody else served the model, and no server is asked again"
OTHER_KEY = "the recorded settings do not give this request's key"


def regenerate(results: Path, k: int, rng: np.random.Generator) -> Reruns:
    """Run `k` random requests of answers and user turns again and compare.

    `equal_tokens` and `equal_bytes` compare token ids and text. `equal_label` compares the labels
    that a deterministic judge gives both texts; it is null for answers, and without such a judge.

    Args:
        results: results folder of a finished study.
        k: number of requests.
        rng: draws them.

    Raises:
        UserError: the folder has no record.
    """
    grid = read_study_record(results).grid(results)
    paths = generated_tables(grid)
    rows: list[tuple[SampledRow, dict[str, Any]]] = []
    for model, drawn_rows in draw_rows_by("model", paths, FINISHED, k, rng).items():
        rows += rerun_of_model(grid, model, drawn_rows, AsGenerated())
    return Reruns(rerun_table(results, rows))


def generated_tables(grid: Grid) -> list[Path]:
    """Return the paths of the answers and user turns of every source that a study has."""
    written = (place_of(grid, of.path) for of in asked(grid).values() if of.kind != SCORES)
    return [path for path in written if path.is_file()]


class Comparison(Protocol):
    """How rows of a kind are asked again, and compared."""

    def request(
        self,
        grid: Grid,
        description: Mapping[str, Any],
        identity: Mapping[str, Any],
        row: SampledRow,
    ) -> AnyRequest | None:
        """Return the request of a row, or None if its record does not give its key."""

    def compared(self, grid: Grid, row: SampledRow, record: Any) -> dict[str, Any]:
        """Return the measures of a row beside its new record, or the reason why there are none."""


def rerun_of_model(
    grid: Grid, model: str, rows: list[SampledRow], comparison: Comparison
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
    requests = [comparison.request(grid, description, known, row) for row in rows]
    fitting = [request for request in requests if request is not None]
    try:
        records, why_not = _run_apart(ModelRun.of(grid, model, description), fitting)
    except UserError as error:
        records, why_not = {}, str(error)
    for row, request in zip(rows, requests, strict=True):
        if request is None:
            yield row, {"reason": OTHER_KEY}
        elif request.key not in records:
            yield row, {"reason": why_not}
        else:
            yield row, comparison.compared(grid, row, records[request.key])


@dataclass(frozen=True)
class ModelRun:
    """How one model is loaded.

    Attributes:
        engine: name of the engine.
        entry: the model's complete entry.
        revision: the commit that the study used, or None for local files.
        identity: identity of the model's source.
        known: what its description knows its files by.
        settings: settings of the engine.
        today: the date that chat templates are given.
        folders: the folders to which a path in the model's entry may be relative.
    """

    engine: str
    entry: ModelEntry
    revision: str | None
    identity: str
    known: AsDescribed
    settings: dict[str, Any]
    today: str
    folders: tuple[Path, ...]

    @classmethod
    def of(cls, grid: Grid, model: str, description: Mapping[str, Any]) -> "ModelRun":
        """Return how a model of a grid was loaded."""
        config, entry = grid.config, grid.models[model]
        return cls(
            config["engine"],
            entry,
            description["revision"],
            description["identity"]["source"],
            AsDescribed(description.get("forms", {})),
            engine_settings(config, entry),
            config["today"],
            (grid.results.resolve().parent, Path.cwd()),
        )

    def complete(self, requests: list[AnyRequest]) -> dict[str, Any]:
        """Return each request's record by its key; UserError if model or engine are not here."""
        with chdir(self._folder_with_model()):
            folder = model_folder(self.entry["source"], self.revision)
            template = load_template(folder, self.entry, self.today)
            settings = self.settings | {"reads_text": template.has_stop_texts}
            engine = load_engine(self.engine, folder, settings)
            asked = {request.key: request for request in requests}
            finished = [done for done in engine(requests) if done is not None]
            return {r.key: any_record(asked[r.key], c, template) for r, c in finished}

    def _folder_with_model(self) -> Path:
        for folder in self.folders:
            with chdir(folder):
                if self._is_here():
                    return folder
        source = self.entry["source"]
        raise UserError(f"the model '{source}' is not on this machine in the version used")

    def _is_here(self) -> bool:
        source = self.entry["source"]
        try:
            if local_path(source) is None:
                return folder_at_hand(source, self.revision or "main") is not None
            return source_identity(source, self.revision, self.known.of_folder) == self.identity
        except UserError:
            return False


def _run_apart(run: ModelRun, requests: list[AnyRequest]) -> tuple[dict[str, Any], str | None]:
    """Return the records of requests, asked in a new process, or the reason why there are none."""
    if not requests:
        return {}, None
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        try:
            return process.submit(run.complete, requests).result(), "the engine lost it"
        except BrokenProcessPool:
            return {}, "the engine's process ended"
        except Exception as error:  # the reason why nothing is compared
            return {}, f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"


def _equal_label(grid: Grid, row: SampledRow, text: str) -> bool | None:
    """Return whether a deterministic judge labels a turn and its rerun alike, or None."""
    names, values = [grid.primary_judge, *grid.judges], row.values
    name = next((n for n in names if kind_of(grid.judges[n]).IS_DETERMINISTIC), None)
    if name is None or "perturbation" not in values:
        return None
    if text == values["text"]:
        return True
    messages = conversation_of(grid, row.path.parent, values["item"])
    if messages is None:
        return None
    turns = [UserTurn(messages, values["answer"] or "", said) for said in (text, values["text"])]
    judge = judge_of(grid, name)
    first, second = kind_of(judge.settings).judge_turns(judge, turns, "rerun")
    return first.label == second.label


class AsGenerated:
    """Answers and user turns: the same text, tokens and label."""

    def request(
        self,
        grid: Grid,
        description: Mapping[str, Any],
        identity: Mapping[str, Any],
        row: SampledRow,
    ) -> Request | None:
        """Return the request of a row, or None if its record does not give its key."""
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
        sample = values.get("sample", 0)
        request = make_request(identity, dataset, item, sample, prompt, sampling)
        return request if request.key == values["key"] else None

    def compared(self, grid: Grid, row: SampledRow, record: GenerationRecord) -> dict[str, Any]:
        """Return whether text, tokens and label are equal."""
        if record["outcome"] == "error":
            return {"reason": f"the engine refused it: {record['error']}"}
        values = row.values
        return {
            "equal_bytes": record["text"] == values["text"],
            "equal_tokens": record["token_ids"] == values["token_ids"],
            "equal_label": _equal_label(grid, row, record["text"]),
        }

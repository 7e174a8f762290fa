"""A small study on an engine that answers at once, edited and settled as a run would do it."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from tests.support.snakemake_runs import ROOT
from tests.support.tiny_model import write_tiny_model
from userturn.datasets.prepare import prepare_dataset
from userturn.generation.collect import collect_table
from userturn.generation.describe_model import describe_model
from userturn.generation.self_play import collect_self_play
from userturn.generation.sweep import run_sweep
from userturn.models import engine
from userturn.models.requests import AnyRequest, Completion, Engine, ScoringRequest, scores
from userturn.sources.registry import asked, stages
from userturn.sources.self_play import depths
from userturn.sources.source import USER_TURNS, Asked
from userturn.storage.files import read_identity
from userturn.study.contents import FileContents
from userturn.study.grid import Grid
from userturn.workflow.pending import Pending

Config = dict[str, Any]
MODEL = "tiny"
ROWS = [json.loads(line) for line in (ROOT / "data/demo/word_problems.jsonl").open()]


class Settled(NamedTuple):
    """What a run did.

    Attributes:
        had_gpu: whether a sweep that may ask was planned.
        n_said: how many requests the forecast said; None where it knew nothing.
        n_asked: how many requests the engine had.
        n_collected: how many tables of answers, turns and scores were written.
    """

    had_gpu: bool
    n_said: int | None
    n_asked: int
    n_collected: int


class EditedStudy:
    """A study in a folder of its own; the engine writes by the request's key."""

    def __init__(self, folder: Path, config: Config) -> None:
        """Take an empty folder, and a configuration whose paths are absolute."""
        self.folder = folder
        self.config = config
        self.asked: list[str] = []

    @property
    def results(self) -> Path:
        """The results folder."""
        return self.folder / "results"

    def settle(self) -> Settled:
        """Do what a run does: prepare, describe, sweep where it is planned, collect."""
        grid = Grid(deepcopy(self.config), self.results)
        pending = Pending(grid)
        planned = {m: pending.identities(m) if pending.waiting(m) else [] for m in grid.models}
        is_local = {m: pending.lacks_plans_alone(m) for m in grid.models}
        said = [
            pending.forecasts[m]["n_asked"] if m in pending.forecasts else None for m in planned
        ]
        if isinstance(grid.contents, FileContents):
            grid.contents.keep_aliases()
        for name in grid.prepared_datasets:
            path, identity = grid.dataset_path(name), grid.dataset_identity(name)
            if read_identity(path) != identity:
                prepare_dataset(grid.dataset_settings(name), identity, path)
        for model in grid.models:
            path = grid.results / "models" / f"{model}.json"
            if read_identity(path) != grid.model_fingerprint(model):
                path.parent.mkdir(parents=True, exist_ok=True)
                describe_model(grid, model, path)
        self.asked.clear()
        for model, identities in planned.items():
            for shard in grid.shards(model) if identities else ():
                marker = grid.results / "sweeps" / model / f"{shard}.json"
                run_sweep(grid, model, shard, identities, 2, marker, not is_local[model])
        n_collected = self._collect(grid)
        had_gpu = any(planned[m] and not is_local[m] for m in planned)
        n_said = None if None in said else sum(n for n in said if n)
        return Settled(had_gpu, n_said, len(self.asked), n_collected)

    def _collect(self, grid: Grid) -> int:
        """Write every table that is not current, each after those that it is made of."""
        absent = [
            of
            for stage in stages(list(asked(grid).values()))
            for of in stage
            if read_identity(self.folder / of.path) != of.identity
        ]
        for of in absent:
            path = str(self.folder / of.path)
            if of.goes_on_from:
                self._collect_depth(grid, of)
            else:
                collect_table(grid, of, path)
        return len(absent)

    def _collect_depth(self, grid: Grid, of: Asked) -> None:
        at = next(
            at for at in depths(grid) if of.path in (at.path_to_answers, at.path_to_user_turns)
        )
        before = at.previous.path_to_conversations, at.previous.path_to_user_turns
        written = at.path_to_conversations, at.path_to_answers, at.path_to_user_turns
        if of.kind == USER_TURNS:
            paths = [str(self.folder / path) for path in written]
            tables = [asked(grid)[path] for path in written[1:]]
            collect_self_play(grid, tables, [str(self.folder / path) for path in before], *paths)

    def load(self, folder: Path, settings: Mapping[str, Any]) -> Engine:
        """Return an engine that notes what it is asked and writes a text by the request's key."""
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))

        def reply(request: AnyRequest) -> Completion:
            self.asked.append(request.key)
            if isinstance(request, ScoringRequest):
                return scores([-1.0] * (len(request.token_ids) - request.n_context))
            text = f"Reply {request.key[:6]}" + " and so on" * (int(request.key[6:8], 16) % 3)
            ids = tokenizer.encode(text).ids
            return Completion((*ids, request.sampling.stop_token_ids[0]), "stop")

        def complete(requests: Iterable[AnyRequest]) -> Iterator[tuple[AnyRequest, Completion]]:
            for request in requests:
                yield request, reply(request)

        return complete

    def write_rows(self, name: str, rows: Iterable[Mapping[str, Any]], end: str = "\n") -> str:
        """Write rows as a dataset's file, and return its path."""
        path = self.folder / f"{name}.jsonl"
        path.write_bytes("".join(json.dumps(row) + end for row in rows).encode())
        return str(path)


def edited_study(folder: Path, **changes: Any) -> EditedStudy:
    """Return a study of one model, three datasets, samples, and operators of each kind."""
    folder.mkdir(parents=True, exist_ok=True)
    write_tiny_model(folder / "model")
    config: Config = yaml.safe_load((ROOT / "config.yaml").read_text())
    one = EditedStudy(folder, config)
    talk = [json.loads(line) for line in (ROOT / "data/demo/everyday_questions.jsonl").open()]
    prompt = {"prompt": "question", "reference": "answer"}
    config |= {
        "engine": "transformers",
        "seed": 1,
        "samples": 2,
        "temperatures": [0, 1.0],
        "max_error_share": 1,
        "controls": {**config["controls"], "human": []},
        "likelihood": False,
        "models": {
            MODEL: {"source": str(folder / "model"), "dtype": "float32", "max_model_len": 2048}
        },
        "run": {"perturbations": ["none", "truncate", "shuffled_answer", "no_answer"]},
        "datasets": {
            "math": {
                "file": one.write_rows("math", ROWS[:7]),
                "fields": {"id": "id", **prompt},
                "verifier": "numeric",
                "limit": 4,
            },
            "noid": {
                "file": one.write_rows("noid", ROWS[20:24]),
                "fields": prompt,
                "verifier": "numeric",
            },
            "talk": {
                "file": one.write_rows("talk", talk[:3]),
                "fields": {"id": "id", "messages": "messages"},
                "verifier": "none",
            },
        },
    }
    config["answer"] = {**config["answer"], "max_tokens": 40}
    config["user_turn"] = {**config["user_turn"], "max_tokens": 40}
    config["perturbations"]["truncate"] = {"operator": "truncate", "keep": 0.5}
    for key, value in changes.items():
        config[key] = value
    return one


Install = Callable[[EditedStudy], None]


def installed(one: EditedStudy, setitem: Callable[..., None]) -> EditedStudy:
    """Have sweeps of this process load a study's engine; `setitem` is that of `monkeypatch`."""
    setitem(engine.LOADERS, "transformers", one.load)
    return one

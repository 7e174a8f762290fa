"""A million user turns audited: time and memory, beside what writing them took.

From the project's folder: `python benchmarks/auditing.py 1000`, in turns of each of 1,000 cells.
The study is made up by the pipeline's own functions, without an engine; what people label, pictures
and the report are left out of it, so these are all that the audit misses.
"""

import json
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))


from tests.support.collected import collect_answers, collect_user_turns
from tests.support.made_up_results import sentence
from userturn.audit.run import audit
from userturn.config.load import load_config
from userturn.generation.plan_files import write_plan
from userturn.generation.planner import Planned
from userturn.grading.verifiers import grade
from userturn.humans.sample import sample_for_humans
from userturn.judges.judge_cell import judge_cell
from userturn.models.requests import Request, make_request
from userturn.models.sampling import Sampling
from userturn.models.seeds import derive_seed
from userturn.prompts.chat_template import Prompt
from userturn.provenance.job_record import write_record
from userturn.storage.atomic_files import SCHEMA_VERSION, write_json
from userturn.storage.hashing import file_sha256
from userturn.storage.journal import Writer
from userturn.storage.parquet import write_table
from userturn.study.cells import Cell
from userturn.study.grid import Grid
from userturn.study.inputs import RecordedContents
from userturn.study.judge import judge_of
from userturn.study.model_description import read_description, request_identity
from userturn.study.record import StudyRecord
from userturn.tables.make_tables import make_tables
from userturn.workflow.registry import paths_of, tables_of
from userturn.workflow.run_job import identity_of, inputs_of
from userturn.workflow.study import Study

MODELS = [f"model-{number}b" for number in range(1, 11)]
DATASETS = [f"dataset-{number}" for number in range(1, 6)]
PERTURBATIONS = ["none", "truncate", "generic_question", "header_only"]
N_PROMPT, N_ANSWER, N_WORDS = 400, 150, 30  # tokens of a prompt, words of answer and turn


def made_up_study(results: Path) -> tuple[Grid, StudyRecord]:
    """Return a grid of 1,000 cells and its record."""
    config = load_config(["config.yaml"])
    config["models"] = {
        name: {"source": f"made/up-{name}", "revision": "0" * 40} for name in MODELS
    }
    config["datasets"] = {name: {"file": "none", "verifier": "numeric"} for name in DATASETS}
    config["run"] = {"perturbations": PERTURBATIONS, "judges": ["heuristic"]}
    config["controls"] = {"human": [], "planted": 0}
    contents = RecordedContents(
        {name: {"source": name} for name in MODELS},
        {name: name for name in DATASETS},
        {name: config["perturbations"][name] for name in PERTURBATIONS},
        {"heuristic": config["judges"]["heuristic"]},
        "",
        {name: {} for name in config["humans"]["rounds"]},
        {},
        {},
        {},
    )
    record = StudyRecord(config, contents)
    return Grid(config, results, contents), record


def note(results: Path, name: str, outputs: Iterable[Path], inputs: Iterable[Path] = ()) -> None:
    """Write the record of a job."""

    def hashes(paths: Iterable[Path]) -> dict[str, str]:
        return {f"results/{path.relative_to(results)}": file_sha256(path) for path in paths}

    record = {"schema_version": SCHEMA_VERSION, "rule": name.partition("/")[0], "wildcards": {}}
    made = {"outputs": hashes(outputs), "inputs": hashes(inputs), "beside": {}, "journals": {}}
    write_record(results / "provenance" / f"{name}.json", record | made)


def request(grid: Grid, identity: Any, cell: Cell | tuple[str, str], i: int, drawn: Any) -> Request:
    """Return the request about one item of a cell, or of a model's answers."""
    rng = np.random.default_rng([i, *"".join(cell[3:]).encode()])  # no two cells share requests
    prompt = Prompt("a prompt", tuple(rng.integers(0, 50_000, N_PROMPT).tolist()))
    item, role = f"item-{i}", "user" if len(cell) > 2 else "assistant"
    seed = derive_seed(grid.config["seed"], role, cell[1], item, 0)
    sampling = Sampling(**drawn, stop_token_ids=(1,), seed=seed if drawn["temperature"] else None)
    return make_request(identity, cell[1], item, 0, prompt, sampling)


def write_cell(
    grid: Grid, cell: Cell | tuple[str, str], identity: str, drawn: Any, n_turns: int
) -> None:
    """Write plan and journal of a cell, or of a model's answers."""
    model, dataset = cell[:2]
    of_model = request_identity(grid, model, read_description(grid, model))
    rng = np.random.default_rng(abs(hash(cell)) % 2**32)
    plan = []
    with Writer(grid.journal_folder(model, dataset)) as writer:
        for i in range(n_turns):
            asked = request(grid, of_model, cell, i, drawn)
            shown = sentence(np.random.default_rng([i, *"".join(cell[3:]).encode()]), N_ANSWER)
            plan.append(Planned(i, asked.item, 0, asked, shown, "{}"))
            said = {"text": sentence(rng, N_WORDS), "token_ids": list(range(N_WORDS))}
            known = {"key": asked.key, "item": asked.item, "sample": 0, "outcome": "ok"}
            writer.append(known | said | {"finish_reason": "stop", "error": None})
    path = grid.requests_folder(model, dataset, identity) / "1of1.parquet"
    write_plan(plan, path, identity, of_model)
    note(grid.results, f"sweep/{identity}", [path])


def write_pair(results: Path, model: str, dataset: str, n_turns: int) -> None:
    """Write all of one model and dataset, from the journal to the summaries."""
    grid, _ = made_up_study(results)
    study = Study(grid)
    items = grid.dataset_path(dataset)
    answers = results / "answers" / model / f"{dataset}.parquet"
    grades = results / "grades" / model / f"{dataset}.parquet"
    identity = grid.answers_identity(model, dataset)
    write_cell(grid, (model, dataset), identity, grid.answer_settings(model), n_turns)
    collect_answers(grid, model, dataset, str(answers))
    graded = study.grading.identity_of(model, dataset)
    grade("numeric", graded, 1, str(answers), str(items), str(grades))
    note(results, f"grade/{model}/{dataset}", [answers, grades], [items])
    for cell in (cell for cell in grid.cells if cell[:2] == (model, dataset)):
        drawn = grid.user_turn_settings(grid.temperatures[cell.temperature])
        write_cell(grid, cell, grid.cell_identity(cell), drawn, n_turns)
        write_verdicts(grid, study, cell, items)


def write_verdicts(grid: Grid, study: Study, cell: Cell, items: Path) -> None:
    """Write turns, verdicts and human sample of a cell."""
    folder = grid.results / "cells" / cell.folder
    names = ("user_turns", "verdicts/heuristic", "human_sample")
    turns, verdicts, sample = (folder / f"{name}.parquet" for name in names)
    collect_user_turns(grid, cell, str(turns))
    identity = grid.verdicts_identity(cell, "heuristic")
    judge_cell(judge_of(grid, "heuristic"), identity, 0, str(items), str(turns), str(verdicts))
    made, seed = [turns, verdicts], grid.config["seed"]
    if cell in study.humans.cells:
        of_cell = str(turns), str(verdicts), str(sample)
        sample_for_humans(grid.config["humans"], seed, study.humans.sample_identity(cell), *of_cell)
        made.append(sample)
    note(grid.results, f"cells/{cell.folder}", made, [items])


def write_tables(grid: Grid, study: Study) -> None:
    """Write the tables that need nobody's labels."""
    results, tables = grid.results, grid.results / "tables"

    def at(paths: Iterable[str]) -> list[str]:
        return [str(results / path.removeprefix("results/")) for path in paths]

    for rule in study.tables.rules:
        if rule == "compare_with_people":
            continue
        paths = {name: at(found) for name, found in inputs_of(study, rule).items()}
        made = {name: at(paths_of(name)) for name in tables_of(rule)}
        make_tables(grid, identity_of(study, rule), paths, made)
    note(results, "tables", tables.iterdir(), map(Path, at(study.tables.verdicts)))


def write_study(results: Path, n_turns: int) -> None:
    """Write a finished study of 1,000 cells."""
    grid, record = made_up_study(results)
    study = Study(grid)
    write_json(asdict(record), results / "study.json", study.audit.record_identity)
    rng = np.random.default_rng(0)
    asked = [[{"role": "user", "content": sentence(rng, N_WORDS)}] for _ in range(n_turns)]
    items = pl.DataFrame({"item": [f"item-{i}" for i in range(n_turns)], "messages": asked})
    for dataset in DATASETS:
        known = items.with_columns(reference_answer=pl.lit("7"), verifier_arguments=pl.lit("{}"))
        write_table(known, grid.dataset_path(dataset), grid.dataset_identity(dataset))
    for model in MODELS:
        known_of_model = {
            "source": grid.models[model]["source"],
            "revision": "0" * 40,
            "proofs": ["made up"],
            "identity": {"source": model},
            "stop_token_ids": [1],
            "end_of_answer_token_ids": [1],
        }
        path = results / "models" / f"{model}.json"
        write_json(known_of_model, path, grid.model_fingerprint(model))
    sources = [*(results / "datasets").iterdir(), *(results / "models").iterdir()]
    note(results, "sources", [results / "study.json", *sources])
    pairs = [(model, dataset) for model in MODELS for dataset in DATASETS]
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        for done in [pool.submit(write_pair, results, *pair, n_turns) for pair in pairs]:
            done.result()
    write_tables(grid, study)


def main(n_turns: int) -> None:
    """Print what an audit of a study costs."""
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder, "results")
        start = time.perf_counter()
        write_study(results, n_turns)
        written = time.perf_counter()
        found = audit(results)
        seconds = time.perf_counter() - written
        size = sum(path.stat().st_size for path in results.rglob("*") if path.is_file()) / 1e9
    print(
        f"{n_turns * 1000} turns in 1,000 cells, {size:.1f} GB, written in {written - start:.0f} s"
    )
    print(f"audited in {seconds:.0f} s, {found.n_artifacts} artifacts")
    for kind in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        used = resource.getrusage(kind)
        print(f"  at most {used.ru_maxrss / 1024**2:.1f} GB in a process")
    missed = Counter((finding.check, finding.artifact.split("/")[1]) for finding in found.findings)
    print(f"  found: {json.dumps({' '.join(key): n for key, n in missed.items()})}")


if __name__ == "__main__":
    main(int(sys.argv[1]))

"""The programs that ask one endpoint about a list of items: ours, a plain script, and the rivals.

Each is a function from a Job to a command. The rivals run from environments of their own.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import yaml

from userturn.storage.parquet import write_parts

ROOT = Path(__file__).resolve().parent.parent
RIVALS = {"lm-eval": ["lm-eval[api]==0.4.13"], "inspect": ["inspect-ai==0.3.285", "openai==3.*"]}

LM_EVAL_TASK = {
    "task": "probe",
    "dataset_path": "json",
    "test_split": "test",
    "output_type": "generate_until",
    "doc_to_target": "{{answer}}",
    "metric_list": [{"metric": "exact_match"}],
}
INSPECT_TASK = """
from inspect_ai import Task, task
from inspect_ai.dataset import FieldSpec, json_dataset
from inspect_ai.scorer import includes
from inspect_ai.solver import generate, prompt_template

FIELDS = FieldSpec(input="question", target="answer", id="id")

@task
def probe():
    solver = [prompt_template({rubric!r} + " {{prompt}}"), generate()]
    return Task(dataset=json_dataset("items.jsonl", FIELDS), solver=solver, scorer=includes())
"""
PLAIN = """
import asyncio, json, sys
import aiohttp

async def main(url, concurrency, body):
    items = map(json.loads, open("items.jsonl"))
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        with open("answers.jsonl", "a") as journal:
            async def work():
                for item in items:
                    messages = [{"role": "user", "content": item["question"]}]
                    request = body | {"messages": messages}
                    path = url + "/chat/completions"
                    async with session.post(path, json=request) as response:
                        line = json.dumps([item["id"], await response.json()])
                        print(line, file=journal, flush=True)
            await asyncio.gather(*(work() for _ in range(concurrency)))

asyncio.run(main(sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3])))
"""
OURS = """
import json, sys
from pathlib import Path
from userturn.judges.judge import CellToJudge, Judge
from userturn.judges.judge_cell import judge_cell

folder, settings = Path(sys.argv[1]), json.loads(sys.argv[2])
judge = Judge("j", settings, folder, folder / "costs", {}, None, 1.0)
turns, items = str(folder / "turns.parquet"), str(folder / "items.parquet")
judge_cell(judge, "i", settings["concurrency"], items, turns, str(folder / "verdicts.parquet"))
"""


@dataclass(frozen=True)
class Job:
    """What a client is to do; `questions` has one text an item, `rubric` stands before each."""

    folder: Path
    url: str
    questions: tuple[str, ...]
    concurrency: int = 16
    model: str = "m"
    temperature: float = 0.0
    rubric: str = "Answer."


Client = Callable[[Job], list[str]]


def install(folder: Path, packages: list[str]) -> None:
    """Make an environment of some packages, with bytecode, as ours has it."""
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run(["uv", "venv", "-q", str(folder)], check=True)
        options = ["--compile-bytecode", "--python", str(python)]
        subprocess.run(["uv", "pip", "install", "-q", *options, *packages], check=True)


def write_items(job: Job) -> None:
    """Write the items as JSON lines for rivals and plain script."""
    rows = [
        {"id": f"i{number}", "question": question, "answer": "5"}
        for number, question in enumerate(job.questions)
    ]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (job.folder / "items.jsonl").write_text(text)


def plain(job: Job) -> list[str]:
    """Return the command of a script of fifteen lines without any resume."""
    write_items(job)
    body = json.dumps({"model": job.model, "temperature": job.temperature, "max_tokens": 100})
    return [sys.executable, "-c", PLAIN, job.url, str(job.concurrency), body]


def ours(job: Job) -> list[str]:
    """Return the command that judges a cell with one turn an item."""
    ids = [f"i{number}" for number in range(len(job.questions))]
    cell = {"model": "m", "dataset": "d", "temperature": 0.0, "perturbation": "none", "sample": 0}
    turns = pl.DataFrame({"item": ids, "text": job.questions, "answer": "Toast the rice first."})
    states = [pl.lit("ok").alias("outcome"), pl.lit(None, pl.String).alias("error")]
    constants = [pl.lit(value).alias(name) for name, value in cell.items()]
    write_parts([turns.with_columns(*constants, *states)], job.folder / "turns.parquet", "i")
    asked = [[{"role": "user", "content": "How do I cook rice?"}]] * len(ids)
    items = pl.DataFrame({"item": ids, "messages": asked})
    write_parts([items], job.folder / "items.parquet", "i")
    rubric = job.folder / "rubric.yaml"
    text = (ROOT / "data/rubric.yaml").read_text()
    rubric.write_text(text.replace("The turn is something", f"{job.rubric} The turn is something"))
    settings = {
        "kind": "endpoint", "base_url": job.url, "model": job.model, "rubric": str(rubric),
        "prompt": str(ROOT / "data/judge_prompt.txt"), "reply": "json_schema",
        "concurrency": job.concurrency, "timeout": 60,
        "settings": {"max_tokens": 100, "temperature": job.temperature},
        "attempts": 3, "batch": False, "serve": False, "gpus": 1, "vllm": {},
    }  # fmt: skip
    return [sys.executable, "-c", OURS, str(job.folder), json.dumps(settings)]


def lm_eval(environments: Path) -> Client:
    """Return the client lm-evaluation-harness, with the cache that it offers for resuming."""

    def command(job: Job) -> list[str]:
        write_items(job)
        task = LM_EVAL_TASK | {
            "doc_to_text": f"{job.rubric} {{{{question}}}}",
            "dataset_kwargs": {"data_files": {"test": str(job.folder / "items.jsonl")}},
            "generation_kwargs": {
                "until": ["\n\n"],
                "max_gen_toks": 100,
                "temperature": job.temperature,
                "do_sample": job.temperature > 0,
            },
        }
        (job.folder / "probe.yaml").write_text(yaml.safe_dump(task))
        arguments = f"model={job.model},base_url={job.url}/completions,tokenized_requests=False"
        arguments += f",num_concurrent={job.concurrency},tokenizer_backend=None"
        program = str(environments / "lm-eval/bin/lm_eval")
        options = ["--tasks", "probe", "--include_path", ".", "--output_path", "out"]
        options += ["--log_samples", "--use_cache", "cache"]
        return [program, "--model", "local-completions", "--model_args", arguments, *options]

    return command


def inspect(environments: Path) -> Client:
    """Return the client Inspect, as an eval-set: the form of it that resumes."""

    def command(job: Job) -> list[str]:
        write_items(job)
        (job.folder / "probe.py").write_text(INSPECT_TASK.format(rubric=job.rubric))
        key = ["env", "LOOP_API_KEY=none", f"LOOP_BASE_URL={job.url}"]
        program = [str(environments / "inspect/bin/inspect"), "eval-set", "probe.py"]
        options = ["--model", f"openai-api/loop/{job.model}", "--log-dir", "logs"]
        options += ["--max-connections", str(job.concurrency), "--max-tokens", "100"]
        options += ["--temperature", str(job.temperature), "--display", "none"]
        return [*key, *program, *options]

    return command


def clients(environments: Path) -> dict[str, Client]:
    """Return all clients by name."""
    return {
        "userturn": ours,
        "plain script": plain,
        "lm-eval": lm_eval(environments),
        "inspect": inspect(environments),
    }


def fresh(job: Job) -> Job:
    """Return the job, its folder empty."""
    shutil.rmtree(job.folder, ignore_errors=True)
    job.folder.mkdir(parents=True)
    return job


def add_options(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Add the options that say which clients are run and where the rivals are installed."""
    names = ["userturn", "plain script", *RIVALS]
    parser.add_argument("--clients", nargs="+", choices=names, default=names)
    parser.add_argument("--environments", type=Path, help="folder to keep the rivals' in")
    return parser


@contextmanager
def prepared(given: argparse.Namespace) -> Iterator[dict[str, Client]]:
    """Yield the clients that were asked for, those of rivals installed."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = (given.environments or Path(temporary)).resolve()
        for name in RIVALS.keys() & set(given.clients):
            install(folder / name, RIVALS[name])
        yield {name: client for name, client in clients(folder).items() if name in given.clients}

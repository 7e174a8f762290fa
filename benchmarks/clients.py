"""Two programs that ask one endpoint about a list of items: userturn and a plain script.

Each is a function from a Job to a command.
"""

import json
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from userturn.storage.table_files import write_parts

ROOT = Path(__file__).resolve().parent.parent
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
from userturn.judges.judge import judge_cell

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


def write_items(job: Job) -> None:
    """Write the items as JSON lines for the plain script."""
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


def questions(n: int) -> tuple[str, ...]:
    """Return so many different questions."""
    return tuple(f"How hot should the oil be for {number} people?" for number in range(n))


def fresh(job: Job) -> Job:
    """Return the job, its folder empty."""
    shutil.rmtree(job.folder, ignore_errors=True)
    job.folder.mkdir(parents=True)
    return job


CLIENTS: dict[str, Client] = {"userturn": ours, "plain script": plain}

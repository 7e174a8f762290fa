"""A small finished study, edits of it, and what each makes the pipeline ask of model and judge.

How many requests an edit needs is counted below the pipeline: the edited study is swept from
nothing, and what its engine is shown there, less what it was shown before and a file still has, is
needed. At temperature 0 one reply serves all that are shown the same; above, each is a draw.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl
import yaml

from tests.support.answering_engine import ASKED, AT_START, notes, requests_shown
from tests.support.held_engine import hold_engines
from tests.support.judge_server import JudgeServer
from tests.support.slow import starting
from tests.support.snakemake_runs import ROOT, SNAKEMAKE, copy_project
from tests.support.tiny_model import write_tiny_model

Study = dict[str, Any]
Line = dict[str, Any]
Edit = Callable[[Path, Study], object]
DONE = ("judge", "judge_self_play", "judge_candidates", "collect_scores", "grade")
SWEPT = ("sweep",)
NOTED = "USERTURN_TEST_EDITS"  # names a file that outcomes are noted in
PROBLEMS, NAMELESS = "data/problems.jsonl", "data/nameless.jsonl"
STUDY: Study = {
    "run": {
        "models": ["tiny"],
        "datasets": ["problems", "nameless"],
        "temperatures": [0, 1.0],
        "perturbations": ["none", "shuffled_answer"],
        "judges": ["server"],
    },
    "models": {
        "tiny": {"source": "./models/tiny", "gpus": 0, "dtype": "float32", "max_model_len": 1024}
    },
    "datasets": {
        "problems": {
            "file": PROBLEMS,
            "fields": {"id": "id", "prompt": "question", "reference": "answer"},
            "verifier": "numeric",
            "limit": 4,
        },
        "nameless": {  # its ids are made of its content
            "file": NAMELESS,
            "fields": {"prompt": "question", "reference": "answer"},
            "verifier": "numeric",
        },
    },
    "judges": {"server": {"kind": "endpoint", "model": "m", "settings": {"max_tokens": 100}}},
    "primary_judge": "server",
    "answer": {"max_tokens": 120, "samples": 2, "temperature": 0.7},
    "user_turn": {"max_tokens": 80},
    "samples": 2,
    "self_play": {"turns": 2, "datasets": ["problems"]},
    "likelihood": {"datasets": [], "turns": 1, "distractors": 1},
    "controls": {"human": [], "planted": 0, "chance_floor": 0, "edited": 0, "labelled": False},
    "max_unscored_share": 1,
    "engine": "transformers",
}


@dataclass(frozen=True)
class Outcome:
    """What a run after an edit did.

    Attributes:
        needed: requests that no reply is there for.
        asked: requests that the model was asked.
        sweeps: jobs that a dry run plans for a GPU.
        judged: questions to the judge; None if they were not measured.
        judged_again: how many of these it was asked before.
        failed: the last sentences of a run that failed.
    """

    needed: int
    asked: int
    sweeps: int
    judged: int | None
    judged_again: int
    failed: str = ""

    @property
    def is_right(self) -> bool:
        """Whether exactly what was needed was asked, and a GPU for nothing else."""
        is_swept = (self.sweeps > 0) == (self.needed > 0)
        return self.asked == self.needed and is_swept and not self.judged_again and not self.failed


def note_outcome(name: str, outcome: Outcome) -> None:
    """Append an edit's outcome to the file that the environment names, if it names one."""
    if path := os.environ.get(NOTED):
        with Path(path).open("a") as notes:
            notes.write(json.dumps({"edit": name, **asdict(outcome)}) + "\n")


def rows_of(folder: Path, file: str) -> list[dict[str, Any]]:
    """Return the rows of one of the study's files."""
    return [json.loads(line) for line in (folder / file).read_text().splitlines()]


def write_rows(folder: Path, file: str, rows: Sequence[dict[str, Any]]) -> None:
    """Write one of the study's files."""
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / file).write_text(text)


def make(folder: Path, server: JudgeServer) -> None:
    """Make the study and finish it."""
    copy_project(folder)
    write_tiny_model(folder / "models" / "tiny", width=8)
    hold_engines(folder / "engine", ROOT, AT_START)
    (folder / "asked").mkdir()
    problems = rows_of(ROOT, "data/demo/word_problems.jsonl")
    write_rows(folder, PROBLEMS, problems[:6])
    write_rows(folder, NAMELESS, problems[20:23])
    write_study(folder, STUDY, server)
    finished(folder, DONE)
    shutil.rmtree(folder / "engine")  # its path is in it
    bodies = [_question(asked) for asked in server.asked]
    (folder / "judged.json").write_text(json.dumps(bodies))


def write_study(folder: Path, study: Study, server: JudgeServer) -> None:
    """Write the study's configuration; its judges are at a server."""
    for judge in study["judges"].values():
        judge["base_url"] = server.url
    (folder / "study.yaml").write_text(yaml.safe_dump(study, sort_keys=False))


def run(
    folder: Path, until: Sequence[str], *more: str
) -> tuple[subprocess.CompletedProcess[str], list[Line]]:
    """Run the study up to some rules; return what was said, and what the engine noted."""
    starting("Snakemake")
    asked = folder / "asked" / str(len(list((folder / "asked").iterdir())))
    asked.mkdir()
    (asked / "seed").write_text(seed_of(folder))
    path = f"{folder}/engine:{ROOT}/src:{ROOT}"
    done = subprocess.run(
        [SNAKEMAKE, "--configfile", "study.yaml", "--cores", "2", "--until", *until, *more],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": path, ASKED: str(asked)},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    return done, notes(asked)


def finished(folder: Path, until: Sequence[str]) -> list[Line]:
    """Run the study up to some rules, which must succeed; return what the engine noted."""
    done, asked = run(folder, until)
    assert done.returncode == 0, done.stdout
    return asked


def probe(
    original: Path, folder: Path, server: JudgeServer, edits: Sequence[Edit], judges: bool
) -> Outcome:
    """Edit a copy of the finished study, run it, and return what the run did.

    Args:
        original: folder of the finished study.
        folder: of the copy, to be made.
        server: the judge's.
        edits: one after the other; the study is swept after each, and the last run is measured.
        judges: whether the last run goes on to the judges, which takes longer.
    """
    shutil.copytree(original, folder, copy_function=shutil.copy)
    hold_engines(folder / "engine", ROOT, AT_START)
    study = yaml.safe_load((folder / "study.yaml").read_text())
    for edit in edits[:-1]:
        edit(folder, study)
        write_study(folder, study, server)
        finished(folder, SWEPT)
    edits[-1](folder, study)
    write_study(folder, study, server)
    needed = wanted(folder) - held(folder)
    n_before, known = len(server.asked), json.loads((folder / "judged.json").read_text())
    planned = dry_run(folder, DONE)
    may_ask = planned.keys() & {"sweep", "plan_again"}
    done, asked = run(folder, DONE if judges else SWEPT) if judges or may_ask else (None, [])
    questions = [_question(one) for one in server.asked[n_before:]]
    return Outcome(
        needed=needed.total(),
        asked=sum("shown" in line for line in asked),
        sweeps=planned["sweep"],
        judged=len(questions) if judges else None,
        judged_again=len(questions) - len(set(questions) - set(known)),
        failed=done.stdout[-2000:] if done and done.returncode else "",
    )


def dry_run(folder: Path, until: Sequence[str]) -> Counter[str]:
    """Return how many jobs of each rule a run up to some rules plans."""
    done, _ = run(folder, until, "-n")
    assert done.returncode == 0, done.stdout
    rows = re.findall(r"^(\w+) +(\d+)$", done.stdout, re.MULTILINE)
    return Counter({rule: int(n) for rule, n in rows})


def wanted(folder: Path) -> Counter[str]:
    """Return what a model would be shown if the study of a folder was swept from nothing."""
    with TemporaryDirectory() as scratch:
        command = [sys.executable, "-m", "tests.support.sweep_anew", scratch]
        environment = os.environ | {"PYTHONPATH": f"{ROOT}/src:{ROOT}", ASKED: scratch}
        subprocess.run(command, cwd=folder, env=environment, check=True)
        return requests_shown(notes(Path(scratch)))


def seed_of(folder: Path) -> str:
    """Return the seed of a study, as text; another one draws everything above temperature 0."""
    return str(yaml.safe_load((folder / "study.yaml").read_text()).get("seed"))


def held(folder: Path) -> Counter[str]:
    """Return what a model was shown and a journal or table of the folder has the reply to.

    What was drawn with another seed is not.
    """
    keys = set(_keys_of_replies(folder / "results"))
    asked = [
        line
        for once in (folder / "asked").iterdir()
        for line in notes(once)
        if line.get("is_repeatable") or (once / "seed").read_text() == seed_of(folder)
    ]
    once = {line["key"]: line for line in asked if line.get("key") in keys}
    return requests_shown(once.values())


def _keys_of_replies(results: Path) -> Iterator[str]:
    for path in (results / "journal").rglob("*.jsonl"):
        for line in path.open():
            yield json.loads(line)["key"]
    for path in results.rglob("*.parquet"):
        columns = pl.read_parquet_schema(path)
        if "key" in columns and {"text", "logprob"} & set(columns):
            yield from pl.read_parquet(path, columns=["key"])["key"].drop_nulls()


def _question(asked: Any) -> str:
    return json.dumps(asked.body, sort_keys=True)

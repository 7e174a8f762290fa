"""Completes a few requests with one engine in a process of its own: engine, folder, settings."""

import json
import sys
from datetime import date
from pathlib import Path

from transformers import AutoTokenizer

from userturn.engine import load_engine
from userturn.requests import Request, Sampling, make_request
from userturn.templates import Template

QUESTIONS = [
    "How do I keep rice from sticking?",
    "What is seven times eight?",
    "Name a warm colour.",
]


def requests(template: Template) -> list[Request]:
    """Return greedy and sampled continuations of both roles."""
    made = []
    for number, question in enumerate(QUESTIONS):
        messages = [{"role": "user", "content": question}]
        prompts = [template.answer_prompt(messages), template.probe_prompt(messages, "Blue.")]
        for place, prompt in enumerate(prompts):
            for seed in (None, 11 + number):
                temperature = 0.0 if seed is None else 1.0
                stops = template.stop_token_ids
                sampling = Sampling(temperature, 1.0, 0, 0.0, 16, stops, seed)
                made.append(make_request({}, "d", f"{number}/{place}", 0, prompt, sampling))
    return made


if __name__ == "__main__":
    engine, folder, settings = sys.argv[1:]
    template = Template(AutoTokenizer.from_pretrained(folder), date(2026, 4, 2))
    generate = load_engine(engine, Path(folder), json.loads(settings))
    asked = requests(template)
    kept = asked if engine == "vllm" else [r for r in asked if r.sampling.seed is None]
    forwards = {r.key: c.token_ids for r, c in filter(None, generate(kept))}
    turned = kept[::-1] if engine == "vllm" else []
    backwards = {r.key: c.token_ids for r, c in filter(None, generate(turned))}
    greedy = [r.key for r in kept if r.sampling.seed is None]
    print(json.dumps({"forwards": forwards, "backwards": backwards, "greedy": greedy}))

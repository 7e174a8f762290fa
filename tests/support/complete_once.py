"""Completes a few requests with an engine."""

from typing import Any

from userturn.models.requests import Engine, Request, Sampling, make_request
from userturn.prompts.chat_template import Template

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


def complete(generate: Engine, template: Template, samples: bool) -> dict[str, Any]:
    """Return the tokens of each request by key, in two orders, and the keys of greedy ones."""
    asked = [r for r in requests(template) if samples or r.sampling.seed is None]
    forwards = {r.key: c.token_ids for r, c in filter(None, generate(asked))}
    turned = asked[::-1] if samples else []
    backwards = {r.key: c.token_ids for r, c in filter(None, generate(turned))}
    greedy = [r.key for r in asked if r.sampling.seed is None]
    return {"forwards": forwards, "backwards": backwards, "greedy": greedy}

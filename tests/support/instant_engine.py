"""In vLLM's place an engine that answers at once, and notes what each job of SLURM asked.

It is held by a file, as `held_engine` says.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.support.held_engine import held
from userturn.models import engine
from userturn.models.requests import AnyRequest, Completion, Engine, ScoringRequest, scores

ASKED = Path("asked")  # a file for each job, a line for each request
JOB = "SLURM_JOB_ID"
AT_START = f"""
import os
if "{JOB}" in os.environ:  # what others cost is measured
    from tests.support import instant_engine
    instant_engine.install()
"""
TEXTS = [
    "Thanks! And what if there were 12 more of them?",
    "The answer is 12.",
    "How many are there in all?",
    "Are you sure about the first step?",
]


def install() -> None:
    """Replace the engine in this process."""
    engine.LOADERS["vllm"] = load


def load(folder: Path, settings: Mapping[str, Any]) -> Engine:
    """Return the engine, which writes one of a few texts, by the request's key."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    written = [tuple(tokenizer.encode(text).ids) for text in TEXTS]

    def reply(request: AnyRequest) -> Completion:
        if isinstance(request, ScoringRequest):
            return scores([-1.0] * (len(request.token_ids) - request.n_context))
        text = written[int(request.key[:4], 16) % len(written)]
        return Completion((*text, request.sampling.stop_token_ids[0]), "stop")

    def complete(requests: Iterable[AnyRequest]) -> Iterator[tuple[AnyRequest, Completion] | None]:
        ASKED.mkdir(exist_ok=True)
        with (ASKED / os.environ[JOB]).open("a") as note:
            for request in requests:
                print(request.key, file=note, flush=True)
                yield request, reply(request)
                yield None

    return held(complete)

"""In every engine's place one that answers at once, by what it is shown alone, and notes it.

Equal prompts with equal settings get equal replies, whatever their seeds, names and order: of two
studies that show a model the same, it writes the same. What it notes is seen from below the
pipeline, and so counts the requests independently of it.
"""

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from userturn.models import engine
from userturn.models.requests import AnyRequest, Completion, Engine, ScoringRequest, scores

ASKED = "USERTURN_TEST_ASKED"  # names the folder of the notes
AT_START = "from tests.support import answering_engine\nanswering_engine.install()\n"
ANSWERS = [
    "The answer is {}.",
    "{} apples are left. Count what is there, then take away what was sold.",
    "First take the half of it, which is {}. Then add the rest.",
    "Keep it warm for {} minutes and stir now and then.",
]
TURNS = [
    "Thanks! And what if there were {} more of them?",
    "Are you sure about the first step?",
    "The answer is {}.",
    "Why do I have to stir it now and then?",
    "How many are there in all?",
]


def install() -> None:
    """Replace the engines in this process."""
    for name in engine.LOADERS:
        engine.LOADERS[name] = load


def load(folder: Path, settings: Mapping[str, Any]) -> Engine:
    """Return the engine of the model in a folder."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    weights = sha256((folder / "model.safetensors").read_bytes() + settings["dtype"].encode())
    note({"loads": str(folder)})

    def complete(requests: Iterable[AnyRequest]) -> Iterator[tuple[AnyRequest, Completion] | None]:
        for request in requests:
            shown = what_is_shown(weights.hexdigest(), request)
            note({"shown": shown, "key": request.key, "is_repeatable": _is_repeatable(request)})
            yield request, _reply(tokenizer, request, int(shown[:8], 16))
            yield None

    return complete


def what_is_shown(weights: str, request: AnyRequest) -> str:
    """Return the hash of all that a request shows the model: no name, no id, no seed."""
    if isinstance(request, ScoringRequest):
        content: Any = [request.token_ids, request.n_context]
    else:
        sampling = {name: x for name, x in vars(request.sampling).items() if name != "seed"}
        content = [request.prompt.token_ids, sampling, request.sample]
    return sha256(json.dumps([weights, content], sort_keys=True).encode()).hexdigest()


def note(line: dict[str, Any]) -> None:
    """Append a line to the notes of this process."""
    if folder := os.environ.get(ASKED):
        with (Path(folder) / f"{os.getpid()}.jsonl").open("a") as notes:
            notes.write(json.dumps(line) + "\n")


def _is_repeatable(request: AnyRequest) -> bool:
    """Return whether one reply serves all that are shown the same: nothing in it is drawn."""
    return isinstance(request, ScoringRequest) or request.sampling.temperature == 0


def _reply(tokenizer: Any, request: AnyRequest, drawn: int) -> Completion:
    if isinstance(request, ScoringRequest):
        n_scored = len(request.token_ids) - request.n_context
        return scores([-(drawn % 40) / 10 - 0.1] * n_scored)
    is_turn = not request.prompt.text.rstrip().endswith("assistant")
    texts = TURNS if is_turn else ANSWERS
    ids = tokenizer.encode(texts[drawn % len(texts)].format(drawn % 47)).ids
    if len(ids) + 1 > request.sampling.max_tokens:
        return Completion(tuple(ids[: request.sampling.max_tokens]), "length")
    return Completion((*ids, request.sampling.stop_token_ids[0]), "stop")


def notes(folder: Path) -> list[dict[str, Any]]:
    """Return all lines of the notes in a folder."""
    files = sorted(folder.glob("*.jsonl"))
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def requests_shown(lines: Iterable[Mapping[str, Any]]) -> Counter[str]:
    """Return how many replies each thing shown needs: one, if nothing is drawn."""
    counts = Counter(line["shown"] for line in lines if "shown" in line)
    once = {line["shown"] for line in lines if line.get("is_repeatable")}
    return Counter({shown: 1 if shown in once else n for shown, n in counts.items()})

"""The setup of a judge that is served here: its model is asked for by the same rules as any other.

A job of its own loads it on a GPU, so what vLLM would refuse is said before that job waits.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from userturn.endpoints.usage import TOKEN_LIMITS
from userturn.judges.question import judge_prompt
from userturn.models.engine_setup import Setup
from userturn.models.fetch import check_access, check_source, folder_at_hand, is_local
from userturn.models.setup_refusals import check_setup
from userturn.storage.files import given_text

ASKED_FOR_ONE = "scored"  # the kind that writes one token, a letter


def judge_setup(name: str, entry: Mapping[str, Any], folder: Path) -> Setup:
    """Return the setup of a served judge.

    Args:
        name: of the judge.
        entry: complete.
        folder: of its model's files.
    """
    options = entry["vllm"]
    length = options.get("max_model_len")
    return Setup(
        f"judge '{name}'",
        "vllm",
        folder,
        max_model_len=length if type(length) is int else None,
        writes={"a verdict": _written(entry)},
        gpus=entry["gpus"],
        gpu_model=entry.get("gpu_model"),
        dtype=options.get("dtype", "auto"),
        trusts=options.get("trust_remote_code", False),
        options=options,
        prompt_tokens=_shortest_question(entry, folder),
        has_weights=is_local(entry["model"]),
    )


def _written(entry: Mapping[str, Any]) -> int:
    """Return the most tokens of a reply; 1 where the server may write as much as there is room."""
    limits = [entry["settings"].get(key) for key in TOKEN_LIMITS]
    return next((limit for limit in limits if type(limit) is int), 1)


def _shortest_question(entry: Mapping[str, Any], folder: Path) -> int:
    """Return the tokens of rubric and prompt about an empty turn; 1 without a tokenizer.json."""
    path = folder / "tokenizer.json"
    if not path.is_file():
        return 1
    from tokenizers import Tokenizer

    prompt = judge_prompt(given_text(entry["rubric"]), given_text(entry["prompt"]), {})
    about = prompt.user.safe_substitute(marker="", conversation="", turn="")
    tokenizer = Tokenizer.from_file(str(path))
    return sum(len(tokenizer.encode(text).ids) for text in (prompt.system, about))


def check_served_judge(name: str, entry: Mapping[str, Any], asks_hub: bool = True) -> None:
    """Refuse a judge whose model its server could not load, as far as its files are here.

    Args:
        name: of the judge.
        entry: complete.
        asks_hub: whether the hub is asked for a model that is not here.

    Raises:
        UserError: the first reason.
    """
    source, revision = entry["model"], entry.get("revision") or "main"
    check_source(source)
    folder = folder_at_hand(source, revision)
    if folder is not None:
        check_setup(judge_setup(name, entry, folder))
    elif asks_hub and not is_local(source):
        check_access(source, revision)

"""Engines: token ids in, token ids out, each request returned as soon as it is finished.

An engine is a function from many requests to their completions, in the order in which they
finish. Studies use vLLM, or transformers where vLLM cannot be installed or does not know a model.
"""

import os
import re
import stat
import traceback
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from userturn.errors import UserError, how_to_install, sentence
from userturn.models.requests import AnyRequest, Completion, Engine
from userturn.models.transformers import load_transformers
from userturn.models.vllm import load_vllm
from userturn.models.whole_model import check_weight_files

LONGEST = 400  # characters of a reason; vLLM lists every architecture that it knows
ELSEWHERE = re.compile(
    "root cause|background process|initialization failed|see stack trace|check the logs", re.I
)
LOGGED = re.compile(r"(?:ERROR|CRITICAL)\b.*?\] (?:\w+\.)*(\w+(?:Error|Exception)): *(\S.*)")
LOG_BYTES = 1_000_000  # at the end of a log that are searched

# Advice by pattern, of which the first that fits a reason is given.
ADVICE = {
    r"infer device type|no NVIDIA driver|No CUDA GPUs|No CUDA runtime": (
        "run it where `nvidia-smi` works: on a node with a GPU, and in a container with "
        "`--gpus all` (Docker) or `--nv` (Apptainer)"
    ),
    r"out of memory|not enough memory|free memory|KV cache|gpu_memory_utilization|Mamba blocks": (
        "give the model more GPUs (`gpus`), or ask less of them: a smaller max_model_len, or under "
        "`vllm:` a smaller max_num_seqs"
    ),
    r"max_model_len|max_position_embeddings|longer than the model": (
        "set max_model_len of the model's entry to what the model takes"
    ),
    r"quantiz|fp8|mxfp4|compressed.tensors|bitsandbytes": (
        "name a checkpoint in a number format that this build and GPU have"
    ),
    r"architecture|model type|model_type|Unrecognized (?:model|configuration)": (
        "set `engine:` to the other engine, which may know the model, or install a newer one"
    ),
    r"divisible|tensor.parallel|num_heads|attention heads": (
        "choose `gpus` of the model's entry so that they divide its heads"
    ),
    r"unexpected keyword|Input should be|Extra inputs": "correct `vllm:` in the config",
    r"mismatch|shape|safetensors|checkpoint|weights?\b|no file|not find|No such file": (
        "check that the model's files are complete and of one model"
    ),
}


def engine_error(what: str, error: BaseException, log_began: int = 0) -> UserError:
    """Return the error of an engine as a sentence on what it could not do and why.

    `log_began` is the size of this process's log before the engine was started.
    """
    reason = reason_of(error)
    if ELSEWHERE.search(reason) and (logged := logged_reason(log_began)):
        reason = logged
    advice = next(
        (sentence for fits, sentence in ADVICE.items() if re.search(fits, reason, re.I)), None
    )
    return UserError(f"{what}: {reason}{f'; {advice}' if advice else ''}")


def reason_of(error: BaseException) -> str:
    """Return the reason that an error gives, in one line, with the errors that caused it."""
    chain = [error]
    while (cause := chain[-1].__cause__) is not None and cause not in chain:
        chain.append(cause)
    reasons = dict.fromkeys(f"{type(one).__name__}: {_message(one)}" for one in chain)
    return _short(", caused by ".join(reasons))


def _message(error: BaseException) -> str:
    """Return the message of an error, with the field of each error that pydantic lists."""
    list_errors: Any = getattr(error, "errors", None)
    try:
        parts = [_field_message(one) for one in list_errors(include_input=False, include_url=False)]
    except Exception:  # no error of pydantic
        parts = [str(error)]
    return _short("; ".join(parts)) or _raised_at(error)


def _raised_at(error: BaseException) -> str:
    """Return the line of code that raised an error without a message, such as an assertion."""
    frames = traceback.extract_tb(error.__traceback__)
    if not frames or not frames[-1].line:
        return "it gives no reason"
    return f"`{frames[-1].line}` in {Path(frames[-1].filename).name}"


def _field_message(error: dict[str, Any]) -> str:
    field = error["loc"][0] if error["loc"] else ""
    text = str(error["msg"]).removeprefix("Value error, ").removeprefix("Assertion failed, ")
    return f"{field}: {text}" if field else text


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else f"{line[:LONGEST].rsplit(' ', 1)[0]} …"


def log_size() -> int:
    """Return the size of the file that standard error goes to, or 0 if it is no file."""
    status = os.fstat(2)
    return status.st_size if stat.S_ISREG(status.st_mode) else 0


def logged_reason(began: int) -> str | None:
    """Return the first error that an engine's process logged after `began` bytes, or None."""
    try:
        with Path("/proc/self/fd/2").open("rb") as log:
            log.seek(max(began, log_size() - LOG_BYTES))
            lines = log.read().decode(errors="replace").splitlines()
    except OSError:  # a terminal, or no Linux
        return None
    for line in lines:
        if (match := LOGGED.search(line)) and not ELSEWHERE.search(match[2]):
            return _short(f"{match[1]}: {match[2]}")
    return None


def told_in_sentences(name: str, engine: Engine) -> Engine:
    """Return an engine whose own errors `errors.sentence` can tell; those of its requests stay."""

    def generate(requests: Iterable[AnyRequest]) -> Iterator[tuple[AnyRequest, Completion] | None]:
        foreign: list[BaseException] = []

        def watched() -> Iterator[AnyRequest]:
            try:
                yield from requests
            except Exception as error:
                foreign.append(error)
                raise

        log_began = log_size()
        try:
            yield from engine(watched())
        except Exception as error:
            if error in foreign or sentence(error) is not None:
                raise
            what = (
                f"engine '{name}' failed while it wrote; what it had finished is kept, and the "
                "same command goes on from there"
            )
            raise engine_error(what, error, log_began) from error

    return generate


LOADERS = {"vllm": load_vllm, "transformers": load_transformers}


def load_engine(name: str, folder: Path, settings: Mapping[str, Any]) -> Engine:
    """Return the engine of that name with one model loaded, or raise UserError."""
    check_weight_files(folder)
    log_began = log_size()
    try:
        return told_in_sentences(name, LOADERS[name](folder, settings))
    except ModuleNotFoundError as error:
        raise UserError(
            f"engine '{name}' needs the package '{error.name}', which is not installed; "
            f"{how_to_install(name)}, or choose another `engine` in the config"
        ) from error
    except Exception as error:  # an engine may raise anything, and its user needs the reason
        if sentence(error) is not None:
            raise
        raise engine_error(f"engine '{name}' cannot load '{folder}'", error, log_began) from error

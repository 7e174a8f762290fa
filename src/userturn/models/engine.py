"""Engines: token ids in, token ids out, each request returned as soon as it is finished.

An engine is a function from many requests to their completions, in the order in which they
finish. Studies use vLLM, or transformers where vLLM cannot be installed or does not know a model.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from userturn.errors import UserError
from userturn.logs import sentence
from userturn.models.completion import Engine
from userturn.models.engine_errors import engine_error, log_size, told_in_sentences
from userturn.models.transformers import load_transformers
from userturn.models.vllm import load_vllm
from userturn.models.weight_files import check_weight_files

LOADERS = {"vllm": load_vllm, "transformers": load_transformers}


def load_engine(name: str, folder: Path, settings: Mapping[str, Any]) -> Engine:
    """Return the engine of that name with one model loaded.

    Raises:
        UserError: the engine is not installed, or cannot load the model.
    """
    check_weight_files(folder)
    log_began = log_size()
    try:
        return told_in_sentences(name, LOADERS[name](folder, settings))
    except ModuleNotFoundError as error:
        raise UserError(
            f"engine '{name}' needs the package '{error.name}', which is not installed; "
            "run `make setup`, or set `engine: transformers` in the config"
        ) from error
    except Exception as error:  # an engine may raise anything, and its user needs the reason
        if sentence(error) is not None:
            raise
        raise engine_error(f"engine '{name}' cannot load '{folder}'", error, log_began) from error

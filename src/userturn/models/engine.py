"""Engines: token ids in, token ids out, each request returned as soon as it is finished.

An engine is a function from many requests to their completions, in the order in which they
finish. Studies use vLLM, or transformers where vLLM cannot be installed or does not know a model.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from userturn.disk_space import is_full_disk
from userturn.errors import UserError
from userturn.models.completion import Engine
from userturn.models.transformers import load_transformers
from userturn.models.vllm import load_vllm
from userturn.models.weight_files import check_weight_files

UNLOADABLE = (
    OSError,
    ValueError,
    RuntimeError,
    LookupError,
    ImportError,
    AttributeError,
    TypeError,
)
LOADERS = {"vllm": load_vllm, "transformers": load_transformers}


def load_engine(name: str, folder: Path, settings: Mapping[str, Any]) -> Engine:
    """Return the engine of that name with one model loaded.

    Raises:
        UserError: the engine is not installed, or cannot load the model.
    """
    check_weight_files(folder)
    try:
        return LOADERS[name](folder, settings)
    except ModuleNotFoundError as error:
        raise UserError(
            f"engine '{name}' needs the package '{error.name}', which is not installed; "
            "run `make setup`, or set `engine: transformers` in the config"
        ) from error
    except UNLOADABLE as error:
        if is_full_disk(error) or getattr(error, "errno", None):
            raise
        said = next(iter(str(error).splitlines()), "")
        raise UserError(
            f"engine '{name}' cannot load '{folder}' ({type(error).__name__}: {said}); check that "
            "its files are complete and of one model, and that its GPUs have the memory for it"
        ) from error

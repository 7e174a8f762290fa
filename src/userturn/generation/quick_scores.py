"""Score a dataset's reference follow-ups with one model; nothing is kept on disk."""

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl

from userturn.config.chat_models import is_chat
from userturn.datasets.prepare import prepare_dataset
from userturn.errors import UserError
from userturn.generation.collect_scores import scores_of
from userturn.generation.describe_model import describe_model
from userturn.generation.loaded_model import load_model
from userturn.generation.shards import WHOLE
from userturn.generation.sweep import complete_plans, request_runner, sweep_plans
from userturn.signals import StopFlag
from userturn.sources.registry import asked
from userturn.sources.scores import HUMAN_TURNS, scores_path
from userturn.study.grid import Grid
from userturn.study.model_description import read_description


def human_scores(config: Mapping[str, Any], model: str, dataset: str) -> pl.DataFrame:
    """Return a table of scores (`likelihood.collect.SCORES_SCHEMA`), as a study makes it.

    Args:
        config: a study's configuration, whose key `likelihood` has the dataset.
        model: name of the model's entry.
        dataset: name of the dataset's entry.

    Raises:
        UserError: the model or the dataset is not available, or the model's prompts fail the
            checks.
    """
    with TemporaryDirectory(prefix="userturn-") as folder:
        grid = Grid(config, folder)
        if is_chat(grid.models[model]):
            raise UserError(
                f"model '{model}' is behind a chat API, which tells no likelihood of a text; name "
                "one that is loaded here, or a server of completions"
            )
        path = Path(folder, "models", f"{model}.json")
        path.parent.mkdir()
        describe_model(grid, model, path)
        identity = grid.dataset_identity(dataset)
        prepare_dataset(grid.dataset_settings(dataset), identity, grid.dataset_path(dataset))
        loaded = load_model(grid, model, read_description(grid, model))
        scored = asked(grid)[scores_path(model, dataset, HUMAN_TURNS)]
        plans = sweep_plans(grid, loaded, WHOLE, {scored.identity}, folder)
        complete_plans(plans, request_runner(grid, loaded, WHOLE, StopFlag()))
        return pl.concat(scores_of(grid, scored))

"""Does the record of a training say what its recipe, data, base and last checkpoint say?"""

from collections.abc import Iterator
from typing import Any

import polars as pl

from userturn.audit.findings import Finding
from userturn.storage.files import given_object
from userturn.storage.hashing import fingerprint
from userturn.study.grid import Grid
from userturn.training.checkpoint import last_checkpoint, log_of
from userturn.training.kept_change import MOST_LOST
from userturn.workflow.study_files import FAULTS, Files

LEARNT_FROM = ("training", "base_identity", "data_sha256")  # they name the folder of checkpoints


def check_training(files: Files, grid: Grid) -> Iterator[Finding]:
    """Yield the records of trainings that say something else than what they are made of."""
    for model in grid.contents.recipes:
        path = f"results/training/{model}/training.json"
        if path not in files.makers or not files.at(path).is_file():
            continue
        lost = 0.0
        try:
            content = given_object(files.at(path))
            wrong = _wrong(files, grid, model, content)
            lost = float(content.get("kept_change", {}).get("lost") or 0)
        except FAULTS as error:
            wrong = f"not the record of a training ({type(error).__name__})"
        if wrong is not None:
            expected = "what recipe, data, base and last checkpoint say"
            yield Finding("training", path, expected, wrong)
        if not lost <= MOST_LOST:
            expected = f"a swept model that has lost at most {MOST_LOST:.0%} of what was trained"
            yield Finding("training", path, expected, f"{lost:.0%} lost, in its log-probabilities")


def _wrong(files: Files, grid: Grid, model: str, content: dict[str, Any]) -> str | None:
    """Return what a record says that is not so, or None; what is not here is not compared."""
    base = grid.entries[model]["base"]
    if content["artifact"]["identity"] == grid.training_identity(model):
        is_said = {key: content[key] for key in ("base", "recipe", "training")}
        identity = content["artifact"]["identity"]
        if is_said != {"base": base, "recipe": grid.contents.recipes[model], "training": identity}:
            return "another base, recipe or training than the configuration's"
        if (described := files.at(f"results/models/{base}.json")).is_file():
            says = given_object(described)
            about = (content["base_identity"], content["base_revision"])
            if about != (says["identity"], says["revision"]):
                return f"another base than {base} is described as"
    return _of_another_file(files, model, content)


def _of_another_file(files: Files, model: str, content: dict[str, Any]) -> str | None:
    data = f"results/training/{model}/data.parquet"
    if files.at(data).is_file():
        n_rows = pl.read_parquet(files.at(data)).height
        if (content["data_sha256"], content["n_conversations"]) != (files.hashes[data], n_rows):
            return f"other data than {data}"
    learnt_from = fingerprint({key: content[key] for key in LEARNT_FROM})
    if (trained := _trained(files, model)) and learnt_from not in trained:
        return "no checkpoint of such a training"
    _, last = last_checkpoint(files.results / "checkpoints" / model / learnt_from)
    if last is None or content["log"] == log_of(last):
        return None
    return "another log than its last checkpoint has"


def _trained(files: Files, model: str) -> set[str]:
    """Return the folders of checkpoints that the records of a model's trainings name."""
    folder = f"results/checkpoints/{model}/"
    return {name.split("/")[3] for name in files.makers if name.startswith(folder)}

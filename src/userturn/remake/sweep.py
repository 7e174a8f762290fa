"""`userturn remake --sweep`: a study run again from nothing, by its own configuration."""

import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from userturn.config.formats import model_of
from userturn.config.installation import CONFIG
from userturn.config.trust import check_code_may_run, check_is_own, check_key_may_be_sent
from userturn.errors import UserError
from userturn.export.read_archive import opened
from userturn.storage.copied_folder import copy_folder
from userturn.study.grid import Grid
from userturn.study.record import read_study_record
from userturn.workflow.new_study import write_study_folder

SNAKEMAKE = ("snakemake", "--cores", "all")


INSTEAD = (
    "leave it out: tables, figures and report are made again, and nothing is run; or read the "
    "study's configuration and run it as your own"
)


def sweep_again(path: Path, folder: Path, configfiles: Sequence[str] = ()) -> str:
    """Make a folder for a study with its own configuration and texts, and run it there.

    Args:
        path: the results folder of the present folder.
        folder: a new folder.
        configfiles: the study's configuration files besides `config.yaml`.

    Raises:
        UserError: there is no finished study, it is not the user's own, the folder is not empty,
            or the run failed.
    """
    with opened(path) as results:
        record = read_study_record(results)
        check_is_own(path, results, record.config, "--sweep", INSTEAD, configfiles)
        check_is_trusted(record.grid(results))
        write_study_folder(folder)
        # Labels are of turns that were others.
        copy_folder(results.parent / "data", folder / "data", "annotations")
    write_config(record.config, folder)
    if subprocess.run([sys.executable, "-m", *SNAKEMAKE], cwd=folder).returncode:
        raise UserError(
            f"the study was not finished; see above, correct '{folder / CONFIG}' if it is the "
            f"reason, and run `{' '.join(SNAKEMAKE)}` in '{folder}' to go on"
        )
    command = shlex.join(["userturn", "compare", str(path), str(folder / "results")])
    return f"run again; `{command}` shows what differs"


def check_is_trusted(grid: Grid) -> None:
    """Check that a study's record alone sends no key and runs no model's code.

    Raises:
        UserError: it would.
    """
    for name in grid.asked_judges:
        check_key_may_be_sent(name, grid.all_judges[name])
    for name in grid.described:
        check_code_may_run(name, grid.entries[name])
        check_key_may_be_sent(model_of(name), grid.entries[name], "models")


def write_config(config: Mapping[str, Any], folder: Path) -> None:
    """Write a study's whole configuration."""
    text = yaml.safe_dump(dict(config), allow_unicode=True, width=10_000)
    (folder / CONFIG).write_text(f"# The configuration of a study that was made before.\n{text}")

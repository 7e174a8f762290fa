"""`userturn remake --sweep`: a study run again from nothing, by its own configuration."""

import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from userturn.config.load import CONFIG
from userturn.errors import UserError
from userturn.export.read_archive import opened
from userturn.storage.files import copy_folder
from userturn.study.powers import check_may_run
from userturn.study.record import read_study_record
from userturn.workflow.run_folder import write_study_folder

SNAKEMAKE = ("snakemake", "--cores", "all")
INSTEAD = (
    "leave it out: tables, figures and report are made again, and nothing is run; or read the "
    "study's configuration and run it as your own"
)


def sweep_again(
    path: Path, folder: Path, configfiles: Sequence[str] = (), trusted: str | None = None
) -> str:
    """Make a folder for a study with its own configuration and texts, and run it there.

    Args:
        path: a study: a results folder or an archive.
        folder: a new folder.
        configfiles: the study's configuration files besides `config.yaml`, if it is the user's.
        trusted: hash of what the user has confirmed that a stranger's study may do.

    Raises:
        UserError: there is no finished study, it is neither the user's own nor trusted, the folder
            is not empty, or the run failed.
    """
    with opened(path) as results:
        record = read_study_record(results)
        config = record.config
        check_may_run(path, results, config, "--sweep", INSTEAD, configfiles, trusted)
        if not (results.parent / "data").is_dir():
            raise UserError(
                f"'{path}' has no folder `data`, whose texts a run needs; expected an archive that "
                "`userturn export` wrote, or the study's own folder"
            )
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


def write_config(config: Mapping[str, Any], folder: Path) -> None:
    """Write a study's whole configuration."""
    text = yaml.safe_dump(dict(config), allow_unicode=True, width=10_000)
    (folder / CONFIG).write_text(f"# The configuration of a study that was made before.\n{text}")

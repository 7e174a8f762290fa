"""A folder of its own for a study; the workflow stays where it is installed.

The texts that shape results (rubric, prompts, perturbations, captions) are copied: they belong to
the study, which therefore stays the same when the installation changes.
"""

import json
import shutil
from datetime import date
from pathlib import Path

from userturn.config.installation import installed
from userturn.errors import UserError
from userturn.storage.copied_folder import copy_folder

TEMPLATE = "data/new_study"  # Snakefile and config.yaml of a new study
COPIED = ("data", "profiles/default", "profiles/slurm")

EXAMPLE = 'study: {name: My study, date: "2026-04-02"}'  # in the template


def about(folder: Path) -> str:
    """Return what a new study's config says of it: the name of its folder, and today's date."""
    return f'study: {{name: {json.dumps(folder.resolve().name)}, date: "{date.today()}"}}'


def check_is_new(folder: Path) -> None:
    """Check that nothing in a folder would be mixed with what is made there.

    Raises:
        UserError: it is a file, or not empty.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UserError(f"'{folder}' is not empty; expected a new folder: name another")


def write_study_folder(folder: Path) -> None:
    """Make a folder in which `snakemake` runs one study, an example.

    Files keep their times, so that texts older than results remake none of them.

    Args:
        folder: a new or empty folder.

    Raises:
        UserError: the folder is not empty or cannot be made, or the workflow is not installed.
    """
    check_is_new(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"'{folder}' cannot be made ({error.strerror}); name another") from error
    template = installed(TEMPLATE)
    for name in COPIED:
        copy_folder(installed(name), folder / name, template.name)
    copy_folder(template, folder)
    config = folder / "config.yaml"
    config.write_text(config.read_text("utf-8").replace(EXAMPLE, about(folder)), "utf-8")
    (folder / "results").mkdir()
    shutil.copyfile(installed("results/README.md"), folder / "results" / "README.md")
    (folder / "slurm").symlink_to("profiles/slurm")  # `snakemake --profile slurm` finds it there

"""`userturn new`: a folder of its own for a study."""

import argparse
from pathlib import Path

from userturn.workflow.run_folder import write_study_folder

HELP = "make a folder for a study of your own"
EXAMPLES = ("new my-study",)


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    command.add_argument("folder", type=Path)


def run(arguments: argparse.Namespace) -> str:
    """Run the command."""
    write_study_folder(arguments.folder)
    return (
        f"{arguments.folder}/config.yaml is the study: change it, then run `snakemake --cores 2` "
        f"in '{arguments.folder}'"
    )

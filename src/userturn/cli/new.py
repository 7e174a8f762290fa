"""`userturn new`: a folder of its own for a study."""

import argparse
from pathlib import Path

from userturn.cli.terminal import Output
from userturn.workflow.run_folder import write_study_folder

HELP = "make a folder for a study of your own"
EXAMPLES = ("new my-study",)


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    command.add_argument("folder", type=Path, help="new folder")


def run(arguments: argparse.Namespace) -> Output:
    """Run the command."""
    write_study_folder(arguments.folder)
    message = (
        f"{arguments.folder}/config.yaml is the study: change it, then run `snakemake --cores 2` "
        f"in '{arguments.folder}'"
    )
    return Output([message], {"study": f"{arguments.folder}/config.yaml"})

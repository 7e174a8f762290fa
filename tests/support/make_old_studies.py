"""Makes the old studies of tests/fixtures again.

`python -m tests.support.make_old_studies CHECKOUT [NAME ...]`, where CHECKOUT is a clean checkout
of the commit that they were made at. They are made by its code alone, so that every later commit
meets what a user has who updates after a study is finished.
"""

import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.support.answering_engine import AT_START
from tests.support.held_engine import hold_engines
from tests.support.judge_server import Asked, judge_server, says
from tests.support.old_studies import FOLDER, OLD_STUDIES, archive_of
from tests.support.snakemake_runs import PARTS, ROOT, SNAKEMAKE
from tests.support.tiny_model import write_tiny_model

COMMIT = "4e01b3b7b1ad3385c178bd7d5f3633cf4c589e12"
PORT = 8131  # of the judge's server, as made_up.yaml has it
MODELS = ("one", "two")  # of made_up.yaml
KEPT = ("results", ".snakemake/metadata", "models")  # of a study's folder, where it has them
LEFT_OUT = "results/README.md"  # the clone's own
LABELS = ("genuine_followup", "generic", "prompt_restate")


def main(checkout: Path, *names: str) -> None:
    """Make the studies and pack them."""
    for command, expected in (("rev-parse HEAD", COMMIT), ("status --porcelain", "")):
        said = subprocess.check_output(["git", *command.split()], cwd=checkout, text=True).strip()
        if said != expected:
            sys.exit(f"'{checkout}' says {said!r} to git {command}, expected {expected!r}")
    for name in names or OLD_STUDIES:
        with TemporaryDirectory() as scratch:
            folder = Path(scratch) / name
            make(name, checkout.resolve(), folder)
            pack(folder, archive_of(name))


def make(name: str, checkout: Path, folder: Path) -> None:
    """Run a study from nothing to its end and audit it, in a folder to be made."""
    folder.mkdir(parents=True)
    for part in PARTS:
        copy = shutil.copytree if (checkout / part).is_dir() else shutil.copy
        copy(checkout / part, folder / part)
    path = str(checkout / "src")
    if name == "made_up":
        for seed, model in enumerate(MODELS):
            write_tiny_model(folder / "models" / model, seed, width=8)
        shutil.copy(FOLDER / "made_up.yaml", folder)
        path = f"{folder}/engine:{path}:{ROOT}"
        hold_engines(folder / "engine", ROOT, AT_START)
    with judge_server(labelled, port=PORT):
        for command in (["snakemake", *OLD_STUDIES[name]], ["userturn", "audit", "results"]):
            command[0] = str(SNAKEMAKE.with_name(command[0]))
            subprocess.run(command, cwd=folder, check=True, env=os.environ | {"PYTHONPATH": path})


def labelled(asked: Asked) -> bytes:
    """Return a judge's reply, whose label follows from the length of its question."""
    return says(LABELS[len(str(asked.body)) % len(LABELS)])


def pack(folder: Path, archive: Path) -> None:
    """Pack what a finished study's folder has beyond the clone; nobody's name enters."""

    def nameless(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
        member.uid = member.gid = 0
        member.uname = member.gname = ""
        return None if member.name == LEFT_OUT else member

    with tarfile.open(archive, "w:xz", preset=9) as packed:
        for part in KEPT:
            if (folder / part).exists():
                packed.add(folder / part, part, filter=nameless)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])

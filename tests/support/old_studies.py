"""Finished studies of an earlier commit, packed in tests/fixtures."""

import shutil
import tarfile
from pathlib import Path

from tests.support.snakemake_runs import PARTS, ROOT

FOLDER = ROOT / "tests" / "fixtures"
DEMO = ("--profile", "profiles/demo", "--configfile", "profiles/demo/study.yaml")
OLD_STUDIES = {  # by name, what Snakemake is told
    "demo": DEMO,
    "wider": (*DEMO, "profiles/demo/wider.yaml"),
    "made_up": ("--cores", "2", "--configfile", "made_up.yaml"),
}


def archive_of(name: str) -> Path:
    """Return the archive of an old study."""
    return FOLDER / f"{name}.tar.xz"


def unpack(name: str, folder: Path) -> Path:
    """Unpack an old study into a new folder, with the project as it is now; return the folder.

    The demo is as it was: its study of today has other requests.
    """
    folder.mkdir(parents=True)
    for part in PARTS:
        copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy
        copy(ROOT / part, folder / part)
    shutil.copy(FOLDER / "made_up.yaml", folder)
    shutil.copy(FOLDER / "demo.yaml", folder / "profiles" / "demo" / "study.yaml")
    with tarfile.open(archive_of(name)) as archive:
        archive.extractall(folder, filter="data")
    return folder

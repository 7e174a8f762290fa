"""Copies of folders that their owner may change, also where the original may not be changed."""

import shutil
import stat
from pathlib import Path


def copy_folder(folder: Path, to: Path, *left_out: str) -> None:
    """Copy a folder with the times of its files; another that is there is added to.

    Args:
        folder: the folder.
        to: the copy.
        left_out: patterns of names that are not copied.
    """
    ignore = shutil.ignore_patterns(*left_out)
    shutil.copytree(folder, to, ignore=ignore, dirs_exist_ok=True)
    for path in (to, *to.rglob("*")):
        if not path.is_symlink():
            path.chmod(path.stat().st_mode | stat.S_IWUSR)

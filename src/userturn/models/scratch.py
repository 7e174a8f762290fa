"""A model's files on a node's own disk, where reading them from the shared one is slow."""

import os
import shutil
import tempfile
from pathlib import Path

from userturn.errors import UserError
from userturn.models.convert import fill_once
from userturn.storage.hashing import fingerprint

SCRATCH = "USERTURN_SCRATCH"  # a folder, perhaps with variables that only a job has


def scratch_folder(folder: Path) -> tuple[Path, int]:
    """Return where a model's folder is copied to on this node, and its bytes.

    The copy is below $USERTURN_SCRATCH, else in the folder of temporary files ($TMPDIR).

    Raises:
        UserError: the variable names no folder here.
    """
    root = Path(os.path.expandvars(os.environ.get(SCRATCH) or tempfile.gettempdir()))
    if not root.is_dir():
        raise UserError(
            f"{SCRATCH} is '{os.environ.get(SCRATCH)}', which is not a folder on this node; set it "
            "to one that every node has, such as '$TMPDIR' in quotes, or leave local_weights out"
        )
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    states = [[str(path.relative_to(folder)), path.stat().st_mtime_ns] for path in files]
    sizes = [path.stat().st_size for path in files]
    name = fingerprint([str(folder.resolve()), states, sizes])
    return root / "userturn" / name, sum(sizes)


def copy_on_scratch(folder: Path) -> Path:
    """Return a copy of a model's folder on this node's own disk, made once there.

    Raises:
        UserError: $USERTURN_SCRATCH names no folder here, or the files cannot be read.
        OSError: the disk is full.
    """
    target, size = scratch_folder(folder)

    def copy(to: Path) -> None:
        shutil.copytree(folder, to)  # links are followed

    root = target.parent.parent
    return fill_once(target, copy, f"copying {size / 1e9:.1f} GB of weights to {root}, once")

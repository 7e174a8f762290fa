"""Files of a study's folder that Python would take for a library of the same name.

Snakemake puts the folder of the Snakefile before all others from which modules are imported. So a
user's `polars.py` there would be run in place of the library, in the driver and in jobs.
"""

import sys
from importlib.machinery import PathFinder
from pathlib import Path

from userturn.config.installation import INSTALLATION

OWN = INSTALLATION / "tests"  # a package of the clone that some library may be named after


def shadowing(folder: Path) -> Path | None:
    """Return a file or package in a folder that has the name of a library, or None."""
    elsewhere = [path for path in sys.path if Path(path).resolve() != folder.resolve()]
    packages = [path.parent for path in folder.glob("*/__init__.py")]
    for path in sorted([*folder.glob("*.py"), *packages]):
        name, is_own = path.stem, path.resolve() == OWN
        is_known = name in sys.stdlib_module_names or PathFinder.find_spec(name, elsewhere)
        if is_known and not is_own:
            return path
    return None

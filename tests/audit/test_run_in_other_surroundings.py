"""An honest study has no finding and one digest wherever and however it is looked at."""

import json
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from userturn.audit.run import audit

pytestmark = pytest.mark.slow

USERTURN = Path(sys.executable).with_name("userturn")
FONTS = Path("/usr/share/fonts")
NO_FONTS = ("bwrap", "--dev-bind", "/", "/", "--tmpfs", str(FONTS))
Change = Callable[[Path], Path]


class Surroundings(NamedTuple):
    """Where a study is looked at.

    Attributes:
        change: moves or edits a copy of a study, and returns what to audit.
        variables: of the environment.
        before: what stands before the command.
        umask: of the process.
        code: the exit code: 3 where something cannot be compared.
    """

    change: Change = lambda study: study / "results"
    variables: Mapping[str, str] = {}
    before: Sequence[str] = ()
    umask: int = -1
    code: int = 0


def without(*parts: str) -> Change:
    def change(study: Path) -> Path:
        for part in parts:
            shutil.rmtree(study / part)
        return study / "results"

    return change


def elsewhere(study: Path) -> Path:
    return Path(shutil.move(study, study.parent / "eine Studie für uns")) / "results"


def linked(study: Path) -> Path:
    (study.parent / "link").symlink_to(study / "results")
    return study.parent / "link"


def read_only(study: Path) -> Path:
    for path in [*study.rglob("*"), study]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    return study / "results"


def old_and_visited(study: Path) -> Path:
    """Set every time to 1999, and leave what a desktop and an editor leave."""
    for path in study.rglob("*"):
        os.utime(path, (920_000_000, 920_000_000))
    (study / "results" / ".DS_Store").write_text("x")
    (study / "results" / "tables" / ".ipynb_checkpoints").mkdir()
    return study / "results"


def packed(study: Path) -> Path:
    with tarfile.open(study.parent / "a.tar.gz", "w:gz") as made:
        for part in ("results", "data"):
            made.add(study / part, arcname=f"my-study/{part}")
    return study.parent / "a.tar.gz"


ELSEWHERE: dict[str, Surroundings] = {
    "another folder": Surroundings(elsewhere),
    "no data": Surroundings(without("data"), code=3),
    "no captions": Surroundings(without("data/captions"), code=3),
    "no journals": Surroundings(without("results/journal"), code=3),
    "no fonts": Surroundings(
        before=["bwrap", "--dev-bind", "/", "/", "--tmpfs", str(FONTS)], code=3
    ),
    "another locale": Surroundings(variables={"LC_ALL": "tr_TR.UTF-8", "LANG": "tr_TR.UTF-8"}),
    "another time zone": Surroundings(variables={"TZ": "Pacific/Kiritimati"}),
    "one thread, another hash seed": Surroundings(
        variables={"POLARS_MAX_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "7"}
    ),
    "without assertions and docstrings": Surroundings(variables={"PYTHONOPTIMIZE": "2"}),
    "a study that is read only": Surroundings(read_only),
    "a link to the study": Surroundings(linked),
    "another umask": Surroundings(umask=0o077),
    "other times, stray files": Surroundings(old_and_visited),
    "an archive": Surroundings(packed),
}


def digest_of(study: Path, here: Surroundings) -> str:
    """Audit a study in other surroundings; return its digest once nothing was found."""
    place, out = here.change(study), study.parent / "out"
    command = [*here.before, str(USERTURN), "audit", str(place), "--to", str(out)]
    done = subprocess.run(
        command, cwd=study.parent, env={**os.environ, **here.variables},
        umask=here.umask, text=True, capture_output=True,
    )  # fmt: skip
    assert (out / "audit.json").is_file(), done.stdout + done.stderr
    said: dict[str, Any] = json.loads((out / "audit.json").read_text())
    assert (said["findings"], done.returncode) == ([], here.code), done.stdout + done.stderr
    return str(said["digest"])


@pytest.mark.long
@pytest.mark.parametrize("name", ELSEWHERE)
def test_surroundings_change_no_finding_and_no_digest(
    name: str, study: Path, finished_study: Path
) -> None:
    if name == "no fonts" and not (shutil.which("bwrap") and FONTS.is_dir()):
        pytest.skip("bubblewrap takes the fonts away, and there are none")
    assert digest_of(study, ELSEWHERE[name]) == audit(finished_study / "results").digest


def test_all_surroundings_together_change_nothing_either(study: Path, finished_study: Path) -> None:
    """The archive of a copy without data and journals, at another time and place."""

    def everything(copy: Path) -> Path:
        for change in (without("data", "results/journal"), old_and_visited, read_only):
            change(copy)
        return linked(copy)

    variables = {name: value for one in ELSEWHERE.values() for name, value in one.variables.items()}
    here = Surroundings(everything, variables, umask=0o077, code=3)
    assert digest_of(study, here) == audit(finished_study / "results").digest

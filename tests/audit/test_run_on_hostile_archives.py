"""Whatever an archive holds, an audit of it ends in findings or a sentence, and harms nobody."""

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.support.hostile_archives import ARCHIVES, Host, every_edit, zipped
from tests.support.hostile_programs import PACKINGS, PROGRAMS, program

needs_sandbox = pytest.mark.skipif(
    shutil.which("bwrap") is None, reason="bubblewrap is not installed: apt-get install bubblewrap"
)
pytestmark = [pytest.mark.slow, needs_sandbox]
USERTURN = Path(sys.executable).with_name("userturn")
EDITS = {**dict(every_edit()), **PROGRAMS}
PACKED = {**ARCHIVES, **PACKINGS}
READ = ("a long header", "a name that is no text")  # archives of a study that is as it was
IN_THE_GATE = [
    "instruction is the canary by ..",
    "a judge at an address",
    "200,000 temperatures",
    "an unknown verifier",
    "no data",
]
WRITTEN = {"audit.json", "audit.html", "config.yaml"}
LONGEST = 300  # seconds on a busy machine; a look at this study takes some ten


Done = subprocess.CompletedProcess[str]


class Watched:
    """A machine with a canary in its home folder and a server that nobody should reach."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.home = folder, folder / "home"
        for name in ("home", "work"):
            (folder / name).mkdir(parents=True)
        canary = self.home / "canary.txt"
        canary.write_text("secret of the auditor")
        os.utime(canary, (0, canary.stat().st_mtime))
        self.server = socket.create_server(("127.0.0.1", 0))
        self.server.setblocking(False)
        self.host = Host(canary, f"http://127.0.0.1:{self.server.getsockname()[1]}")

    def is_unread(self) -> bool:
        """Return whether nobody read the canary; reading it here must show."""
        unread = self.host.canary.stat().st_atime == 0
        self.host.canary.read_text()
        return unread and self.host.canary.stat().st_atime > 0

    def is_unasked(self) -> bool:
        """Return whether nobody connected."""
        try:
            self.server.accept()
        except BlockingIOError:
            return True
        return False

    def run(self, command: str, study: Path | str, *options: str) -> Done:
        """Audit a study, or make it again, from a folder for itself."""
        return subprocess.run(
            [USERTURN, command, study, "--to", "out", *options],
            cwd=self.folder / "work",
            env=os.environ | {"HOME": str(self.home), "AWS_SECRET_ACCESS_KEY": "canary"},
            text=True, capture_output=True, timeout=LONGEST, errors="replace",
        )  # fmt: skip

    def written(self) -> list[str]:
        """Return what was written but for the audit, and for caches of libraries."""
        found = [path.relative_to(self.folder).as_posix() for path in self.folder.rglob("*")]
        own = ("home/canary.txt", "work/out", "home/.", "study", "theirs")
        return sorted({name for name in found if not name.startswith(own)} - {"home", "work"})


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Watched]:
    machine = Watched(tmp_path)
    yield machine
    machine.server.close()


def check(watched: Watched, study: Path | str, *options: str) -> Done:
    """Audit a study, and check that it was read to its end or refused, and did nothing."""
    before = watched.written()
    done = watched.run("audit", study, *options)
    assert "Traceback" not in done.stderr + done.stdout, done.stderr[-3000:]
    assert watched.is_unasked() and watched.is_unread() and watched.written() == before
    assert {path.name for path in (watched.folder / "work/out").rglob("*")} <= WRITTEN
    assert "secret of the auditor" not in done.stdout + done.stderr
    if done.returncode == 2:
        errors = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
        assert len(errors) == 1 and not (watched.folder / "work/out/audit.json").exists(), done
    else:
        assert done.returncode in (0, 1, 3) and ", digest " in done.stdout, done
        page = (watched.folder / "work/out/audit.html").read_text("utf-8")
        assert "<script" not in page and "<img" not in page
    return done


def of_edit(name: str, finished_study: Path, watched: Watched) -> Path:
    """Return an archive of the study with an attack in it."""
    study, archive = watched.folder / "study", watched.folder / "theirs.zip"
    for part in ("results", "data"):
        shutil.copytree(finished_study / part, study / part)
    EDITS[name](study, watched.host)
    zipped(study, archive)
    shutil.rmtree(study)
    return archive


def test_there_are_more_than_a_hundred_archives() -> None:
    assert len(EDITS) + len(PACKED) > 125


@pytest.mark.parametrize(
    "name",
    [name if name in IN_THE_GATE else pytest.param(name, marks=pytest.mark.long) for name in EDITS],
)
def test_attack_by_what_a_study_holds(name: str, finished_study: Path, watched: Watched) -> None:
    check(watched, of_edit(name, finished_study, watched))


@pytest.mark.long
@pytest.mark.parametrize(
    "name",
    ["instruction is the canary by ..", "a figure's picture", "aliases that lead out", "no data"],
)
def test_an_archive_that_is_made_again_reads_and_sends_nothing(
    name: str, finished_study: Path, watched: Watched
) -> None:
    done = watched.run("remake", of_edit(name, finished_study, watched))
    assert "Traceback" not in done.stderr + done.stdout and done.returncode in (0, 1), done
    assert watched.is_unasked() and watched.is_unread() and watched.written() == []


@pytest.mark.long
@pytest.mark.parametrize("place", ["the canary", "the canary by ..", "the home folder"])
def test_an_archive_that_is_unpacked_in_the_present_folder_is_still_a_strangers(
    place: str, finished_study: Path, watched: Watched
) -> None:
    with ZipFile(of_edit(f"instruction is {place}", finished_study, watched)) as archive:
        archive.extractall(watched.folder / "work")
    assert "paths: results/study.json" in check(watched, "results").stdout


@pytest.mark.long
@pytest.mark.parametrize("kind", ["AutoTokenizer", "AutoConfig"])
def test_code_beside_a_tokenizer_is_not_run_to_render_its_prompts(
    kind: str, finished_study: Path, watched: Watched
) -> None:
    study, archive = watched.folder / "study", watched.folder / "theirs.zip"
    for part in ("results", "data", "models"):
        shutil.copytree(finished_study / part, study / part)
    model = study / "models/tiny"
    (model / "evil.py").write_text(program(watched.host))
    named = "tokenizer_config.json" if kind == "AutoTokenizer" else "config.json"
    said = json.loads((model / named).read_text())
    for name in ("tokenizer_class", "model_type"):
        said.pop(name, None)
    code = ["evil.Evil", "evil.Evil"] if kind == "AutoTokenizer" else "evil.Evil"
    (model / named).write_text(json.dumps(said | {"auto_map": {kind: code}}))
    zipped(study, archive)
    shutil.rmtree(study)
    check(watched, archive, "--tokenizer")


@pytest.mark.long
@pytest.mark.parametrize("name", PACKED)
def test_attack_by_the_archive(name: str, finished_study: Path, watched: Watched) -> None:
    archive = watched.folder / "theirs.zip"
    study = watched.folder / "study"
    for part in ("results", "data"):
        shutil.copytree(finished_study / part, study / part)
    PACKED[name](study, archive)
    shutil.rmtree(study)
    assert check(watched, archive).returncode == (0 if name in READ else 2)

"""Fixtures: one finished study that tests copy and disturb, and a browser."""

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from hypothesis import settings

from tests.support.slow import SLOW
from tests.support.snakemake_runs import copy_project, run
from tests.support.tiny_model import write_tiny_model
from userturn.audit import check_files
from userturn.export.secrets import Secret
from userturn.html import chart

# Several tests share the cores: threads that spin while they wait for one another cost them most.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
# No test fails for being slow on a busy machine.
settings.register_profile("userturn", deadline=None)
settings.load_profile("userturn")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Tell what starts something whether the test that asks for it is marked slow."""
    if item.get_closest_marker("slow") or item.get_closest_marker("slurm"):
        os.environ[SLOW] = "1"
    result = yield
    os.environ.pop(SLOW, None)
    return result


@pytest.fixture(scope="session")
def finished_study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished study, made once, by whichever of the test processes needs it first."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder = shared / "finished_study"
    with FileLock(f"{folder}.lock"):
        if not folder.exists():
            making = copy_project(shared / "study_in_the_making")
            write_tiny_model(making / "models" / "tiny")
            run(making)
            making.rename(folder)
    return folder


@pytest.fixture
def study(finished_study: Path, tmp_path: Path) -> Path:
    """A copy of the finished study, with new times, that a test may change."""
    return Path(shutil.copytree(finished_study, tmp_path / "copy", copy_function=shutil.copy))


@pytest.fixture(scope="session", autouse=True)
def audits_share_their_work() -> Iterator[None]:
    """Draw each chart once, and search each text for keys once: most of the time of an audit."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("vegalite_to_svg", "vegalite_to_png", "vegalite_to_pdf"):
            patch.setattr(chart, name, drawn_once(getattr(chart, name)))
        patch.setattr(check_files, "find_secrets", searched_once(check_files.find_secrets))
        yield


def drawn_once(draw: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that draws each chart once, and gives later callers the same picture."""
    pictures: dict[str, Any] = {}

    def drawn(spec: dict[str, Any], **settings: Any) -> Any:
        key = json.dumps([spec, settings])  # not sorted: the order of keys shows in a picture
        if key not in pictures:
            pictures[key] = draw(spec, **settings)
        return pictures[key]

    return drawn


def searched_once(search: Callable[..., list[Secret]]) -> Callable[..., list[Secret]]:
    """Return a function that searches files of equal bytes for the same keys once."""
    found: dict[Any, list[Secret]] = {}

    def searched(path: Path, values: Mapping[str, str]) -> list[Secret]:
        key = (sha256(path.read_bytes()).digest(), *sorted(values.items()))
        if key not in found:
            found[key] = search(path, values)
        return [secret._replace(path=path) for secret in found[key]]

    return searched


@pytest.fixture(scope="module")  # until it ends, no other test of the process can use asyncio
def browser() -> Iterator[Any]:
    """Chromium without a window, started once per file of tests."""
    from tests.support.browser import chromium  # playwright

    with chromium() as running:
        yield running

"""Fixtures: a tiny model, and one finished study that tests copy and disturb."""

import shutil
from pathlib import Path

import pytest

from tests.tiny_model import write_tiny_model
from tests.workflow import copy_project, run


@pytest.fixture(scope="session")
def finished_study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = copy_project(tmp_path_factory.mktemp("study") / "project")
    write_tiny_model(folder / "models" / "tiny")
    run(folder)
    return folder


@pytest.fixture
def study(finished_study: Path, tmp_path: Path) -> Path:
    """A copy of the finished study, with new times, that a test may change."""
    return Path(shutil.copytree(finished_study, tmp_path / "copy", copy_function=shutil.copy))

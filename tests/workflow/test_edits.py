"""Edits of a finished study ask exactly what they need: no request twice, no GPU for nothing.

Of the gate, test_missing_requests.py settles their like in one process, and test_rerun.py plans.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from filelock import FileLock

from tests.support.edits import EDITS, goes_on_to_judges
from tests.support.judge_server import JudgeServer, judge_server
from tests.support.probed_study import make, note_outcome, probe

pytestmark = [pytest.mark.slow, pytest.mark.long]


@pytest.fixture(scope="module")
def server() -> Iterator[JudgeServer]:
    """The server of the study's judge."""
    with judge_server() as running:
        yield running


@pytest.fixture(scope="module")
def original(server: JudgeServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The finished study, made by the first process that needs it."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder = shared / "probed_study"
    with FileLock(f"{folder}.lock"):
        if not folder.exists():
            making = folder.with_name("probed_study_in_the_making")
            make(making, server)
            making.rename(folder)
    return folder


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_asks_exactly_what_it_needs(
    name: str, original: Path, server: JudgeServer, tmp_path: Path
) -> None:
    outcome = probe(original, tmp_path / "copy", server, EDITS[name], goes_on_to_judges(name))
    note_outcome(name, outcome)
    assert outcome.is_right, outcome

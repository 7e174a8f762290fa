"""Predictions are registered before the first request, and compared with what was registered."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from userturn.cli.preregister import FILE, compared, register
from userturn.errors import UserError
from userturn.tables.anchors import OWN, SCHEMA

ONE = {"model": "a", "below": 0.05}
CONFIG: dict[str, Any] = {"seed": 1, "predictions": {"rare": ONE}}


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def registered() -> dict[str, Any]:
    register(CONFIG, Path("results"))
    content: dict[str, Any] = json.loads(FILE.read_text())
    return content


def finished(monkeypatch: pytest.MonkeyPatch, config: dict[str, Any]) -> Path:
    """A study that was run with a configuration, and what became of its prediction."""
    row = dict.fromkeys(SCHEMA, None) | {"quantity": "rare: follow-up, a", "source": OWN}
    row |= {"outcome": "undecided", "n_more": 1200, "this_study": "4.0% [1.0%, 9.0%]"}
    path = Path("results/tables/anchors.parquet")
    path.parent.mkdir(parents=True)
    pl.DataFrame([row], schema=SCHEMA).write_parquet(path)
    record = type("Record", (), {"config": config})
    monkeypatch.setattr("userturn.cli.preregister.read_study_record", lambda _: record)
    return Path("results")


def test_a_registration_names_the_claim_and_its_hash() -> None:
    said = register(CONFIG, Path("results"))
    assert "rare: follow-up, a: below 5.0%" in said
    assert json.loads(FILE.read_text())["sha256"] in said


def test_a_study_that_was_asked_is_registered_no_more() -> None:
    Path("results/journal").mkdir(parents=True)
    with pytest.raises(UserError, match="'results/journal' exists, so models were asked"):
        register(CONFIG, Path("results"))
    assert not FILE.exists()


def test_nothing_to_register_says_what_to_add() -> None:
    with pytest.raises(UserError, match="has no `predictions`"):
        register({"seed": 1}, Path("results"))


def test_what_became_of_a_registered_prediction_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    said = compared(registered(), finished(monkeypatch, CONFIG))
    assert "configuration: unchanged" in said
    assert "below 5.0%: undecided, 1,200 items more, 4.0% [1.0%, 9.0%]" in said


def test_what_was_changed_since_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    later = {"rare": ONE | {"below": 0.1}, "new": ONE}
    said = compared(registered(), finished(monkeypatch, {"seed": 2, "predictions": later}))
    assert "configuration: changed since: seed" in said
    assert "below 5.0%: changed since" in said
    assert "new: not registered" in said


def test_a_file_that_was_edited_is_refused() -> None:
    content = registered()
    content["predictions"]["rare"]["below"] = 0.5
    with pytest.raises(UserError, match="changed after the registration"):
        compared(content, Path("results"))


def test_a_study_without_results_stays_registered() -> None:
    with pytest.raises(UserError, match="expected a finished study"):
        compared(registered(), Path("results"))

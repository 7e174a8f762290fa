"""Markers of sweeps and judging, and notes of finished requests, say what was planned."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from userturn.audit.check_records import check_markers
from userturn.storage.files import write_json
from userturn.storage.hashing import fingerprint
from userturn.workflow.study_files import Files

# Two cells of the configuration, and the answers before their turns.
WANTED = {"cells/aa": "aa", "cells/bb": "bb", "results/answers/m/d.parquet": "cc"}
MARKER, NOTE = "sweeps/m/1of1.json", "sweeps/m/finished/1of1.json"
SERVER = "served/m/1of1.json"


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Two plans of one dataset, with three requests of which they share one, and what they left."""
    for identity, keys in (("aa", ["x", "y"]), ("bb", ["y", "z", None])):
        plan = tmp_path / "requests" / "m" / "d" / identity / "1of1.parquet"
        plan.parent.mkdir(parents=True)
        pl.DataFrame({"key": keys}).write_parquet(plan)
    journal = tmp_path / "journal" / "m" / "d" / "one.jsonl"
    journal.parent.mkdir(parents=True)
    journal.write_bytes(b"12345")
    marker = {"pending": ["aa", "bb"], "n_found": 1, "n_asked": 2}
    write_json(marker, tmp_path / MARKER, fingerprint(["aa", "bb"]))
    finished = {"finished": {"d": ["aa", "bb"]}, "journals": {"d": {"one.jsonl": 5}}}
    write_json(finished | {"described_as": "it"}, tmp_path / NOTE, "it")
    write_json({"described_as": "it", "greedy": []}, tmp_path / SERVER, "it")
    return tmp_path


def found(results: Path) -> list[str]:
    return [finding.found for finding in check_markers(Files(results, {}), WANTED)]


def test_what_a_sweep_left_has_no_finding(results: Path) -> None:
    assert found(results) == []


def test_what_a_sweep_under_a_new_name_left_is_compared_with_the_plans_of_the_first(
    results: Path,
) -> None:
    for path in (MARKER, NOTE):
        there = results / path.replace("/m/", "/new/")
        there.parent.mkdir(parents=True, exist_ok=True)
        content = json.loads((results / path).read_text())
        there.write_text(json.dumps(content | {"place": "m"}))
    assert found(results) == []
    (results / "journal" / "m" / "d" / "one.jsonl").write_bytes(b"1234")
    assert len(found(results)) == 2


def test_plans_of_another_model_of_equal_weights_do_not_count(results: Path) -> None:
    theirs = results / "requests" / "other" / "d" / "aa" / "1of1.parquet"
    theirs.parent.mkdir(parents=True)
    pl.DataFrame({"key": ["x", "taken over"]}).write_parquet(theirs)
    assert found(results) == []


@pytest.mark.parametrize(
    ("path", "edit", "said"),
    [
        (MARKER, {"n_asked": 3}, "4 requests, though 3 were planned"),
        (MARKER, {"pending": ["aa"]}, "pending identities of another job"),
        (MARKER, {"pending": None}, "not a marker (TypeError)"),
        (MARKER, {"n_found": "one"}, "not a marker (TypeError)"),
        (NOTE, {"finished": {"d": ["aa", "cc"]}}, "requests of d that shard 1of1 has no plan for"),
        (NOTE, {"journals": {"d": {"one.jsonl": 6}}}, "6 bytes of d's journal one.jsonl"),
        (NOTE, {"described_as": "another"}, "a model described otherwise"),
        (NOTE, {"finished": []}, "not a marker (AttributeError)"),
        (SERVER, {"described_as": "another"}, "a model described otherwise"),
    ],
)
def test_edit_of_a_marker_or_note_is_found(
    results: Path, path: str, edit: dict[str, Any], said: str
) -> None:
    content = json.loads((results / path).read_text())
    (results / path).write_text(json.dumps(content | edit))
    assert found(results) == [said]


def test_a_sweep_of_new_cells_also_counts_the_answers_before_their_turns(results: Path) -> None:
    plan = results / "requests" / "m" / "d" / "cc" / "1of1.parquet"
    plan.parent.mkdir()
    pl.DataFrame({"item": ["i", "j"], "key": ["q", "r"]}).write_parquet(plan)
    content = json.loads((results / MARKER).read_text())
    for n_found, said in ((1, []), (3, []), (2, ["4 requests, though 3 were planned"])):
        (results / MARKER).write_text(json.dumps(content | {"n_found": n_found}))
        assert found(results) == said


def test_a_shard_also_counts_the_answers_of_others_that_its_turns_are_shown(results: Path) -> None:
    for identity, keys in (("aa", "ax"), ("cc", "cx")):
        for shard, item in (("1of2", "i"), ("2of2", "j")):
            plan = results / "requests" / "m" / "d" / identity / f"{shard}.parquet"
            plan.parent.mkdir(exist_ok=True)
            pl.DataFrame({"item": [item], "key": [keys + item]}).write_parquet(plan)
    (results / "requests" / "m" / "d" / "cc" / "._1of2.parquet").touch()  # as a Mac leaves it
    path = results / "sweeps" / "m" / "1of2.json"
    # The turn after item i, its answer, and that to item j, which it may be shown instead.
    for n_found, said in ((0, []), (2, []), (3, ["4 requests, though 1 were planned"])):
        write_json({"pending": ["aa"], "n_found": n_found, "n_asked": 1}, path, fingerprint(["aa"]))
        assert found(results) == said
    (results / "requests" / "m" / "d" / "cc" / "2of2.parquet").unlink()
    assert found(results) == []  # the other shard's plan is not here


def test_marker_of_an_earlier_configuration_is_not_compared(results: Path) -> None:
    content = json.loads((results / MARKER).read_text())
    (results / MARKER).write_text(json.dumps(content | {"n_asked": 3}))
    del (earlier := dict(WANTED))["cells/bb"]
    assert list(check_markers(Files(results, {}), earlier)) == []


def test_journal_that_an_archive_leaves_out_is_not_missed(results: Path) -> None:
    journal = "journal/m/d/one.jsonl"
    (results / "journal" / "m" / "e").mkdir()
    (results / journal).rename(results / "journal" / "m" / "e" / "other.jsonl")
    assert found(results) == ["5 bytes of d's journal one.jsonl"]
    left_out = {f"results/{journal}": "0" * 64}
    assert list(check_markers(Files(results, left_out), WANTED)) == []


def test_counts_are_not_compared_where_a_plan_is_not_in_the_copy(results: Path) -> None:
    (results / "requests" / "m" / "d" / "bb" / "1of1.parquet").unlink()
    (results / NOTE).unlink()
    assert found(results) == []


def test_marker_or_note_of_another_form_is_found(results: Path) -> None:
    for path in (MARKER, NOTE):
        content = json.loads((results / path).read_text())
        content["artifact"]["schema_version"] = "9"
        (results / path).write_text(json.dumps(content))
    assert found(results) == ["another form of artifact"] * 2

"""A judge that has another name asks nothing again; one beside another asks for itself."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.journal_lines import read_journal
from tests.support.judge_server import GENUINE, completion, judge_server
from tests.support.judged_cell import cell, judge, verdicts_of
from userturn.cli.rejudge import void_unscored
from userturn.judges.endpoint_verdicts import json_format, verdicts_in_journal

pytestmark = pytest.mark.slow

TURNS = [f"How hot is oil number {i}?" for i in range(12)]


def test_a_renamed_judge_takes_its_decisions_over_and_asks_nothing(tmp_path: Path) -> None:
    with judge_server() as server:
        one = replace(judge(tmp_path, server.url), names=frozenset({"j"}))
        asked = cell(tmp_path, *TURNS)
        before = verdicts_of(one, asked)
        other = replace(one, name="k", names=frozenset({"k"}))
        after = verdicts_of(other, asked)
        assert len(server.asked) == 12
    assert after.drop("judge").equals(before.drop("judge"))
    records = read_journal(tmp_path / "journal/judges/k/d").values()
    assert [record["taken_from"] for record in records] == ["j/d"] * 12


def test_a_dataset_with_another_name_and_another_question_more_asks_what_is_new(
    tmp_path: Path,
) -> None:
    with judge_server() as server:
        names = frozenset({"j"})
        one = replace(judge(tmp_path, server.url), names=names, datasets=frozenset({"d"}))
        verdicts_of(one, cell(tmp_path, *TURNS))
        renamed = replace(one, places={"d": "e"}, datasets=frozenset({"e"}))
        verdicts_of(renamed, cell(tmp_path, *TURNS[:-1], "And how cold?"))
        assert len(server.asked) == 12 + 1
        both = replace(one, places={"d": "f"}, datasets=frozenset({"d", "e", "f"}))
        verdicts_of(both, cell(tmp_path, *TURNS))  # a dataset beside others of the same content
        assert len(server.asked) == 12 + 1 + 12


def test_a_judge_beside_another_of_the_same_settings_asks_for_itself(tmp_path: Path) -> None:
    with judge_server() as server:
        one = replace(judge(tmp_path, server.url), names=frozenset({"j", "k"}))
        asked = cell(tmp_path, *TURNS)
        verdicts_of(one, asked)
        verdicts_of(replace(one, name="k"), asked)
        assert len(server.asked) == 24


def test_decisions_stay_with_the_new_name_when_the_old_one_is_used_again(tmp_path: Path) -> None:
    with judge_server() as server:
        one = replace(judge(tmp_path, server.url), names=frozenset({"j"}))
        asked = cell(tmp_path, *TURNS)
        verdicts_of(one, asked)
        other = replace(one, name="k", names=frozenset({"k"}))
        verdicts_of(other, asked)
        both = replace(other, names=frozenset({"j", "k"}))
        found = verdicts_in_journal(both, json_format(both).prompt, asked)
    assert [verdict.label for verdict in found] == ["genuine_followup"] * 12


def test_a_cancelled_decision_is_asked_for_again_and_not_taken_over(tmp_path: Path) -> None:
    said = ["no JSON"]
    with judge_server(lambda _: completion(said[-1])) as server:
        one = replace(judge(tmp_path, server.url), names=frozenset({"j"}))
        asked = cell(tmp_path, *TURNS[:2])
        verdicts_of(one, asked)
        n_before = len(server.asked)
        other = replace(one, name="k", names=frozenset({"k"}))
        verdicts_of(other, asked)
        assert len(server.asked) == n_before
        assert void_unscored(other.journal("d")) == 2
        said.append(GENUINE)
        assert verdicts_of(other, asked)["label"].to_list() == ["genuine_followup"] * 2
        assert len(server.asked) == n_before + 2

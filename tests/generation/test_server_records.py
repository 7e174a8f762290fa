"""Another model behind a server's name is noticed, and another address of the same one is not."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.snakemake_runs import ROOT
from userturn.errors import UserError
from userturn.generation.server_records import note_server, server_records
from userturn.models.completion_endpoint import Dialect
from userturn.models.server_check import ServerCheck
from userturn.report.build import origins
from userturn.study.grid import Grid

FOUND = ServerCheck(
    {"id": "name", "max_model_len": "16384"}, Dialect(True, True, True), True, True, tuple("abcd")
)
IDENTITY = {"source": "org/mine@main", "engine": "server"}


def grid(results: Path, url: str = "http://here/v1") -> Grid:
    config: dict[str, Any] = yaml.safe_load((ROOT / "config.yaml").read_text())
    config["models"] = {"mine": {"source": "org/mine", "endpoint": url}}
    return Grid(config | {"run": {"models": ["mine"]}}, results)


def note(results: Path, found: ServerCheck, shard: str = "1of1", **changes: str) -> None:
    """Note what a sweep found of the server of `mine`."""
    note_server(grid(results), "mine", shard, IDENTITY | changes, 16384, found)


def test_the_same_server_at_another_address_goes_on(tmp_path: Path) -> None:
    note(tmp_path, FOUND, "1of2")
    note_server(grid(tmp_path, "https://there/v1"), "mine", "2of2", IDENTITY, 16384, FOUND)
    assert [noted["greedy"] for noted in server_records(grid(tmp_path), "mine")] == 2 * [[*"abcd"]]


def test_half_of_the_greedy_completions_may_differ_and_no_more(tmp_path: Path) -> None:
    note(tmp_path, FOUND)
    note(tmp_path, replace(FOUND, greedy=tuple("abxy")), "1of2")
    other = replace(FOUND, greedy=tuple("axyz"))
    with pytest.raises(UserError, match="1 of 4 greedy completions of fixed prompts are equal"):
        note(tmp_path, other, "2of2")
    note(tmp_path, other, "2of2", served_as="new")


def test_small_steps_do_not_lead_to_another_model_and_are_told(tmp_path: Path) -> None:
    note(tmp_path, FOUND)
    note(tmp_path, replace(FOUND, greedy=tuple("abxy")))
    (noted,) = server_records(grid(tmp_path), "mine")
    assert (noted["greedy"], noted["n_again"]) == ([*"abcd"], 2)
    said = origins(grid(tmp_path), {"mine": {"source": "org/mine"}})[0][2]
    assert "a later sweep found 2 of its 4 greedy texts again" in said
    note(tmp_path, FOUND)
    with pytest.raises(UserError, match="1 of 4 greedy completions"):
        third = replace(FOUND, greedy=tuple("zbxy"))  # half of the second's, a quarter of the first
        note(tmp_path, third)


def test_server_that_scores_is_the_same_up_to_a_tenth_of_a_nat_whatever_it_writes(
    tmp_path: Path,
) -> None:
    """Three of four greedy texts may be others in another precision: SmolLM2's are in bfloat16."""
    scoring = replace(FOUND, scored=(-1.0, -2.0))
    note(tmp_path, scoring)
    rounded = replace(scoring, greedy=tuple("axyz"), scored=(-1.06, -1.98))
    note(tmp_path, rounded)
    (noted,) = server_records(grid(tmp_path), "mine")
    assert (noted["scored"], noted["apart"], noted["n_again"]) == ([-1.0, -2.0], 0.04, 1)
    said = origins(grid(tmp_path), {"mine": {"source": "org/mine"}})[0][2]
    assert "found the log-likelihoods of fixed texts 0.04 nats a token apart" in said
    other = replace(scoring, scored=(-1.12, -2.1))  # with the same greedy texts
    with pytest.raises(UserError, match=r"0\.11 nats a token apart, expected 0\.1 at most"):
        note(tmp_path, other)


def test_server_that_no_longer_scores_is_compared_by_what_it_writes(tmp_path: Path) -> None:
    note(tmp_path, replace(FOUND, scored=(-1.0,)))
    note(tmp_path, FOUND)
    (noted,) = server_records(grid(tmp_path), "mine")
    assert noted["scored"] == [-1.0] and "apart" not in noted
    with pytest.raises(UserError, match="1 of 4 greedy completions"):
        note(tmp_path, replace(FOUND, greedy=tuple("axyz")))


def test_server_that_takes_shorter_prompts_than_the_entry_says_is_refused(tmp_path: Path) -> None:
    short = replace(FOUND, account={"max_model_len": "4096"})
    with pytest.raises(UserError, match="set max_model_len of the entry to 4096 or less"):
        note(tmp_path, short)
    assert list(server_records(grid(tmp_path), "mine")) == []

"""A run selects datasets of the catalogue by their names."""

from typing import Any

import pytest

from tests.support.snakemake_runs import ROOT
from userturn.config.check import check
from userturn.config.load import add_catalogue, catalogue, load_config, read_config_file
from userturn.errors import ConfigError

IN_PAPER = ["gsm8k", "math500", "ifeval", "ifbench", "healthbench", "coval", "oasst_human"]


@pytest.fixture
def config(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.chdir(ROOT)
    return load_config(["config.yaml"])


def test_config_and_catalogue_share_no_name_and_the_papers_datasets_are_in_config() -> None:
    assert list(read_config_file(ROOT / "config.yaml")["datasets"]) == IN_PAPER
    assert catalogue().keys() & {*IN_PAPER} == set()


@pytest.mark.parametrize("name", sorted(catalogue()))
def test_every_dataset_of_the_catalogue_can_be_run(config: dict[str, Any], name: str) -> None:
    config["run"]["datasets"] = [name]
    check(config)
    assert config["datasets"][name] == catalogue()[name]


def test_an_entry_without_a_file_changes_single_keys() -> None:
    config = {"run": {"datasets": ["mgsm"]}, "datasets": {"mgsm": {"limit": 20}}}
    add_catalogue(config)
    assert config["datasets"]["mgsm"] == catalogue()["mgsm"] | {"limit": 20}


def test_an_entry_of_ones_own_wins_over_one_of_that_name() -> None:
    mine = {"file": "data/mine.jsonl", "fields": {"prompt": "q"}, "verifier": "none"}
    config = {"run": {"datasets": ["mgsm"]}, "datasets": {"mgsm": mine}}
    add_catalogue(config)
    assert config["datasets"]["mgsm"] == mine


def test_a_run_of_all_datasets_is_of_those_of_the_configuration() -> None:
    config = {"run": {}, "datasets": {"own": {"file": "f"}}}
    add_catalogue(config)
    assert config["datasets"].keys() == {"own"}


def test_the_nearest_name_may_be_one_of_the_catalogue(config: dict[str, Any]) -> None:
    config["run"]["datasets"] = ["humanevall"]
    with pytest.raises(ConfigError, match="'humanevall' is not defined, did you mean 'humaneval'"):
        check(config)


@pytest.mark.parametrize("part", [None, 3, ["mgsm"], {"datasets": {"mgsm": 1}}])
@pytest.mark.parametrize("datasets", [None, 3, {"mgsm": 3}])
def test_a_configuration_that_is_wrong_is_left_to_the_check(part: object, datasets: object) -> None:
    config = {"run": part, "datasets": datasets}
    add_catalogue(config)
    assert config["run"] == part
    assert not isinstance(datasets, dict) or config["datasets"]["mgsm"] == 3

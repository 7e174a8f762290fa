"""The size of a dataset that is not here yet is at most what its entry says."""

import pytest

from tests.support.snakemake_runs import ROOT
from userturn.cli.study_size import dataset_size
from userturn.config.load import load_config
from userturn.study.grid import Grid


@pytest.mark.parametrize(
    ("name", "n_items"),
    [("healthbench", 1000), ("healthbench_languages", 5000), ("mgsm", 2750)],
)
def test_a_limit_for_each_language_does_not_bound_the_whole(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
    name: str,
    n_items: int,
) -> None:
    monkeypatch.chdir(ROOT)
    config = load_config(["config.yaml"])
    config["run"]["datasets"] = [name]
    size = dataset_size(Grid(config, tmp_path_factory.mktemp("results")), name)
    assert (size.n_items, size.is_counted) == (n_items, False)

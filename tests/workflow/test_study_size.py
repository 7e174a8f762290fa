"""The planned size of a study is never below what may be asked."""

from pathlib import Path

import pytest

from tests.support.self_play_study import DATASET, study
from tests.support.snakemake_runs import ROOT
from userturn.config.load import load_config
from userturn.sources.registry import asked
from userturn.sources.source import ANSWERS, Size
from userturn.study.grid import Grid
from userturn.workflow.study_size import dataset_size


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


def test_each_depth_of_self_play_reads_all_that_was_written_before_it(tmp_path: Path) -> None:
    grid = study(tmp_path, 3, answer={"max_tokens": 8}, user_turn={"max_tokens": 4})
    # Before the second answer there are 10 tokens of the item, an answer and a user turn.
    sizes = {DATASET: Size(n_items=4, n_tokens=10, is_counted=True)}
    loads = [of.count(sizes) for of in asked(grid).values() if of.kind == ANSWERS and of.depth > 1]
    assert loads == [(4, 4 * (10 + 12), 4 * 8), (4, 4 * (10 + 24), 4 * 8)]

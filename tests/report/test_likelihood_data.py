"""The explorer's data on likelihood: tokens with their numbers, and nothing of private rows."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.made_up_results import made_up_config, write_results
from tests.support.made_up_scores import write_scores
from userturn.report.likelihood_data import tokens_of, write_likelihood
from userturn.study.grid import Grid

ENDING = "\u202enever"


@pytest.fixture(scope="module")
def grid(tmp_path_factory: pytest.TempPathFactory) -> Grid:
    """One model, a private dataset and one that is not; eight turns of each cell are scored."""
    config = made_up_config(["a-1b"], ["healthbench", "open"], perturbations=("none", "truncate"))
    grid = Grid(config, tmp_path_factory.mktemp("likelihood"))
    write_results(grid, 9)
    write_scores(grid, [ENDING])
    return grid


def written(grid: Grid, folder: Path) -> dict[str, Any]:
    return write_likelihood(grid, map(str, grid.results.glob("likelihood/*/*/*.parquet")), folder)


def read(folder: Path, name: str) -> Any:
    text = (folder / f"{name}.js").read_text("utf-8")
    return json.loads(text.removeprefix(f'userturn.take("{name}",').removesuffix(");\n"))


def test_a_follow_up_has_its_tokens_in_hundredths_of_a_nat(grid: Grid, tmp_path: Path) -> None:
    assert written(grid, tmp_path)["followUps"] == [
        ["a-1b", "healthbench", 1, 1],
        ["a-1b", "open", 1, 0],
    ]
    file = read(tmp_path, "follow-ups-1-0")
    ((item, gain, n_answers, identified, tokens, said),) = file["rows"]
    # The other scores are -3 and -4, -1 and -1.5, -0.5 and -0.6: means -3.5, -1.25, -0.55.
    shown = ["So", -100, -350, " far", -200, -125, "⟦U+202E⟧never", -50, -55]
    assert tokens == shown
    # The gain is -3.5 + 5.3 = 1.8 nats over three tokens; -3.5 is above -4.5 and -6.1.
    assert (file["texts"][item], gain, n_answers, identified) == ("open-0", 600, 2, 1)
    assert said[::2] == [2, 3]  # user, assistant
    assert file["texts"][said[3]] == "An answer about open"


def test_every_cell_has_its_gains_and_each_temperature_its_quarters(
    grid: Grid, tmp_path: Path
) -> None:
    """A cell's gains are 0, 0.1 ... 0.7 nats a token, and a temperature has four cells.

    Of these 32 the lower quarter is at place 7.75, between 100 and 200: 175; the upper at 23.25.
    """
    found = written(grid, tmp_path)
    assert found["nGains"] == dict.fromkeys(range(len(grid.cells)), 8)
    assert found["quarters"] == {"a-1b": {"0": [175, 525], "1": [175, 525]}}
    number = next(i for i, c in enumerate(grid.cells) if c.dataset == "open")
    assert read(tmp_path, f"gains-{number}")[3] == ["open-3", 0, 300, ["open", -170, -200]]


def test_private_rows_have_gains_and_no_text(grid: Grid, tmp_path: Path) -> None:
    written(grid, tmp_path)
    assert not (tmp_path / "follow-ups-0-0.js").exists()
    number = next(i for i, c in enumerate(grid.cells) if c.dataset == "healthbench")
    assert read(tmp_path, f"gains-{number}")[3] == ["healthbench-3", 0, 300, []]


def test_a_private_dataset_outside_of_the_grid_is_private_too(grid: Grid, tmp_path: Path) -> None:
    outside = Grid(grid.config | {"run": grid.config["run"] | {"datasets": ["open"]}}, grid.results)
    assert written(outside, tmp_path)["followUps"][0] == ["a-1b", "healthbench", 1, 1]
    assert not (tmp_path / "follow-ups-0-0.js").exists()


def test_a_study_without_scores_has_no_data(grid: Grid, tmp_path: Path) -> None:
    nothing = {"followUps": [], "nGains": {}, "quarters": {}}
    assert write_likelihood(grid, [], tmp_path) == nothing
    assert not list(tmp_path.iterdir())


def test_parts_of_a_character_are_marked_together() -> None:
    """So that the marks of a turn still add up to its gain: -1 - 2 - 4 and -3 - 2.5 - 4."""
    row = {"token_texts": ["", "", "猫", "!"], "own": [-1.0, -2.0, -4.0, -0.5]}
    row |= {"others": [-3.0, -2.5, -4.0, -0.25]}
    assert tokens_of(row) == ["猫", -700, -950, "!", -50, -25]

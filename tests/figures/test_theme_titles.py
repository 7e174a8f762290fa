"""A figure has its title whether or not it has data: the report's headings are these titles."""

import json
from importlib import import_module
from pathlib import Path

import polars as pl
import pytest

from tests.figures.test_judge_card import NOBODY, card
from tests.support.made_up_figures import draw_every_figure
from tests.support.made_up_results import made_up_config, write_results
from userturn.figures.confusion import confusion_figure
from userturn.figures.judge_card import judge_card
from userturn.figures.theme import save
from userturn.report.charts import title_of
from userturn.study.grid import Grid
from userturn.tables.confusion import SCHEMA as CONFUSION
from userturn.workflow.registry import FIGURES


def titles_of(paths_to_figures: list[str]) -> dict[str, str]:
    """Return the title of each figure, by its name."""
    charts = {Path(path).stem: Path(path).with_suffix(".vl.json") for path in paths_to_figures}
    return {name: title_of(json.loads(path.read_text("utf-8"))) for name, path in charts.items()}


@pytest.mark.slow
def test_every_drawn_figure_has_the_title_of_its_module(tmp_path: Path) -> None:
    grid = Grid(made_up_config(["a-1b"], ["open"]), tmp_path)
    write_results(grid, 6)
    titles = titles_of(draw_every_figure(grid, tmp_path / "figures"))
    assert len(titles) == 13
    assert titles == {name: import_module(f"userturn.figures.{name}").TITLE for name in titles}


@pytest.mark.parametrize("name", FIGURES)
def test_title_of_a_figure_is_words_and_not_the_name_of_its_file(name: str) -> None:
    title = import_module(f"userturn.figures.{name}").TITLE
    assert title.lower() != name.replace("_", " ")
    assert "_" not in title


def test_a_figure_without_data_keeps_its_title(tmp_path: Path) -> None:
    empty = {
        "confusion": confusion_figure(pl.DataFrame(schema=CONFUSION), ["generic"]),
        "judge_card": judge_card(card(), NOBODY, "j"),
    }
    for name, chart in empty.items():
        save(chart, "made by a test", [str(tmp_path / f"{name}.vl.json")])
    assert titles_of([str(tmp_path / f"{name}.svg") for name in empty]) == {
        "confusion": "Labels of people and of judges",
        "judge_card": "How far the judge can be believed",
    }
    told = json.loads((tmp_path / "confusion.vl.json").read_text())["datasets"]
    assert [[*rows[0]] for rows in told.values()] == [["note"]]

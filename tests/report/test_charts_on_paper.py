"""Figures on paper: no letter is smaller than 6 points, in a study of the paper's size too."""

import json
from typing import Any

import pytest

from tests.support.paper_sized_figures import paper_sized_charts
from userturn.html.chart import smallest_letter, svg_of
from userturn.report.charts import is_legible, part_of, pictures_of, scale_on_paper
from userturn.workflow.registry import FIGURES

POINTS = 72 / 96  # of a CSS pixel


@pytest.fixture(scope="module")
def charts() -> dict[str, Any]:
    return {name: chart.to_dict() for name, chart in paper_sized_charts().items()}


@pytest.mark.slow  # draws every figure of a large study
@pytest.mark.parametrize("name", FIGURES)
def test_no_letter_of_a_printed_figure_is_below_six_points(
    charts: dict[str, Any], name: str
) -> None:
    """11 models, 5 datasets, 5 temperatures, 3 perturbations, and 11 languages."""
    _, pictures = pictures_of(charts[name], svg_of(charts[name]))
    letters = [(smallest_letter(svg) or 0) * scale_on_paper(svg) * POINTS for svg in pictures]
    assert min(letters) >= 6


def grid_of(rows: int, columns: int, width: int = 100, height: int = 100) -> dict[str, Any]:
    """Return a chart of panels: letters of 11 pixels may shrink to 8, on 700 x 860 pixels."""
    data = [{"a": i, "b": j, "x": 1} for i in range(rows) for j in range(columns)]
    return {
        "data": {"name": "d"},
        "datasets": {"d": data},
        "facet": {"row": {"field": "a", "sort": [1, 0]}, "column": {"field": "b"}},
        "spec": {
            "width": width,
            "height": height,
            "mark": "point",
            "encoding": {"x": {"field": "x", "type": "quantitative"}},
        },
        "config": {"axis": {"labelFontSize": 11}, "header": {"labelFontSize": 11}},
    }


def cut(chart: dict[str, Any]) -> list[dict[str, list[Any]]]:
    return pictures_of(chart, svg_of(chart))[0]


def test_a_figure_that_fits_on_a_page_is_not_cut() -> None:
    assert cut(grid_of(2, 3)) == []


def test_a_figure_that_is_too_tall_is_cut_between_its_rows_in_their_order() -> None:
    """Five rows of 400 pixels at 8 / 11 are 1,455 pixels, of which a page holds 860."""
    assert cut(grid_of(5, 1, height=400)) == [
        {"a": [1, 0], "b": [0]},
        {"a": [2, 3], "b": [0]},
        {"a": [4], "b": [0]},
    ]


def test_a_figure_that_is_too_wide_is_cut_between_its_columns() -> None:
    assert cut(grid_of(1, 4, width=300)) == [{"a": [0], "b": [0, 1]}, {"a": [0], "b": [2, 3]}]


def test_panels_that_cannot_be_cut_are_left_as_they_are() -> None:
    assert cut(grid_of(1, 1, height=4000)) == []
    assert len(cut(grid_of(2, 1, height=4000))) == 2


def test_a_part_has_the_rows_of_its_panels_and_those_of_every_panel() -> None:
    chart = {"datasets": {"d": [{"a": 1}, {"a": 2}, {"a": None}, {}]}}
    assert part_of(chart, {"a": [2]}) == {"datasets": {"d": [{"a": 2}, {"a": None}, {}]}}


def test_panels_below_each_other_are_parted_by_their_numbers() -> None:
    one = grid_of(1, 1, height=700)
    panels = [one["spec"] | {"data": {"values": [{"x": 1}]}}] * 3
    chart = {"vconcat": panels, "config": one["config"]}
    assert cut(chart) == [{"panels": [0]}, {"panels": [1]}, {"panels": [2]}]
    assert is_legible(svg_of(part_of(chart, {"panels": [1]})))
    assert json.dumps(chart).count("width") == 3, "the chart itself is not changed"

"""Figures: every rate is shown with its interval, and drawing the same twice is the same."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from userturn.figures import accuracy_and_followup, rates_by_temperature, save

ACCURACY = pl.DataFrame(
    {"model": ["m"], "dataset": ["d"], "estimate": [0.5], "lower": [0.3], "upper": [0.7]}
)


def rates(*rows: tuple[float, str, float | None]) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {
                "model": "m",
                "dataset": "d",
                "temperature": temperature,
                "perturbation": perturbation,
                "judge": "h",
                "estimate": estimate,
                "lower": None if estimate is None else estimate / 2,
                "upper": None if estimate is None else (1 + estimate) / 2,
            }
            for temperature, perturbation, estimate in rows
        ],
        schema_overrides={"estimate": pl.Float64, "lower": pl.Float64, "upper": pl.Float64},
    )


def drawn(chart: Any) -> list[dict[str, Any]]:
    (data,) = chart.to_dict()["datasets"].values()
    return list(data)


def test_every_rate_is_drawn_with_its_interval() -> None:
    points = drawn(rates_by_temperature(rates((0.0, "none", 0.2), (1.0, "none", 0.4))))
    assert [(p["temperature"], p["lower"], p["estimate"], p["upper"]) for p in points] == [
        (0.0, 0.1, 0.2, 0.6),
        (1.0, 0.2, 0.4, 0.7),
    ]


def test_perturbations_of_one_temperature_stand_beside_each_other() -> None:
    points = drawn(rates_by_temperature(rates((1.0, "none", 0.2), (1.0, "truncate", 0.2))))
    assert points[0]["place"] < 1.0 < points[1]["place"]


def test_cell_without_a_rate_is_left_out() -> None:
    points = drawn(rates_by_temperature(rates((0.0, "none", None), (1.0, "none", 0.4))))
    assert [p["temperature"] for p in points] == [1.0]


def test_accuracy_stands_beside_the_plain_rate_of_the_lowest_temperature() -> None:
    table = rates((0.3, "none", 0.2), (0.3, "truncate", 0.9), (1.0, "none", 0.8))
    points = drawn(accuracy_and_followup(table, ACCURACY))
    assert {(p["measure"], p["estimate"]) for p in points} == {
        ("task accuracy", 0.5),
        ("genuine follow-up (h)", 0.2),
    }


@pytest.mark.parametrize("n_rows", [0, 1])
def test_figure_of_hardly_anything_is_still_a_figure(tmp_path: Path, n_rows: int) -> None:
    table = rates(*[(0.0, "none", 0.5)] * n_rows, (0.0, "none", None))
    paths = [str(tmp_path / name) for name in ("f.vl.json", "f.svg", "f.png")]
    save(rates_by_temperature(table), *paths)
    assert json.loads(Path(paths[0]).read_text())["$schema"].startswith("https://vega.github.io")
    assert Path(paths[1]).read_text().startswith("<svg")
    assert Path(paths[2]).read_bytes().startswith(b"\x89PNG")


def test_drawing_twice_is_byte_equal(tmp_path: Path) -> None:
    for copy in ("a", "b"):
        chart = rates_by_temperature(rates((0.0, "none", 0.2), (1.0, "none", 0.4)))
        save(chart, *(str(tmp_path / f"{copy}{end}") for end in (".vl.json", ".svg", ".png")))
    for end in (".vl.json", ".svg", ".png"):
        assert (tmp_path / f"a{end}").read_bytes() == (tmp_path / f"b{end}").read_bytes()

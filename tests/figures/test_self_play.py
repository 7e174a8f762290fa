"""The figure of self-play has each measure over depth, beside the names of its models."""

from typing import Any

import polars as pl

from userturn.figures.self_play import MEASURES, self_play
from userturn.tables.families import families_table
from userturn.tables.self_play import SCHEMA


def depths(*models: str) -> pl.DataFrame:
    """Return two depths of each model, whose measures rise."""
    return pl.DataFrame([_depth(model, k) for model in models for k in (1, 2)], schema=SCHEMA)


def _depth(model: str, depth: int) -> dict[str, Any]:
    row = {"model": model, "dataset": "d", "temperature": 1.0, "judge": "j", "depth": depth}
    row |= {"n_scored": 9, "n_turns": 10, "lower": 0.1, "upper": 0.9}
    for name in MEASURES:
        ends = {} if name == "estimate" else {f"{name}_lower": 0.1, f"{name}_upper": 0.9}
        row |= {name: depth / 4, **ends}
    return row


def drawn(*models: str) -> Any:
    families = families_table({model: {} for model in models}, {})
    return self_play(depths(*models), families, "j").to_dict()


def test_each_measure_has_a_panel_and_a_point_at_each_depth_with_its_interval() -> None:
    (rows,) = drawn("m")["datasets"].values()
    points = [(r["measure"], r["depth"], r["estimate"], r["lower"], r["upper"]) for r in rows]
    assert sorted(points) == sorted(
        (measure, depth, depth / 4, 0.1, 0.9) for measure in MEASURES.values() for depth in (1, 2)
    )


def test_lines_are_told_apart_without_their_colours() -> None:
    encoding = drawn("m")["spec"]["layer"][0]["encoding"]
    assert encoding["strokeDash"]["field"] == encoding["color"]["field"] == "dataset"


def test_names_of_many_models_lie_beside_their_low_panels() -> None:
    """Upright they would be longer than a panel is high, and overlap."""
    chart = drawn(*(f"a-model-with-a-long-name-{size}b" for size in range(1, 6)))
    assert chart["facet"]["row"]["header"]["labelAngle"] == 0


def test_headings_of_panels_do_not_overlap() -> None:
    """A letter of a heading, bold and 12 pixels high, is not wider than 7 pixels on average."""
    chart = drawn(*(f"m{size}" for size in range(1, 6)))
    assert 7 * max(map(len, MEASURES.values())) <= chart["spec"]["width"]

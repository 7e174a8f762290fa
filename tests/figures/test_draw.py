"""Figures: every estimate is shown with its interval, and drawing the same twice is the same."""

import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from userturn.figures.accuracy_and_followup import accuracy_and_followup
from userturn.figures.failure_profiles import failure_profiles
from userturn.figures.grid_overview import grid_overview
from userturn.figures.perturbation_effects import perturbation_effects
from userturn.figures.rates_by_temperature import rates_by_temperature
from userturn.figures.rates_by_turn import rates_by_turn
from userturn.figures.theme import COLOURS, fixed, p_value, save
from userturn.html.chart import renumbered, svg_of
from userturn.tables.families import families_table
from userturn.tables.parts_of_cells import BY_TURN

FAMILIES = families_table({"m": {}, "a-7b": {}, "a-70b": {}}, {})
LIMITS = ("estimate", "lower", "upper", "floor", "floor_lower", "floor_upper")
NUMBERS = dict.fromkeys(LIMITS, pl.Float64)


def accuracy(*models: str) -> pl.DataFrame:
    limits = {"estimate": 0.5, "lower": 0.3, "upper": 0.7}
    row = {"dataset": "d", "n_graded": 9, "n_items": 10} | limits
    return pl.DataFrame([{"model": model} | row for model in models])


def rates(*rows: tuple[float, str, float | None], model: str = "m") -> pl.DataFrame:
    same = {"model": model, "dataset": "d", "scope": "cell", "label": "genuine_followup"}
    same |= {f"n_{kind}": 0 for kind in ("empty", "truncated", "refused", "error")}
    same |= {"n_scored": 9, "n_turns": 10, **dict.fromkeys(("floor", "floor_lower", "floor_upper"))}
    table = pl.DataFrame(
        [same | {"temperature": t, "perturbation": p, "estimate": rate} for t, p, rate in rows],
        schema_overrides=NUMBERS,
    )
    return table.with_columns(lower=pl.col("estimate") / 2, upper=(1 + pl.col("estimate")) / 2)


def contrast(p: float) -> pl.DataFrame:
    row = {"factor": "perturbation", "condition": "truncate", "scope": "model and dataset"}
    row |= {"model": "m", "dataset": "d", "temperature": 0.0, "perturbation": "truncate"}
    return pl.DataFrame(
        row | {"n_items": 10, "difference": 0.1, "lower": -0.1, "upper": 0.3, "p_adjusted": p}
    )


def profile() -> pl.DataFrame:
    row = {"scope": "model", "model": "m", "family": "m", "dataset": "all", "average": "micro"}
    row |= {"temperature": 0.0, "perturbation": "none", "n_positive": 4, "n_scored": 10}
    row |= {"lower": 0.3, "upper": 0.7}
    shares = {"generic": 0.6, "genuine_followup": 0.4}
    return pl.DataFrame(
        [row | {"label": name, "estimate": share} for name, share in shares.items()]
    )


def drawn(chart: Any) -> list[dict[str, Any]]:
    """Return the rows that a chart holds; marks of their own, such as the zero line, hold none."""
    return [row for rows in chart.to_dict()["datasets"].values() for row in rows if "model" in row]


def test_every_rate_is_drawn_with_its_interval() -> None:
    table = rates((0.0, "none", 0.2), (1.0, "none", 0.4))
    points = drawn(rates_by_temperature(table, FAMILIES, "h"))
    assert [(p["temperature"], p["lower"], p["estimate"], p["upper"]) for p in points] == [
        (0.0, 0.1, 0.2, 0.6),
        (1.0, 0.2, 0.4, 0.7),
    ]


def test_perturbations_of_one_temperature_stand_beside_each_other() -> None:
    table = rates((1.0, "none", 0.2), (1.0, "truncate", 0.2))
    points = drawn(rates_by_temperature(table, FAMILIES, "h"))
    assert points[0]["place"] < 1.0 < points[1]["place"]


def test_cell_without_a_rate_keeps_its_panels_place() -> None:
    """Vega puts a panel without any row first, so that others would stand under its heading."""
    table = rates((0.0, "none", None), (1.0, "none", 0.4))
    points = drawn(rates_by_temperature(table, FAMILIES, "h"))
    assert [(point["temperature"], point["estimate"]) for point in points] == [(0, None), (1, 0.4)]


def test_accuracy_stands_beside_the_plain_rate_of_the_lowest_temperature() -> None:
    table = rates((0.3, "none", 0.2), (0.3, "truncate", 0.9), (1.0, "none", 0.8))
    chart = accuracy_and_followup(table, accuracy("m"), FAMILIES, "h")
    held = {param["name"]: param["value"] for param in chart.to_dict()["params"]}
    assert held == {"temperature": 0.3, "perturbation": "none"}
    shown = [p for p in drawn(chart) if all(p[name] in (None, held[name]) for name in held)]
    assert {(p["measure"], p["estimate"]) for p in shown} == {
        ("task accuracy", 0.5),
        ("genuine follow-up", 0.2),
    }


@pytest.mark.parametrize(
    ("models", "axis", "ticks"),
    [
        (["a-135m", "a-7b", "a-70b"], "size", [0.135, 7, 70]),
        (["a-7b", "m"], "model", None),  # the size of `m` is unknown
        (["a-7b"], "model", None),
        (["a-7b", "b-7b", "a-70b"], "model", None),  # two would stand upon each other
    ],
)
def test_models_stand_over_their_sizes_where_all_are_known_and_differ(
    models: list[str], axis: str, ticks: list[float] | None
) -> None:
    table = pl.concat([rates((0.0, "none", 0.2), model=model) for model in models])
    families = families_table({model: {} for model in models}, {})
    chart = accuracy_and_followup(table, accuracy(*models), families, "h").to_dict()
    x = chart["spec"]["layer"][0]["encoding"]["x"]
    assert (x["field"], x["axis"].get("values")) == (axis, ticks)


@pytest.mark.parametrize(("p", "detected"), [(0.04, True), (0.06, False)])
def test_detected_changes_are_filled(p: float, detected: bool) -> None:
    (row,) = drawn(perturbation_effects(contrast(p), FAMILIES, "h"))
    assert (row["lower"], row["difference"], row["upper"]) == (-0.1, 0.1, 0.3)
    assert row["detected"] is detected


def test_every_label_is_drawn_with_its_interval() -> None:
    rows = drawn(failure_profiles(profile(), FAMILIES, "h"))
    assert {(r["label"], r["lower"], r["estimate"], r["upper"]) for r in rows} == {
        ("generic", 0.3, 0.6, 0.7),
        ("genuine_followup", 0.3, 0.4, 0.7),
    }


@pytest.mark.parametrize(("n", "troubles"), [(5, ""), (6, "EU")])
def test_cell_is_marked_where_much_of_it_is_empty(n: int, troubles: str) -> None:
    cell = rates((0.0, "none", 0.2)).with_columns(n_turns=100, n_empty=n, n_scored=100 - n)
    (row,) = drawn(grid_overview(cell, FAMILIES, "h"))
    assert row["troubles"] == troubles


def test_every_cell_has_its_rate_as_a_number_and_its_interval() -> None:
    (row,) = drawn(grid_overview(rates((0.0, "none", 0.246)), FAMILIES, "h"))
    assert (row["number"], row["lower"], row["upper"]) == ("25", 0.123, 0.623)
    (row,) = drawn(grid_overview(rates((0.0, "none", None)), FAMILIES, "h"))
    assert (row["number"], row["estimate"]) == ("–", None)


@pytest.mark.parametrize(
    ("estimate", "number"), [(0.125, "12"), (0.135, "14"), (0.004, "<1"), (0.005, "<1"), (0.0, "0")]
)
def test_a_cell_has_its_rate_as_the_explorer_writes_it(estimate: float, number: str) -> None:
    (row,) = drawn(grid_overview(rates((0.0, "none", estimate)), FAMILIES, "h"))
    assert row["number"] == number


def test_numbers_are_rounded_as_python_rounds_them() -> None:
    """28.95 is stored as a bit less, and 0.0625 times 100 is a tie; Polars' `round` gives 29.0."""
    table = pl.DataFrame({"x": [28.95, 6.25, -0.04, 12.0, None]})
    assert table.select(fixed(pl.col("x"), 1))["x"].to_list() == [
        "28.9",
        "6.2",
        "0.0",
        "12.0",
        None,
    ]
    p = pl.DataFrame({"p": [0.0009, 0.04, None]}).select(p_value(pl.col("p")))
    assert p.to_series().to_list() == ["<0.001", "0.040", None]


@pytest.mark.slow
def test_labels_are_written_as_words() -> None:
    picture = svg_of(failure_profiles(profile(), FAMILIES, "h").to_dict())
    assert ">Genuine<" in picture and ">follow-up<" in picture and ">followup<" not in picture


def test_hovering_tells_the_interval_and_the_denominator() -> None:
    (row,) = drawn(rates_by_temperature(rates((0.0, "none", 0.2)), FAMILIES, "h"))
    assert (row["genuine"], row["scored"]) == ("20.0% [10.0, 60.0]", "9 of 10 turns")
    (row,) = drawn(perturbation_effects(contrast(0.04), FAMILIES, "h"))
    assert row["change"] == "10.0 points [−10.0, 30.0]"  # with the minus of the axes


def test_ticks_are_at_the_temperatures() -> None:
    table = rates((0.0, "none", 0.2), (0.3, "none", 0.4), (1.0, "none", 0.4))
    chart = rates_by_temperature(table, FAMILIES, "h").to_dict()
    assert chart["spec"]["layer"][0]["encoding"]["x"]["axis"]["values"] == [0.0, 0.3, 1.0]


def test_marks_of_one_temperature_stay_in_the_middle_of_its_axis() -> None:
    """They are shifted by 0.008 each: 0.692 and 0.708, on an axis that goes on by 0.06."""
    table = rates((0.7, "none", 0.2), (0.7, "truncate", 0.4))
    chart = rates_by_temperature(table, FAMILIES, "h").to_dict()
    scale = chart["spec"]["layer"][0]["encoding"]["x"]["scale"]
    assert scale["domain"] == pytest.approx([0.632, 0.768])


@pytest.mark.parametrize("limits", [(-0.9, 0.9), (-0.75, 0.0), (-0.04, 0.03)])
def test_axis_of_changes_has_two_numbers_or_more(
    tmp_path: Path, limits: tuple[float, float]
) -> None:
    """One number, 0, is no scale."""
    low, high = map(pl.lit, limits)
    table = contrast(0.04).with_columns(lower=low, upper=high, difference=(low + high) / 2)
    path = tmp_path / "f.svg"
    save(perturbation_effects(table, FAMILIES, "h"), "made by a test", [str(path)])
    assert len(re.findall(r">[\u2212-]?\d+</text>", path.read_text("utf-8"))) >= 2


def contrast_on_white(colour: str) -> float:
    """WCAG 2.2: (1 + 0.05) / (luminance + 0.05)."""
    shares = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [s / 12.92 if s <= 0.04045 else ((s + 0.055) / 1.055) ** 2.4 for s in shares]
    red, green, blue = linear
    return 1.05 / (0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05)


def test_every_colour_stands_out_from_white() -> None:
    assert contrast_on_white("#777777") == pytest.approx(4.48, abs=0.005)  # as WCAG tools have it
    assert min(map(contrast_on_white, COLOURS)) >= 4.5


@pytest.mark.parametrize("n_rows", [0, 1])
def test_figure_of_hardly_anything_is_still_a_figure(tmp_path: Path, n_rows: int) -> None:
    table = rates(*[(0.0, "none", 0.5)] * n_rows, (0.0, "none", None))
    paths = [str(tmp_path / name) for name in ("f.vl.json", "f.svg", "f.png")]
    save(rates_by_temperature(table, FAMILIES, "h"), "made by a test", paths)
    assert json.loads(Path(paths[0]).read_text())["$schema"].startswith("https://vega.github.io")
    assert Path(paths[1]).read_text().startswith("<svg")
    assert Path(paths[2]).read_bytes().startswith(b"\x89PNG")


def test_dataset_without_a_grader_keeps_its_panel_of_accuracy() -> None:
    ungraded = accuracy("m").with_columns(dataset=pl.lit("d2"), estimate=pl.lit(None, pl.Float64))
    asked = pl.concat([rates((0.0, "none", 0.2))] * 2).with_columns(dataset=pl.Series(["d", "d2"]))
    points = drawn(accuracy_and_followup(asked, accuracy("m").vstack(ungraded), FAMILIES, "h"))
    measures = ("task accuracy", "genuine follow-up")
    assert {(p["measure"], p["dataset"]): p["estimate"] for p in points} == {
        (measures[0], "d"): 0.5, (measures[0], "d2"): None,
        (measures[1], "d"): 0.2, (measures[1], "d2"): 0.2,
    }  # fmt: skip


def test_figures_without_any_row_are_a_sentence() -> None:
    for chart in (
        accuracy_and_followup(rates((0.0, "none", None)), accuracy("m").clear(), FAMILIES, "h"),
        perturbation_effects(contrast(1).clear(), FAMILIES, "h"),
        failure_profiles(profile().clear(), FAMILIES, "h"),
        grid_overview(rates((0.0, "none", None)).clear(), FAMILIES, "h"),
    ):
        assert chart.to_dict()["mark"]["type"] == "text"


def test_drawing_twice_is_byte_equal(tmp_path: Path) -> None:
    ends = (".vl.json", ".svg", ".png")
    for copy in ("a", "b"):
        chart = rates_by_temperature(rates((0.0, "none", 0.2), (1.0, "none", 0.4)), FAMILIES, "h")
        save(chart, "made by a test", [str(tmp_path / f"{copy}{end}") for end in ends])
    for end in ends:
        assert (tmp_path / f"a{end}").read_bytes() == (tmp_path / f"b{end}").read_bytes()


def test_a_picture_does_not_tell_how_many_were_drawn_before_it() -> None:
    drawn = '<linearGradient id="gradient_7"/><g fill="url(#gradient_7)" clip-path="url(#clip12)"/>'
    first = '<linearGradient id="gradient_0"/><g fill="url(#gradient_0)" clip-path="url(#clip0)"/>'
    assert renumbered(drawn) == first == renumbered(first)


def test_floor_of_a_cell_is_drawn_at_its_rate_and_named_in_the_subtitle() -> None:
    table = rates((0.0, "none", 0.2), (1.0, "none", 0.4))
    of_first = pl.when(pl.col("temperature") == 0).then(pl.lit(0.1))
    with_floor = table.with_columns(floor=of_first, floor_lower=of_first, floor_upper=of_first)
    chart = rates_by_temperature(with_floor, FAMILIES, "h")
    assert [p["floor"] for p in drawn(chart)] == [0.1, None]
    assert "chance floor" in str(chart.to_dict()["title"])
    without = rates_by_temperature(table, FAMILIES, "h")
    assert "chance floor" not in str(without.to_dict()["title"])


def test_figure_holds_as_many_rows_as_the_shipped_grid_has() -> None:
    # 11 models x 5 temperatures x 3 perturbations x 6 labels x (5 datasets and all of them)
    others = pl.DataFrame({"dataset": [f"d{i}" for i in range((5940 - 2) // 2)]})
    table = pl.concat(
        [profile(), profile().drop("dataset").join(others, how="cross")], how="diagonal"
    )
    assert len(drawn(failure_profiles(table, FAMILIES, "h"))) == 5940


def test_rates_by_turn_draw_each_turn_with_its_interval() -> None:
    table = pl.concat(
        [rates((0.0, "none", 0.4 / n)).with_columns(group=pl.lit(str(n))) for n in (1, 2)]
    ).with_columns(scope=pl.lit(BY_TURN))
    chart = rates_by_turn(table, FAMILIES, "heuristic").to_dict()
    rows = next(iter(chart["datasets"].values()))
    shown = [(row["turn"], row["estimate"], row["lower"], row["upper"]) for row in rows]
    assert shown == [(1, 0.4, 0.2, 0.7), (2, 0.2, 0.1, 0.6)]
    bars = chart["spec"]["layer"][1]["encoding"]
    assert (bars["y"]["field"], bars["y2"]["field"]) == ("lower", "upper")
    lines = chart["spec"]["layer"][0]["encoding"]
    assert (lines["color"]["field"], lines["color"]["scale"]) == ("temperature", {"domain": [0]})

"""The figure of properties: each measure over temperature, with people's turns beside it."""

from typing import Any

import polars as pl

from userturn.figures.turn_properties import MEASURES, NOTHING, WIDTH, turn_properties
from userturn.tables.families import families_table
from userturn.tables.turn_properties import SCHEMA


def row(model: str, temperature: float | None, value: float | None) -> dict[str, Any]:
    place = {"model": model, "dataset": "d", "temperature": temperature, "perturbation": "none"}
    ends = {f"{name}{end}": value for name in MEASURES for end in ("", "_lower", "_upper")}
    return place | ends


def drawn(*rows: dict[str, Any]) -> Any:
    families = families_table({"m": {}, "n": {}}, {})
    return turn_properties(pl.DataFrame(list(rows), schema=SCHEMA), families, "j").to_dict()


def test_each_measure_has_a_point_at_each_temperature_and_peoples_value_with_each_model() -> None:
    chart = drawn(
        row("m", 0.0, 0.1), row("m", 1.0, 0.2), row("n", 0.0, 0.3), row("human", None, 0.4)
    )
    (rows,) = chart["datasets"].values()
    values = {(r["model"], r["measure"], r["temperature"]): r["estimate"] for r in rows}
    of = {("m", 0.0): 0.1, ("m", 1.0): 0.2, ("n", 0.0): 0.3, ("m", None): 0.4, ("n", None): 0.4}
    assert values == {
        (m, name, t): value for name in MEASURES.values() for (m, t), value in of.items()
    }


def test_headings_of_panels_do_not_overlap() -> None:
    """A letter of a heading, bold and 12 pixels high, is not wider than 7 pixels on average."""
    assert 7 * max(map(len, MEASURES.values())) <= WIDTH


def test_without_a_text_there_is_a_note() -> None:
    chart = drawn(row("m", 0.0, None), row("human", None, 0.4))
    assert NOTHING in str(chart["datasets"])

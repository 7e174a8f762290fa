"""The figure of likelihood beside the rate of follow-ups: what stands in which panel."""

import re
from typing import Any
from xml.etree import ElementTree

import polars as pl
import pytest

from userturn.figures.likelihood_and_followup import likelihood_and_followup
from userturn.html.chart import svg_of
from userturn.judges.verdict import GENUINE
from userturn.tables.families import families_table
from userturn.tables.likelihood import REFERENCE

FAMILIES = families_table({"a-7b": {}, "a-70b": {}}, {})
SCORED = [("identified_answer", "share", 0.5, 0.9), ("gain_answer", "nats a character", None, 0.2)]


def rates(dataset: str, *estimates: float) -> pl.DataFrame:
    """Rates of the two models by one temperature, with limits a tenth beside them."""
    row = {"dataset": dataset, "n_scored": 9, "temperature": 0.0, "perturbation": "none"}
    scope = "model" if dataset == "all" else "cell"
    of = {"scope": scope, "average": "micro", "label": GENUINE}
    return pl.DataFrame(
        [
            row | of | {"model": model, "estimate": e, "lower": e - 0.1, "upper": e + 0.1}
            for model, e in zip(FAMILIES["model"], estimates, strict=True)
        ]
    )


def likelihood(*datasets: str) -> pl.DataFrame:
    """Identification and gain of both models, with limits a tenth beside them."""
    rows = [
        {"model": model, "dataset": dataset, "measure": measure, "unit": unit}
        | {"chance": chance, "estimate": e, "lower": e - 0.1, "upper": e + 0.1}
        for dataset in datasets
        for measure, unit, chance, e in SCORED
        for model in FAMILIES["model"]
    ]
    table = pl.DataFrame(rows, schema_overrides={"chance": pl.Float64})
    return table.with_columns(part=pl.lit(REFERENCE), n_scored=pl.lit(9))


def figure(*datasets: str, of_d: tuple[float, float] = (0.3, 0.4), over_all: float = 0.5) -> Any:
    """Draw the likelihood of datasets beside rates of d, and of all datasets together."""
    both = pl.concat([rates("d", *of_d), rates("all", over_all, over_all)])
    return likelihood_and_followup(both, likelihood(*datasets), FAMILIES, "h")


def panels(chart: Any) -> list[tuple[str, str, list[list[float]]]]:
    """Return what each panel is of, its dataset, and lower limit, estimate and upper, by model."""
    made = chart.to_dict()
    found = []
    for panel in [panel for row in made["vconcat"] for panel in row["hconcat"]]:
        rows = made["datasets"][panel["data"]["name"]]
        numbers = [[round(row[name], 6) for name in ("lower", "estimate", "upper")] for row in rows]
        found.append((panel["title"]["text"], panel["title"]["subtitle"], numbers))
    return found


def test_each_measure_has_a_panel_with_every_interval() -> None:
    assert panels(figure("d")) == [
        ("genuine follow-ups", "d", [[0.2, 0.3, 0.4], [0.3, 0.4, 0.5]]),
        ("reference follow-ups identified", "d", [[0.8, 0.9, 1.0]] * 2),
        ("gain, nats a character", "d", [[0.1, 0.2, 0.3]] * 2),
    ]


def test_rate_of_all_datasets_stands_beside_follow_ups_of_no_dataset_of_the_grid() -> None:
    first = ("genuine follow-ups", "all datasets", [[0.4, 0.5, 0.6]] * 2)
    assert panels(figure("elsewhere"))[0] == first


@pytest.mark.slow
def test_each_dataset_of_human_follow_ups_has_a_row_of_panels() -> None:
    found = panels(figure("d", "e"))
    assert [place for _, place, _ in found] == ["d", "d", "d", "all datasets", "e", "e"]


def test_panels_share_one_legend_though_not_every_family_was_scored() -> None:
    families = families_table({"a-7b": {}, "b-70b": {}}, {})
    both = rates("d", 0.3, 0.4).with_columns(pl.col("model").replace({"a-70b": "b-70b"}))
    scored = likelihood("d").filter(pl.col("model") == "a-7b")
    made = likelihood_and_followup(both, scored, families, "h").to_json(indent=None)
    domains = re.findall(r'"shape": {"field": "family".*?"domain": (\[.*?\])', made)
    assert len(domains) == 3 and set(domains) == {'["a", "b"]'}


def test_chance_is_drawn_where_it_is_known() -> None:
    """By chance one distractor gives an identification of 0.5, and a gain of 0; a rate has none."""
    datasets = figure("d").to_dict()["datasets"].values()
    levels = [rows[0]["chance"] for rows in datasets if len(rows[0]) == 1]
    assert sorted(levels) == [0, 0.5]


def test_nothing_scored_is_a_sentence() -> None:
    nothing = likelihood("d").with_columns(estimate=pl.lit(None, pl.Float64))
    chart = likelihood_and_followup(rates("d", 0.0, 0.0), nothing, FAMILIES, "h")
    assert chart.to_dict()["mark"]["type"] == "text"


def heights_of_text(svg: str) -> list[tuple[str, float]]:
    """Return each text of a picture with its distance from the top."""

    def walk(node: ElementTree.Element, top: float) -> None:
        moved = re.findall(r"translate\([-\d.]+,([-\d.]+)\)", node.get("transform") or "")
        top += sum(map(float, moved))
        found.extend([(node.text, top)] if node.text else [])
        for child in node:
            walk(child, top)

    found: list[tuple[str, float]] = []
    walk(ElementTree.fromstring(svg), 0.0)
    return found


@pytest.mark.slow
def test_titles_of_panels_beside_each_other_are_on_one_line() -> None:
    """An axis that ends above its last number would have a lower title than one that does not."""
    chart = figure("d", of_d=(0.3, 0.41))
    titles = {panel[0] for panel in panels(chart)}
    tops = [top for text, top in heights_of_text(svg_of(chart.to_dict())) if text in titles]
    assert len(tops) == 3 and len(set(tops)) == 1

"""`userturn rates`: what may be said first, on one screen; one model or dataset on demand."""

from pathlib import Path

import polars as pl
import pytest

from tests.support.printed_output import text_of
from userturn.cli.rates import MOST_RATES, narrowed, only, show_rates
from userturn.cli.rates_output import (
    costs_sheet,
    likelihood_sheet,
    more_of_rates_sheet,
    rates_sheet,
    usual,
)
from userturn.cli.terminal import Output, as_text
from userturn.errors import UserError
from userturn.judges.verdict import GENUINE
from userturn.tables.costs import SCHEMA as COSTS
from userturn.tables.likelihood import REFERENCE, SCHEMA
from userturn.tables.rates import SCHEMA as RATES


def test_likelihood_is_shown_with_chance_and_limits_and_without_nats_a_token() -> None:
    shared = {"model": "m", "dataset": "d", "n_scored": 19, "n_turns": 20}
    shared |= {"part": REFERENCE}
    identified = {"measure": "identified_answer", "unit": "share", "chance": 0.5}
    gain = {"measure": "gain_answer", "estimate": 0.575}
    table = pl.DataFrame(
        [
            shared | identified | {"estimate": 0.95, "lower": 0.764, "upper": 0.991},
            shared | gain | {"unit": "nats a token"},
            shared | gain | {"unit": "nats a character"},
        ],
        schema=SCHEMA,
    )
    first, second = text_of([likelihood_sheet(table)]).splitlines()[-2:]
    told = first.split()
    assert told[:5] == ["m", "d", "identified_answer", "95.0%", "[76.4,"]
    assert told[5] == "99.1]" and told[-2:] == ["50%", "19/20"]
    assert "●" in first and "|" in first
    assert second.split() == ["m", "d", "gain_answer", "0.57", "19/20"]


PLACE = {"model": "m", "dataset": "all", "temperature": 0.5, "judge": "j"}
COUNTS = {"scope": "model", "average": "micro", "n_scored": 9, "n_turns": 10}
ABOVE = {"above_floor": 0.05, "above_floor_lower": -0.1, "above_floor_upper": 0.2}
RATE = PLACE | COUNTS | {"estimate": 0.25, "lower": 0.1, "upper": 0.5} | ABOVE | {"floor": 0.2}


def test_pooled_rate_is_shown_beside_its_floor_without_perturbations() -> None:
    rows = [RATE | {"perturbation": name} for name in ("none", "truncate")]
    sheet = rates_sheet(usual(pl.DataFrame(rows, schema=RATES)), "rates")
    (line,) = text_of([sheet]).splitlines()[3:]
    assert [word for word in line.split() if not set(word) & set("─●|")] == [
        *("m", "0.5", "j", "25.0%", "[10.0,", "50.0]", "20.0%", "+5.0", "[-10.0,", "+20.0]")
    ]


def test_a_rate_is_drawn_in_colour_only_where_it_is_above_its_floor_by_its_interval() -> None:
    for lower, is_above in ((-0.1, False), (0.01, True)):
        row = RATE | {"perturbation": "none", "above_floor_lower": lower}
        sheet = rates_sheet(pl.DataFrame([row], schema=RATES), "rates")
        assert ("\x1b[32m" in as_text([sheet], 200, in_colour=True)) is is_above


def test_what_else_is_known_of_a_rate_is_in_a_table_of_its_own() -> None:
    reacts = {"reacts": 0.5, "reacts_lower": 0.25, "reacts_upper": 0.75}
    cut = {"n_answers": 70, "n_answers_cut": 52}
    table = pl.DataFrame([RATE | {"perturbation": "none"} | reacts | cut], schema=RATES)
    told = text_of([more_of_rates_sheet(table, "more")]).splitlines()[-1]
    assert told.split() == ["m", "0.5", "j", "50.0%", "[25.0,", "75.0]", "9/10", "52/70"]


def test_a_rate_that_people_corrected_stands_before_that_of_the_judge() -> None:
    row = {"model": "m", "dataset": "all", "temperature": 0.0, "perturbation": "none"}
    row |= {"judge": "j", "n_scored": 70, "n_turns": 70, "n_labelled": 40}
    row |= {"estimate": 0.229, "lower": 0.146, "upper": 0.34, "n_turns_drawn_from": 60}
    row |= {"corrected": 0.771, "corrected_lower": 0.582, "corrected_upper": 0.891}
    table = pl.DataFrame([row], schema=RATES)
    people, judge = text_of([rates_sheet(table, "rates")]).splitlines()[-2:]
    assert people.split()[:6] == ["m", "0", "people's", "labels", "77.1%", "[58.2,"]
    assert judge.split()[:4] == ["m", "0", "j", "22.9%"]
    counts = text_of([more_of_rates_sheet(table, "more")]).splitlines()[-2:]
    assert [line.split()[-1] for line in counts] == ["40/60", "70/70"]


def test_a_study_without_floors_or_costs_has_no_column_or_row_of_them() -> None:
    bare = {name: value for name, value in RATE.items() if "floor" not in name}
    table = pl.DataFrame([bare | {"perturbation": "none"}], schema=RATES)
    assert "floor" not in text_of([rates_sheet(table, "rates")])
    assert costs_sheet(pl.DataFrame(schema=COSTS)).rows == []


def test_costs_are_in_the_currency_of_the_study() -> None:
    assert costs_sheet(pl.DataFrame(schema=COSTS), "EUR").heads[1] == "cost in EUR"


def test_many_rates_are_those_of_one_judge_then_of_one_temperature_then_the_first() -> None:
    rows = [
        RATE | {"model": f"m{n}", "temperature": t, "judge": j}
        for n in range(MOST_RATES + 1)
        for t in (0.0, 1.0)
        for j in "jk"
    ]
    table = pl.DataFrame(rows, schema=RATES)
    kept = narrowed(table, MOST_RATES)
    assert kept["model"].to_list() == [f"m{n}" for n in range(MOST_RATES)]
    assert narrowed(table.filter(judge="j"), 2 * MOST_RATES + 2).height == 2 * MOST_RATES + 2
    assert narrowed(table, MOST_RATES + 1)["temperature"].unique().to_list() == [0.0]


def test_rows_over_all_stay_beside_a_chosen_model() -> None:
    table = pl.DataFrame({"model": ["a", "b", "all", None], "n": [1, 2, 3, 4]})
    assert only(table, {"model": "b", "dataset": "d"})["n"].to_list() == [2, 3, 4]


def test_unknown_model_is_refused_with_those_of_the_study(tmp_path: Path) -> None:
    (tmp_path / "tables").mkdir()
    of_cell = {"scope": "cell", "label": GENUINE, "average": "micro", "floor": None}
    of_cell |= {"corrected": None}
    rates = pl.DataFrame([of_cell | {"model": name, "dataset": "d"} for name in "ba"])
    rates.write_parquet(tmp_path / "tables" / "rates.parquet")
    with pytest.raises(UserError, match="no model 'c'; expected one of: a, b"):
        show_rates(tmp_path, {"model": "c", "dataset": None})


def test_tables_of_an_earlier_version_are_refused_with_what_makes_them_anew(tmp_path: Path) -> None:
    (tmp_path / "tables").mkdir()
    pl.DataFrame({"model": ["a"]}).write_parquet(tmp_path / "tables" / "rates.parquet")
    with pytest.raises(UserError, match="were made by an earlier version"):
        show_rates(tmp_path)


def test_unfinished_study_shows_what_is_there_and_that_it_has_no_report(tmp_path: Path) -> None:
    (tmp_path / "tables").mkdir()
    row = {"model": "a", "dataset": "d", "scope": "cell", "label": GENUINE}
    rates = pl.DataFrame([row | {"average": "micro", "floor": None, "corrected": None}])
    rates.write_parquet(tmp_path / "tables" / "rates.parquet")
    assert text_of(show_rates(tmp_path)).endswith("report: not built yet, run `snakemake`")


def test_chosen_dataset_has_its_unperturbed_cells_and_no_heading_without_lines(
    tmp_path: Path,
) -> None:
    (tmp_path / "tables").mkdir()
    row = {"model": "a", "temperature": 0.0, "judge": "j", "n_scored": 8, "n_turns": 10}
    row |= {"estimate": 0.25, "lower": 0.125, "upper": 0.5, "floor": None, "floor_reason": None}
    row |= {
        "scope": "cell",
        "label": GENUINE,
        "average": "micro",
        "corrected": None,
        "n_answers_cut": 0,
    }
    cells = [("d", "none"), ("d", "truncate"), ("e", "none")]
    rates = pl.DataFrame([row | {"dataset": d, "perturbation": p} for d, p in cells])
    rates.write_parquet(tmp_path / "tables" / "rates.parquet")
    ungraded = rates.head(1).with_columns(estimate=pl.lit(None, pl.Float64))
    ungraded.write_parquet(tmp_path / "tables" / "accuracy.parquet")
    said = show_rates(tmp_path, {"model": None, "dataset": "d"})
    shown = text_of(said).splitlines()
    assert [line.split()[:5] for line in shown if line.startswith("a ")] == [
        ["a", "d", "0", "j", "25.0%"]
    ]
    assert "task accuracy" not in shown
    assert [row["dataset"] for row in said.numbers["cells"].to_dicts()] == ["d"]


def test_the_first_screen_of_a_large_study_has_at_most_40_lines_of_100_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tables").mkdir()
    rows = [
        RATE
        | {"model": f"model-{n}-of-the-grid", "temperature": t, "judge": j, "scope": scope}
        | {"dataset": dataset, "perturbation": p, "label": GENUINE}
        for n in range(11)
        for t in (0.0, 0.5, 1.0)
        for j in ("gpt-5.4-mini", "heuristic")
        for p in ("none", "truncate")
        for scope, dataset in (("model", "all"), ("cell", "gsm8k"))
    ]
    pl.DataFrame(rows, schema=RATES).write_parquet(tmp_path / "tables" / "rates.parquet")
    graded = {"estimate": 0.5, "lower": 0.4, "upper": 0.6, "n_graded": 90, "n_items": 90}
    of = [{"model": f"model-{n}-of-the-grid", "dataset": "gsm8k"} | graded for n in range(11)]
    pl.DataFrame(of).write_parquet(tmp_path / "tables" / "accuracy.parquet")
    short = as_text(show_rates(Path()).parts, 100).splitlines()
    assert 20 <= len(short) <= 40 and max(map(len, short)) <= 100
    everything: Output = show_rates(Path(), with_all=True, with_cells=True)
    assert len(text_of(everything).splitlines()) > 11 * 3 * 2 * 2
    assert everything.numbers["rates"].height == 11 * 3 * 2 * 2  # as on the first screen

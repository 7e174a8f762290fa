"""`userturn rates`: pooled rates first, beside chance; one model or dataset on demand."""

from pathlib import Path

import polars as pl
import pytest

from userturn.cli.rates import (
    fitted,
    format_costs,
    format_likelihood,
    format_pooled,
    only,
    show_rates,
)
from userturn.errors import UserError
from userturn.judges.verdict import GENUINE
from userturn.tables.costs import SCHEMA as COSTS
from userturn.tables.likelihood import REFERENCE, SCHEMA
from userturn.tables.rates import SCHEMA as RATES


def test_likelihood_is_shown_with_chance_and_limits_and_without_nats_a_character() -> None:
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
    first, second = format_likelihood(table).splitlines()[-2:]
    assert first.split() == [
        *("m", "d", "identified_answer", "0.95", "[", "0.76,", "0.99]"),
        *("19/20", "scored", "chance", "0.50"),
    ]
    assert second.split() == ["m", "d", "gain_answer", "0.57", "19/20", "scored"]


def test_pooled_rate_is_shown_above_its_floor_without_perturbations() -> None:
    place = {"model": "m", "dataset": "all", "temperature": 0.5, "judge": "j"}
    counts = {"scope": "model", "average": "micro", "n_scored": 9, "n_turns": 10}
    share = {"estimate": 0.25, "lower": 0.1, "upper": 0.5}
    above = {"above_floor": 0.05, "above_floor_lower": -0.1, "above_floor_upper": 0.2}
    row = place | counts | share | above | {"floor": 0.2}
    rows = [row | {"perturbation": name} for name in ("none", "truncate")]
    text = format_pooled(pl.DataFrame(rows, schema=RATES))
    first, second = text.splitlines()[-2:]
    assert first == "  m t=0.5 (j, 9/10 scored)"
    reacts = {"reacts": 0.5, "reacts_lower": 0.25, "reacts_upper": 0.75}
    reacting = format_pooled(pl.DataFrame([rows[0] | reacts], schema=RATES)).splitlines()[-1]
    assert reacting.endswith("; reacting  50.0% [ 25.0%,  75.0%]")
    assert second.split() == [
        *("25.0%", "[", "10.0%,", "50.0%]", "floor", "20.0%,"),
        *("above", "it", "+5.0", "[-10.0,", "+20.0]"),
    ]


def test_a_rate_that_people_corrected_stands_before_that_of_the_judge() -> None:
    row = {"model": "m", "dataset": "all", "temperature": 0.0, "perturbation": "none"}
    row |= {"judge": "j", "n_scored": 70, "n_turns": 70, "n_labelled": 40}
    row |= {"n_answers": 70, "n_answers_cut": 52}
    row |= {"estimate": 0.229, "lower": 0.146, "upper": 0.34, "n_turns_drawn_from": 60}
    row |= {"corrected": 0.771, "corrected_lower": 0.582, "corrected_upper": 0.891}
    assert format_pooled(pl.DataFrame([row], schema=RATES)).splitlines()[-3:] == [
        "  m t=0 (j, 70/70 scored, 52 of 70 answers cut at the token limit)",
        "     77.1% [ 58.2%,  89.1%]  corrected by people's labels, 40 of 60 turns labelled",
        "     22.9% [ 14.6%,  34.0%]  by the judge",
    ]


def test_a_study_without_floors_or_costs_has_no_heading_of_them() -> None:
    assert "floor" not in format_pooled(pl.DataFrame(schema=RATES))
    assert format_costs(pl.DataFrame(schema=COSTS)) == ""


def test_rows_over_all_stay_beside_a_chosen_model() -> None:
    table = pl.DataFrame({"model": ["a", "b", "all", None], "n": [1, 2, 3, 4]})
    assert only(table, {"model": "b", "dataset": "d"})["n"].to_list() == [2, 3, 4]


def test_unknown_model_is_refused_with_those_of_the_study(tmp_path: Path) -> None:
    (tmp_path / "tables").mkdir()
    of_cell = {"scope": "cell", "label": GENUINE, "average": "micro", "floor": None}
    of_cell |= {"corrected": None}
    rates = pl.DataFrame([of_cell | {"model": name, "dataset": "d"} for name in "ba"])
    rates.write_parquet(tmp_path / "tables" / "rates.parquet")
    with pytest.raises(UserError, match="no model 'c'; expected one of a, b"):
        show_rates(tmp_path, {"model": "c", "dataset": None})


def test_tables_of_an_earlier_version_are_refused_with_what_makes_them_anew(tmp_path: Path) -> None:
    (tmp_path / "tables").mkdir()
    pl.DataFrame({"model": ["a"]}).write_parquet(tmp_path / "tables" / "rates.parquet")
    with pytest.raises(UserError, match="are of an earlier version"):
        show_rates(tmp_path)


def test_lines_fit_the_width_of_a_terminal_and_stay_whole_in_a_pipe() -> None:
    text = "  smollm2-135m everyday      24 of 30\n\n  short"
    # 2 + 21 + 6 + 5 = 34 columns hold all but the last word
    assert fitted(text, 34).splitlines() == [
        *("  smollm2-135m everyday      24 of", "      30", "", "  short")
    ]
    assert fitted(text, 0) == text


def test_unfinished_study_shows_what_is_there_and_that_it_has_no_report(tmp_path: Path) -> None:
    (tmp_path / "tables").mkdir()
    row = {"model": "a", "dataset": "d", "scope": "cell", "label": GENUINE}
    rates = pl.DataFrame([row | {"average": "micro", "floor": None, "corrected": None}])
    rates.write_parquet(tmp_path / "tables" / "rates.parquet")
    assert show_rates(tmp_path).endswith("report: not built yet, run `snakemake`")


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
    shown = show_rates(tmp_path, {"model": None, "dataset": "d"})
    assert shown.count(" t=0 ") == 1 and "a d t=0 none (j, 8/10 scored)" in shown
    assert "task accuracy" not in shown

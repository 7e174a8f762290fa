"""`userturn power`: items, samples, labels and reference follow-ups that a study needs."""

import json
import re
import shutil
from dataclasses import fields
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from statsmodels.stats.power import TTestPower

from tests.support.made_up_results import made_up_config
from tests.support.synthetic_study import rates_without_outcomes, write_study
from tests.tables.test_make_tables import grid
from userturn.cli.main import main
from userturn.stats.sample_size import Turns, items_for_difference, items_for_half_width
from userturn.study.contents import RecordedContents
from userturn.study.record import StudyRecord
from userturn.tables.judges import SCHEMA
from userturn.tables.make_tables import Material
from userturn.tables.pilot import pilot

MODELS = {"qwen3.5-2b": {}, "gpt-oss-20b": {}}


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["power", *arguments]) == 0
    return capsys.readouterr().out


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["power", *arguments]) == 1
    return capsys.readouterr().err


def write_pilot(folder: Path, models: dict[str, Any], **shape: Any) -> Path:
    """Write the tables of a study that nobody labelled."""
    verdicts, grades = write_study(folder, models=list(models), **shape)
    material = Material(grid(models), {"verdicts": verdicts, "grades": grades})
    (folder / "tables").mkdir()
    made = {
        "contrasts": material.table("contrasts"),
        "rates": rates_without_outcomes(material.items),
    }
    for name, table in made.items():
        table.write_parquet(folder / "tables" / f"{name}.parquet")
    pl.DataFrame(schema=SCHEMA).write_parquet(folder / "tables" / "judges.parquet")
    contents = RecordedContents(**{field.name: {} for field in fields(RecordedContents)})
    config = made_up_config(list(models), [], judges=["another", "heuristic"])  # the primary one
    record = StudyRecord(config, contents).content
    (folder / "study.json").write_text(json.dumps(record))
    return folder


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished study; by its labels the judge is right in 4 of 5 and 9 of 10 turns."""
    folder = write_pilot(
        tmp_path_factory.mktemp("pilot"),
        MODELS,
        datasets={"gsm8k": 300, "coval": 100},
        temperatures=(0.0, 1.0),
        perturbations=("none", "truncate"),
        n_samples=3,
    )
    place = {"judge": "heuristic", "source": "people", "by": "all", "group": "all"}
    said = {"sensitivity": 0.8, "specificity": 0.9}
    rows = [place | {"measure": name, "estimate": value} for name, value in said.items()]
    pl.DataFrame(rows, schema=SCHEMA).write_parquet(folder / "tables" / "judges.parquet")
    return folder


def test_assurance_asks_for_more_items_and_a_decoupled_claim_for_models(
    capsys: pytest.CaptureFixture[str],
) -> None:
    often = said(capsys, "--rate", ".2", "--half-width", ".05", "--assurance", ".8")
    assert "± 5 points in 80% of studies\n  1 sample each: 263 items" in often
    assert "± 0.5 with a power of 80%, at the level 0.05\n  32 models" in said(
        capsys, "--decoupled", ".5"
    )
    assert "found 1.5, expected a margin" in refused(capsys, "--decoupled", "1.5")
    wrong = refused(capsys, "--rate", ".2", "--half-width", ".05", "--assurance", "2")
    assert "assurance: found 2, expected a share of studies from 0.5 to 1" in wrong


def test_items_are_those_of_the_library(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--rate", ".2", "--alike", ".3", "--related", ".1", "--tests", "22"]
    text = said(capsys, "--half-width", ".05", "--difference", ".1", *options)
    turns = Turns(0.2, 0.3, 0.1)
    assert f"3 samples each: {items_for_half_width(turns, 0.05, 3)} items" in text
    expected = items_for_difference(turns, 0.1, 5, 22)
    assert f"5 samples each under either condition: {expected} items" in text
    assert "at the level 0.0023, the strictest that Holm's adjustment asks of 22 tests" in text
    assert "not known: give --sensitivity, --specificity, --turns" in text


def test_labels_follow_from_what_is_said_of_the_judge(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--rate", ".2", "--sensitivity", ".8", "--specificity", ".9", "--turns", "1319"]
    text = said(capsys, "--half-width", ".05", *options)
    assert re.search(r"\d+ of 1,319 turns labelled", text)
    few = said(capsys, "--half-width", ".05", *options[:-1], "100")
    assert "no number of labels does it: 100 turns are too few" in few


def test_what_is_not_known_is_taken_at_its_most_cautious(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = said(capsys, "--half-width", ".05", "--rate", ".2")
    found = re.findall(r"samples? each: (\d+) items", text)
    assert len(found) == 3 and len(set(found)) == 1  # samples that are all alike buy nothing
    assert "not given: the most cautious value" in text
    assert "not given: one test alone" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "rate: not given; give --rate, or --pilot with a study"),
        (
            ("--rate", ".2"),
            "nothing to compute; expected --half-width, --difference, both, or --decoupled",
        ),
        (("--rate", ".2", "--difference", ".9"), "expected a change other than 0"),
        (("--rate", "20", "--half-width", ".1"), "rate: found 20,"),
        (
            ("--rate", ".2", "--difference", ".1", "--power", "1"),
            "power: found 1,",
        ),
        (("--rate", ".2", "--difference", ".1", "--power", "nan"), "power: found nan,"),
        (("--rate", ".2", "--difference", "nan"), "expected a change other than 0"),
        (("--rate", "nan", "--half-width", ".1"), "rate: found nan,"),
        (
            ("--rate", ".2", "--difference", ".1", "--tests", "0.5"),
            "tests: found 0.5,",
        ),
        (
            ("--rate", ".2", "--difference", ".1", "--tests", "inf"),
            "tests: found inf,",
        ),
        (
            ("--rate", ".2", "--half-width", ".1", "--turns", "nan"),
            "turns: found nan,",
        ),
        (
            ("--rate", ".2", "--half-width", ".1", "--samples", "3", "0"),
            "samples: found 0,",
        ),
        *(
            (("--rate", ".2", "--half-width", width), f"half-width: found {width}, expected")
            for width in ("-1", "0", "0.5", "nan", "inf")
        ),
    ],
)
def test_what_makes_no_sense_is_refused(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str
) -> None:
    assert message in refused(capsys, *arguments)


@pytest.mark.parametrize("wish", [("--half-width", "1e-9"), ("--difference", "1e-12")])
def test_what_no_study_attains_is_said(
    capsys: pytest.CaptureFixture[str], wish: tuple[str, str]
) -> None:
    assert said(capsys, "--rate", ".2", *wish).count("more items than any study has") == 3


def test_pilot_says_where_each_assumption_is_from(results: Path) -> None:
    found = pilot(results)
    assert found["sensitivity"].value == pytest.approx(0.8)
    assert found["specificity"].value == pytest.approx(0.9)
    assert found["tests"].value == 2  # two models, one perturbation
    rate = found["rate"].value
    assert rate is not None and 0.1 < rate < 0.25
    assert found["rate"].source.startswith("gpt-oss-20b at temperature 1")
    # Turns are drawn apart from each other here, whatever their item.
    for name in ("alike", "related"):
        value = found[name].value
        assert value is not None and value < 0.1


def test_pilot_whose_tables_name_the_former_test_has_the_same_correlation(
    results: Path, tmp_path: Path
) -> None:
    older = shutil.copytree(results, tmp_path / "older")
    contrasts = pl.read_parquet(older / "tables" / "contrasts.parquet")
    renamed = pl.col("test").replace("McNemar mid-p", "McNemar exact")
    contrasts.with_columns(renamed).write_parquet(older / "tables" / "contrasts.parquet")
    assert pilot(older)["related"] == pilot(results)["related"]
    assert pilot(older)["related"].value is not None


def test_options_win_over_the_pilot(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, "--pilot", str(results), "--half-width", ".05", "--rate", ".4")
    assert re.search(r"rate of genuine turns +0.4  given", text)
    assert "people's labels in the pilot" in text


def test_pilot_that_is_no_study_or_has_no_such_judge_says_what_to_do(
    results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nothing = refused(capsys, "--pilot", str(tmp_path), "--half-width", ".05")
    assert "expected the results folder of a finished study: run `snakemake` first" in nothing
    pair = "--pilot", str(results)
    other = refused(capsys, *pair, "--judge", "gpt", "--half-width", ".05")
    assert "'gpt' is not a judge" in other and "expected one of: heuristic" in other


@pytest.mark.parametrize("n_items", [1, 30])
def test_pilot_of_one_model_and_condition_leaves_the_rest_to_the_most_cautious_values(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], n_items: int
) -> None:
    only = {"qwen3.5-2b": MODELS["qwen3.5-2b"]}
    shape: dict[str, Any] = {"temperatures": (0.0,), "perturbations": ("none",)}
    folder = write_pilot(tmp_path, only, datasets={"gsm8k": n_items}, **shape)
    text = said(capsys, "--pilot", str(folder), "--half-width", ".05", "--rate", ".2")
    assert "the pilot has no contrast: one test alone" in text
    assert "the pilot has one sample an item: the most cautious value" in text
    assert "nobody labelled such turns" in text


def test_pilot_without_verdicts_says_that_it_has_no_rate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_pilot(tmp_path, MODELS, datasets={"gsm8k": 3})
    path = folder / "tables" / "rates.parquet"
    rates = pl.read_parquet(path).with_columns(estimate=pl.lit(None, pl.Float64))
    rates.write_parquet(path)
    nothing = refused(capsys, "--pilot", str(folder), "--half-width", ".05")
    assert "rate: the pilot has no unperturbed rate; give --rate" in nothing
    rates.clear().write_parquet(path)
    assert "; none is defined" in refused(capsys, "--pilot", str(folder), "--half-width", ".05")


GAIN = ("--measure", "gain_answer", "--spread", "0.2")


@pytest.mark.slow
def test_a_gain_of_either_sign_needs_students_conversations_and_a_few(
    capsys: pytest.CaptureFixture[str],
) -> None:
    # A difference of two gains varies by 2 * .04 * .5 = .04, and conversations are of 1.5; what a
    # sample's own skewness costs is two of them at most.
    students = TTestPower().solve_power(0.05 / 0.2, power=0.8, alpha=0.05) * 1.5
    options = (*GAIN, "--related", "0.5", "--design-effect", "1.5")
    last, other = (
        said(capsys, *options, f"--difference={change}").splitlines()[-1]
        for change in (0.05, -0.05)
    )
    assert students <= int(last.split()[0]) <= students + 3 and last == other


def test_a_share_needs_what_items_of_one_turn_need(capsys: pytest.CaptureFixture[str]) -> None:
    items = said(capsys, "--rate", "0.85", "--related", "0", "--difference", "0.05")
    text = said(capsys, "--measure", "identified_answer", "--rate", "0.85", "--difference", "0.05")
    assert "689 items" in items and "691 follow-ups" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((*GAIN,), "expected --difference beside --measure"),
        (("--measure", "gain_role", "--difference", "0.1"), "give --spread"),
        ((*GAIN, "--difference", "0"), "found 0, expected a change"),
        ((*GAIN, "--difference", "0.1", "--alike", "0.1"), "--alike is of turns that a judge"),
        ((*GAIN, "--difference", "0.1", "--samples", "3"), "--samples is of turns that a judge"),
        (
            (*GAIN, "--difference", "0.1", "--rate", "0.5"),
            "--rate changes nothing for 'gain_answer'",
        ),
        (("--difference", "0.1", "--rate", "0.5", "--spread", "1"), "--spread is of reference"),
        ((*GAIN, "--difference", "0.1", "--related", "1.5"), "related: found 1.5"),
        ((*GAIN, "--difference", "0.1", "--design-effect", "0.5"), "design_effect: found 0.5"),
    ],
)
def test_numbers_that_are_missing_or_impossible_are_refused(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str
) -> None:
    assert main(["power", *arguments]) == 1
    assert message in capsys.readouterr().err

"""Numbers that a reader subtracts do subtract, in every table and on the first screen.

The study has conversations of unequal length, versions of problems in four languages, one sample
or three, a post-trained model, and verdicts that are missing by what the turns are.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.support.printed_output import text_of
from tests.support.snakemake_runs import ROOT
from tests.support.synthetic_study import RUBRIC, rates_without_outcomes, write_study
from tests.tables.test_make_tables import grid
from userturn.cli.rates_output import rates_sheet, usual
from userturn.config.load import load_config
from userturn.storage.table_files import TURN_KEYS
from userturn.tables.chance_floor import FLOOR, chance_floors
from userturn.tables.judges import SCHEMA as CARD
from userturn.tables.layout import page_table, parts_of
from userturn.tables.make_tables import Material
from userturn.tables.parts_of_cells import BY_LANGUAGE, BY_TURN, parts_of_cells
from userturn.tables.rates import add_turn_columns, model_rates
from userturn.workflow.registry import tables_of

MODELS: dict[str, Any] = {
    "qwen3.5-0.8b": {},
    "qwen3.5-2b": {},
    "qwen3.5-4b": {},
    "qwen3.5-2b-sft": {"base": "qwen3.5-2b", "family": "qwen3.5", "size": "2b"},
    "gpt-oss-20b": {},
}
OFF = 0.0005  # a twentieth of a point
LANGUAGES = ["en", "de", "fr", "es"]
CONFIG = load_config([ROOT / "config.yaml"])
# The first knows only English.
ENTRIES = {
    n: CONFIG["judges"][i] for n, i in (("heuristic", "heuristic"), ("other", "gpt-5.4-mini"))
}
KEYS = ("model", "dataset", "temperature", "perturbation", "judge")


def _named(path: str) -> None:
    """Name items as turns of conversations of 1 to 6, or as versions of problems in 4 languages."""
    table = pl.read_parquet(path)
    number = pl.col("item").str.slice(-5).cast(pl.Int64)
    # Of every 21 items, conversations of 1, 2, ... 6 turns: they begin at 0, 1, 3, 6, 10, 15.
    place = number % 21
    length = sum(((place >= begin).cast(pl.Int64) for begin in (1, 3, 6, 10, 15)), pl.lit(0))
    turn = place - length * (length + 1) // 2 + 1
    conversation = pl.format("c{}-{}/turn-{}", number // 21, length, turn)
    version = pl.format("p{}/version/{}", number // 4, number)
    is_talk = pl.col("dataset") == "math500"
    if "genuine" in table.columns:
        lost = pl.col("genuine") & (number % 3 == 0) & (pl.col("temperature") > 0)
        kept = pl.col("genuine", "label")
        table = table.with_columns(pl.when(~lost.fill_null(False)).then(kept))
        # Conversations have one sample only.
        table = table.filter(~is_talk | (pl.col("sample") == 0))
    table = table.with_columns(item=pl.when(is_talk).then(conversation).otherwise(version))
    table.write_parquet(path)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], Material]:
    folder: Path = tmp_path_factory.mktemp("study")
    datasets = {"gsm8k": 120, "math500": 210}
    shape: dict[str, Any] = {"n_samples": 3, "judges": ("heuristic", "other")}
    conditions = {"temperatures": (0.0, 1.0), "perturbations": ("none", "truncate")}
    verdicts, grades = write_study(folder, list(MODELS), datasets, **conditions, **shape)
    for path in (*verdicts, *grades):
        _named(path)
    swapped = []
    for path in verdicts:  # of each cell a third of the turns are judged again, otherwise
        again = pl.read_parquet(path).filter(pl.col("item").hash(1) % 3 == 0)
        again = again.with_columns(genuine=pl.col("genuine") & (pl.col("item").hash(2) % 4 > 0))
        swapped.append(path.replace(".parquet", ".swapped"))
        again.write_parquet(swapped[-1])
    inputs = {"verdicts": verdicts, "grades": grades, "rubric": [RUBRIC]}
    card = folder / "judges.parquet"
    pl.DataFrame(schema=CARD).write_parquet(card)
    inputs |= {"unswapped_verdicts": verdicts, "swapped_verdicts": swapped}
    inputs |= {"judges": [str(card)], "annotations": [], "round_keys": []}
    inputs["conversation_verdicts"] = [path for path in verdicts if "/math500/" in path]
    turns = pl.concat([pl.read_parquet(path, columns=TURN_KEYS) for path in verdicts]).unique()
    inputs["user_turns"] = [str(folder / "user_turns.parquet")]
    written = turns.sort(TURN_KEYS).with_columns(key=pl.lit(""), outcome=pl.lit("ok"))
    written.write_parquet(*inputs["user_turns"])
    problems = [path for path in verdicts if "/gsm8k/" in path]
    inputs["turn_languages"] = [str(folder / "languages.parquet")]
    _told(problems).write_parquet(*inputs["turn_languages"])
    of = grid(MODELS)
    of.judges = ENTRIES
    of.config |= {"judges": ENTRIES, "judge_defaults": CONFIG["judge_defaults"]}
    return verdicts, Material(of, inputs)


def _told(paths: list[str]) -> pl.DataFrame:
    """Return the language and problem of each version, whose numbers go around four languages."""
    turns = pl.concat([pl.read_parquet(path, columns=TURN_KEYS) for path in paths]).unique()
    return turns.sort(TURN_KEYS).with_columns(
        prompt_language=_language(),
        problem=pl.col("item").str.extract(r"^(p\d+)/"),
        turn_reason=pl.lit(None, pl.String),
    )


def _language() -> pl.Expr:
    number = pl.col("item").str.extract(r"(\d+)$").cast(pl.Int64) % 4
    return number.replace_strict(dict(enumerate(LANGUAGES)), return_dtype=pl.String)


def counted(paths: list[str], group: pl.Expr) -> dict[tuple[Any, ...], float]:
    """Return the rate of each cell and part of it by plain counting."""
    said: dict[tuple[Any, ...], list[bool]] = defaultdict(list)
    for path in paths:
        for row in pl.read_parquet(path).with_columns(group=group).iter_rows(named=True):
            if row["genuine"] is not None:
                said[*(row[key] for key in KEYS), row["group"]].append(row["genuine"])
    return {place: sum(turns) / len(turns) for place, turns in said.items()}


@pytest.fixture(scope="module")
def rates(study: tuple[list[str], Material]) -> dict[tuple[Any, ...], float]:
    """Every rate over scored turns by plain counting: of cells, and over datasets and models."""
    family = dict(study[1].table("families").select("model", "family").iter_rows())
    said: dict[tuple[Any, ...], list[bool]] = defaultdict(list)
    for path in study[0]:
        for row in pl.read_parquet(path).iter_rows(named=True):
            if row["genuine"] is None:
                continue
            rest = [row[key] for key in KEYS[2:]]
            for place in (
                (row["model"], row["dataset"]),
                (row["model"], "all"),
                (family[row["model"]], "all models"),
                (family[row["model"]], row["dataset"]),
            ):
                said[*place, *rest].append(row["genuine"])
    return {place: sum(turns) / len(turns) for place, turns in said.items()}


def _two_rates(row: dict[str, Any], rates: dict[tuple[Any, ...], float]) -> tuple[float, float]:
    """Return the two rates whose difference a contrast is."""
    of = (
        (row["family"], "all models")
        if row["scope"] == "family"
        else (row["model"], row["dataset"])
    )
    place = dict(zip(KEYS, (*of, *(row[key] for key in KEYS[2:])), strict=True))
    factor = row["factor"]
    before = float(row["baseline"]) if factor == "temperature" else row["baseline"]
    other = place | {factor: before}
    return rates[tuple(place.values())], rates[tuple(other.values())]


def test_every_contrast_is_the_difference_of_two_rates_over_all_scored_turns(
    study: tuple[list[str], Material], rates: dict[tuple[Any, ...], float]
) -> None:
    table = study[1].table("contrasts").filter(measure="follow-up")
    of_parts = pl.col("factor").is_in(["turn", "language"])
    rows = table.filter(pl.col("scope") != "two families", ~of_parts).to_dicts()
    assert len(rows) > 100
    assert {row["factor"] for row in rows} == {"perturbation", "temperature", "model"}
    for row in rows:
        after, before = _two_rates(row, rates)
        assert row["rate_condition"] == pytest.approx(after, abs=OFF)
        assert row["rate_baseline"] == pytest.approx(before, abs=OFF)
        assert row["difference"] == pytest.approx(after - before, abs=OFF)
        assert row["lower"] < row["difference"] < row["upper"]


def test_every_interaction_is_the_difference_of_two_families_changes(
    study: tuple[list[str], Material], rates: dict[tuple[Any, ...], float]
) -> None:
    rows = study[1].table("contrasts").filter(scope="two families").to_dicts()
    assert len(rows) > 20
    for row in rows:
        place = "all models" if row["dataset"] == "all" else row["dataset"]
        changes = []
        for family in (row["family"], row["other_family"]):
            of_family = row | {"scope": "", "model": family, "dataset": place}
            after, before = _two_rates(of_family, rates)
            changes.append(after - before)
        assert row["change"] == pytest.approx(changes[0], abs=OFF)
        assert row["difference"] == pytest.approx(changes[0] - changes[1], abs=OFF)


def test_pooled_rates_and_those_beside_accuracy_are_those_rates(
    study: tuple[list[str], Material], rates: dict[tuple[Any, ...], float]
) -> None:
    pooled = model_rates(rates_without_outcomes(study[1].items_by_label))
    beside = (
        study[1]
        .table("decoupling")
        .filter(over="a model")
        .with_columns(perturbation=pl.lit("none"), estimate="followup_estimate")
    )
    for table in (pooled, beside):  # every dataset is graded
        assert table.height >= 20
        for row in table.iter_rows(named=True):
            place = tuple(row[key] for key in KEYS)
            assert row["estimate"] == pytest.approx(rates[place], abs=OFF)


def _printed(text: str) -> Iterator[tuple[float, float, float]]:
    """Yield rate, floor and what is above it, of each line that has all three, in points."""
    for line in text.splitlines():
        if found := re.search(r" ([\d.]+)% \[.* +([\d.]+)% +([+-][\d.]+) \[", line):
            yield float(found[1]), float(found[2]), float(found[3])


def test_on_the_first_screen_a_rate_less_its_floor_is_what_stands_beside_it(
    study: tuple[list[str], Material], rates: dict[tuple[Any, ...], float]
) -> None:
    found = add_turn_columns(
        rates_without_outcomes(study[1].items_by_label), chance_floors(study[1]), FLOOR
    )
    with_floor = found.drop_nulls("floor")
    assert with_floor.height > 100
    for row in with_floor.iter_rows(named=True):
        own = rates[tuple(row[key] for key in KEYS)]
        assert row["estimate"] == pytest.approx(own, abs=OFF)
        assert row["above_floor"] == pytest.approx(own - row["floor"], abs=OFF)
    sheet = rates_sheet(usual(model_rates(found)), "rates")
    lines = list(_printed(text_of([sheet])))
    assert len(lines) == 5 * 2 * 2  # models, temperatures and judges
    # Three numbers, each rounded to a tenth of a point.
    assert max(abs(rate - floor - above) for rate, floor, above in lines) <= 0.15 + 1e-9


def test_no_table_of_such_a_study_has_a_nan(study: tuple[list[str], Material]) -> None:
    for name in tables_of("analyse"):
        floats = study[1].table(name).select(pl.selectors.float())
        assert not any(floats[column].is_nan().any() for column in floats.columns), name


def test_rates_by_turn_are_over_their_turns_and_a_change_of_two_rates_of_shared_conversations(
    study: tuple[list[str], Material],
) -> None:
    paths = study[1].paths["conversation_verdicts"]
    found = pl.concat(parts_of_cells(study[1]), how="diagonal_relaxed").filter(scope=BY_TURN)
    own = counted(list(paths), pl.col("item").str.extract(r"turn-(\d+)$"))
    rows = {tuple(row[key] for key in (*KEYS, "group")): row for row in found.to_dicts()}
    assert {place[-1] for place in own} == set("123456") and rows.keys() >= own.keys()
    for place, rate in own.items():
        assert rows[place]["estimate"] == pytest.approx(rate, abs=OFF)
    changes = study[1].table("contrasts").filter(factor="turn", scope="model and dataset")
    assert changes.height == 5 * 2 * 2 * 2 * 5  # models, conditions, judges, later turns
    for row in changes.iter_rows(named=True):
        change = row["rate_condition"] - row["rate_baseline"]
        assert row["difference"] == pytest.approx(change, abs=OFF)
        both = _shared([p for p in paths if _is_of(p, row)], int(row["condition"]))
        first, later = ([turns[i] for turns in both] for i in (0, 1))
        assert row["n_items"] == len(both)
        assert row["rate_baseline"] == pytest.approx(sum(first) / len(both), abs=OFF)
        assert row["rate_condition"] == pytest.approx(sum(later) / len(both), abs=OFF)


def _is_of(path: str, row: dict[str, Any]) -> bool:
    table = pl.read_parquet(path, n_rows=1)
    return all(table[key][0] == row[key] for key in KEYS)


def _shared(paths: list[str], turn: int) -> list[tuple[bool, bool]]:
    """Return what a judge says of the first and of a later turn, where it says it of both."""
    (path,) = paths
    said = {row["item"]: row["genuine"] for row in pl.read_parquet(path).iter_rows(named=True)}
    ends = [item for item in said if item.endswith(f"/turn-{turn}")]
    pairs = [(said[f"{item.rpartition('/')[0]}/turn-1"], said[item]) for item in ends]
    return [(first, later) for first, later in pairs if first is not None and later is not None]


def test_contrasts_of_languages_are_differences_of_the_rates_by_language(
    study: tuple[list[str], Material],
) -> None:
    found = pl.concat(parts_of_cells(study[1]), how="diagonal_relaxed").filter(scope=BY_LANGUAGE)
    rows = {tuple(row[key] for key in (*KEYS, "group")): row for row in found.to_dicts()}
    problems = [path for path in study[0] if "/gsm8k/" in path]
    own = counted(problems, _language())
    for place, rate in own.items():
        known = place[-2] == "other" or place[-1] == "en"
        assert rows[place]["estimate"] == (pytest.approx(rate, abs=OFF) if known else None)
    changes = (
        study[1]
        .table("contrasts")
        .filter(factor="language", scope="model and dataset", measure="follow-up")
    )
    assert changes.height == 5 * 2 * 2 * 3  # models, conditions, other languages; of one judge
    for row in changes.iter_rows(named=True):
        place = tuple(row[key] for key in KEYS)
        after, before = own[*place, row["condition"]], own[*place, row["baseline"]]
        assert row["rate_condition"] == pytest.approx(after, abs=OFF)
        assert row["rate_baseline"] == pytest.approx(before, abs=OFF)
        assert row["difference"] == pytest.approx(after - before, abs=OFF)


def test_shares_of_all_labels_are_one_in_every_scope(study: tuple[list[str], Material]) -> None:
    found = rates_without_outcomes(study[1].items_by_label).filter(average="micro")
    sums = found.group_by("scope", *KEYS, "family").agg(pl.sum("estimate"), pl.len())
    assert sums["len"].min() == sums["len"].max() > 2
    assert (sums["estimate"] - 1).abs().max() < 1e-9


def test_printed_changes_are_differences_of_the_printed_rates(
    study: tuple[list[str], Material],
) -> None:
    table = study[1].table("contrasts")
    first = next(layout for layout in parts_of("contrasts") if layout.title == "Contrasts")
    shown = page_table(first, table, "heuristic")
    at = {heading: place for place, (heading, _) in enumerate(shown["columns"])}
    assert len(shown["rows"]) > 20
    for row in shown["rows"]:
        before, after, change = (
            round(100 * row[at[name]][0], 1) for name in ("baseline's rate", "rate", "change")
        )
        # Three numbers, each rounded to a tenth of a point.
        assert abs(after - before - change) <= 0.15 + 1e-9

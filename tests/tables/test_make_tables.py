"""Tables of a whole study, recomputed by plain Python, and what becomes of degenerate cells."""

from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from tests.support.printed_output import text_of
from tests.support.synthetic_study import RUBRIC, rates_without_outcomes, write_study
from userturn.cli.compare import compare_studies, formatted
from userturn.cli.rates_output import correlations_sheet
from userturn.errors import UserError
from userturn.report.flips import studies_of
from userturn.tables.accuracy import accuracy
from userturn.tables.anchors import anchors
from userturn.tables.decoupling import LAYOUT, OF_A_MODEL, OVER_ITEMS, OVER_MODELS
from userturn.tables.layout import layouts, printed
from userturn.tables.make_tables import Material, write_markdown
from userturn.workflow.registry import TABLES, tables_of

LABELS = ("generic", "genuine_followup")


def grid(models: dict[str, Any], n_resamples: int = 200) -> Any:
    plain = {name: {"operator": name} for name in ("none", "truncate", "header_only")}
    return SimpleNamespace(
        models=models,
        entries=models,
        contents=SimpleNamespace(recipes={}),
        trained=[],
        datasets=[],
        perturbations=plain,
        config={"seed": 1, "statistics": {"resamples": n_resamples}},
    )


def tables_from(study: Any, verdicts: list[str], grades: list[str]) -> dict[str, pl.DataFrame]:
    material = Material(study, {"verdicts": verdicts, "grades": grades, "rubric": [RUBRIC]})
    tables = {name: material.table(name) for name in tables_of("analyse")}
    return tables | {
        "rates": rates_without_outcomes(material.items_by_label, material.rubric.paper)
    }


def tables_in(results: Path, models: dict[str, Any]) -> dict[str, pl.DataFrame]:
    verdicts = [str(path) for path in results.glob("cells/*/*/*/*/verdicts/*.parquet")]
    grades = [str(path) for path in results.glob("grades/*/*.parquet")]
    return tables_from(grid(models), verdicts, grades)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of a family of three, two trained from one of them, and one beside them; two samples
    above temperature 0."""
    folder = tmp_path_factory.mktemp("study")
    write_study(
        folder,
        models=list(MODELS),
        datasets={"gsm8k": 60, "coval": 40},
        temperatures=(0.0, 1.0),
        perturbations=("none", "truncate"),
        judges=("heuristic", "other"),
        n_samples=2,
    )
    return folder


MODELS: dict[str, Any] = {
    "qwen3.5-0.8b": {},
    "qwen3.5-2b": {},
    "qwen3.5-2b-sft": {"base": "qwen3.5-2b", "family": "qwen3.5", "size": "2b"},
    "qwen3.5-2b-rl": {"base": "qwen3.5-2b-sft", "family": "qwen3.5", "size": "2b"},
    "qwen3.5-4b": {},
    "glm-4.7": {"size": "355b-a32b"},
}


@pytest.fixture(scope="module")
def tables(results: Path) -> dict[str, pl.DataFrame]:
    return tables_in(results, MODELS)


def verdicts(results: Path) -> list[dict[str, Any]]:
    """Every verdict as a dict, read file by file."""
    paths = results.glob("cells/*/*/*/*/verdicts/*.parquet")
    return [row for path in paths for row in pl.read_parquet(path).to_dicts()]


def is_at(row: dict[str, Any], **values: object) -> bool:
    """Tell whether a row has these values."""
    return all(row[key] == value for key, value in values.items())


def one(table: pl.DataFrame, **values: object) -> dict[str, Any]:
    """Return the one row with these values."""
    rows = [r for r in table.to_dicts() if is_at(r, **values)]
    assert len(rows) == 1, (values, len(rows))
    return rows[0]


QWEN = ("qwen3.5-0.8b", "qwen3.5-2b", "qwen3.5-4b")
PLACE = {"temperature": 1.0, "perturbation": "none", "judge": "other"}


def test_pooled_rate_of_a_family_is_that_of_its_turns(
    results: Path, tables: dict[str, pl.DataFrame]
) -> None:
    mine = [v for v in verdicts(results) if v["model"] in QWEN and is_at(v, **PLACE)]
    scored = [v for v in mine if v["genuine"] is not None]
    genuine = sum(v["genuine"] for v in scored)
    of_family = {"scope": "family", "family": "qwen3.5", "label": "genuine_followup"}
    row = one(tables["rates"], **of_family, average="micro", **PLACE)
    # 3 models x 2 samples x 100 items; an item that three models share is one item.
    assert (row["n_turns"], row["n_items"], row["n_datasets"]) == (600, 100, 2)
    assert (row["n_scored"], row["n_positive"]) == (len(scored), genuine)
    assert row["estimate"] == pytest.approx(genuine / len(scored))
    assert row["if_unscored_negative"] == pytest.approx(genuine / 600)
    assert row["if_unscored_positive"] == pytest.approx((genuine + 600 - len(scored)) / 600)
    assert row["lower"] < row["estimate"] < row["upper"]
    shares = [
        sum(v["genuine"] for v in scored if v["dataset"] == d)
        / sum(v["dataset"] == d for v in scored)
        for d in ("gsm8k", "coval")
    ]
    macro = one(tables["rates"], **of_family, average="macro", **PLACE)
    assert macro["estimate"] == pytest.approx(sum(shares) / 2)


def test_shares_of_the_labels_are_counted_and_sum_to_one(
    results: Path, tables: dict[str, pl.DataFrame]
) -> None:
    rows = tables["rates"].filter(scope="model", model="glm-4.7", average="micro", **PLACE)
    mine = [
        v["label"] for v in verdicts(results) if is_at(v, model="glm-4.7", **PLACE) and v["label"]
    ]
    assert dict(rows.select("label", "n_positive").rows()) == {x: mine.count(x) for x in set(mine)}
    assert rows["estimate"].sum() == pytest.approx(1)


def test_contrast_counts_the_items_that_rise_and_fall(
    results: Path, tables: dict[str, pl.DataFrame]
) -> None:
    place = {"model": "glm-4.7", "dataset": "gsm8k", "temperature": 0.0, "judge": "other"}
    seen: dict[str, dict[str, bool]] = defaultdict(dict)
    for v in verdicts(results):
        if v["genuine"] is not None and is_at(v, **place):
            seen[v["item"]][v["perturbation"]] = v["genuine"]
    both = [pair for pair in seen.values() if len(pair) == 2]
    rise = sum(pair["truncate"] and not pair["none"] for pair in both)
    fall = sum(pair["none"] and not pair["truncate"] for pair in both)
    row = one(tables["contrasts"], factor="perturbation", **place)
    assert (row["n_items"], row["n_rise"], row["n_fall"]) == (len(both), rise, fall)
    sides = [[g[c] for g in seen.values() if c in g] for c in ("none", "truncate")]
    before, after = (sum(side) / len(side) for side in sides)
    assert row["difference"] == pytest.approx(after - before)
    assert row["test"] == "McNemar mid-p"


def test_one_turn_against_several_is_tested_on_first_samples_of_items_scored_at_both(
    results: Path, tables: dict[str, pl.DataFrame]
) -> None:
    place = {"model": "qwen3.5-4b", "perturbation": "none", "judge": "heuristic"}
    seen = [v for v in verdicts(results) if v["genuine"] is not None and is_at(v, **place)]
    cold, warm = (
        {(v["dataset"], v["item"]) for v in seen if v["temperature"] == t} for t in (0.0, 1.0)
    )
    row = one(tables["contrasts"], factor="temperature", scope="model", **place)
    assert (row["n_items"], row["dataset"]) == (len(cold & warm), "all")
    assert row["test"] == "McNemar mid-p of first samples"


def test_being_right_and_following_up_are_counted_on_the_first_sample(
    results: Path, tables: dict[str, pl.DataFrame]
) -> None:
    grades = {
        row["item"]: row["correct"]
        for row in pl.read_parquet(results / "grades" / "glm-4.7" / "gsm8k.parquet").to_dicts()
    }
    counts = dict.fromkeys([(r, g) for r in (True, False) for g in (True, False)], 0)
    for v in verdicts(results):
        here = is_at(v, model="glm-4.7", dataset="gsm8k", sample=0, **PLACE)
        if v["genuine"] is not None and here:
            counts[grades[v["item"]], v["genuine"]] += 1
    row = one(
        tables["decoupling"],
        over=OVER_ITEMS,
        model="glm-4.7",
        dataset="gsm8k",
        temperature=1.0,
        judge="other",
    )
    names = ("n_right_genuine", "n_right_not", "n_wrong_genuine", "n_wrong_not")
    assert [row[name] for name in names] == list(counts.values())


def test_decoupling_holds_accuracy_and_follow_up_of_graded_datasets(
    tables: dict[str, pl.DataFrame],
) -> None:
    of_models = tables["decoupling"].filter(over=OF_A_MODEL)
    assert set(of_models["dataset"]) == {"gsm8k", "all"}  # coval is not graded
    rows = tables["decoupling"].filter(
        over=OVER_MODELS,
        family="qwen3.5",
        dataset="all",
        temperature=1.0,
        judge="other",
        x="size",
        y="follow-up",
    )
    assert rows["n_models"].to_list() == [3]
    assert rows["slope_lower"][0] <= rows["slope_per_doubling"][0] <= rows["slope_upper"][0]


def test_post_training_has_follow_up_and_accuracy_of_the_model_and_its_base(
    tables: dict[str, pl.DataFrame],
) -> None:
    rows = tables["contrasts"].filter(factor="model")
    assert set(rows["measure"]) == {"follow-up", "accuracy"}
    assert set(zip(rows["baseline"], rows["condition"], strict=True)) == {
        ("qwen3.5-2b", "qwen3.5-2b-sft"),
        ("qwen3.5-2b-sft", "qwen3.5-2b-rl"),
        ("qwen3.5-2b", "qwen3.5-2b-rl"),
    }


def test_trained_models_are_no_further_sizes_of_their_family(
    tables: dict[str, pl.DataFrame],
) -> None:
    families = dict(tables["families"].select("model", "family").rows())
    assert families["qwen3.5-2b-rl"] == "qwen3.5, post-trained"
    place = {"dataset": "all", "temperature": 1.0, "judge": "other", "x": "size", "y": "follow-up"}
    assert (
        one(tables["decoupling"], over=OVER_MODELS, family="all", **place)["n_models"] == 4
    )  # qwen x 3, glm
    row = one(tables["contrasts"], scope="family", family="qwen3.5", condition="1.0", **PLACE)
    assert row["n_items"] <= 100


def test_slope_over_datasets_is_that_of_the_rates_over_all_their_turns(tmp_path: Path) -> None:
    models: dict[str, Any] = {f"m-{size}b": {} for size in (1, 2, 4)}
    write_study(tmp_path, list(models), {"gsm8k": 90, "math500": 30}, (0.0,), ("none",), seed=3)
    tables = tables_in(tmp_path, models)
    rows = tables["decoupling"].filter(family="m", x="size", y="follow-up", dataset="all")
    rates = dict(
        tables["decoupling"]
        .filter(over=OF_A_MODEL, dataset="all")
        .select("size", "followup_estimate")
        .rows()
    )
    # Over log2 of sizes 1, 2 and 4, at -1, 0 and 1 from their mean.
    assert rows["slope_per_doubling"][0] == pytest.approx((rates[4.0] - rates[1.0]) / 2)


def test_follow_up_beside_accuracy_is_over_the_graded_items_alone(tmp_path: Path) -> None:
    paths, grades = write_study(tmp_path, ["m-1b"], {"gsm8k": 40, "coval": 40}, (0.0,), ("none",))
    half = pl.read_parquet(grades[0]).with_columns(
        correct=pl.when(pl.int_range(pl.len()) < 25).then("correct")
    )
    half.write_parquet(grades[0])
    rows = tables_from(grid({"m-1b": {}}), paths, grades)["decoupling"].filter(over=OF_A_MODEL)
    verdicts = pl.concat([pl.read_parquet(path) for path in paths])
    of_items = verdicts.join(half.drop_nulls("correct"), on=["dataset", "item"], how="semi")
    row = one(rows, dataset="all")
    assert row["n_graded"] == 25
    assert row["n_scored"] == of_items["genuine"].count()
    assert row["followup_estimate"] == pytest.approx(of_items["genuine"].mean())


def test_correlation_with_rates_at_their_floor_says_so(tmp_path: Path) -> None:
    models: dict[str, Any] = {f"qwen3.5-{size}b": {} for size in (1, 2, 4, 8)}
    write_study(tmp_path, list(models), {"gsm8k": 400}, (0.0,), ("none",), seed=3)
    table = tables_in(tmp_path, models)["decoupling"]  # truly 1% for every model
    place = {"family": "all", "dataset": "all", "x": "size"}
    row = one(table, y="follow-up", **place)
    assert row["note"].startswith("follow-up is at its floor, below 5%, in 4 of 4 models")
    assert row["attenuation"] < 0.9
    assert (row["lower"], row["upper"]) == (None, None)
    assert row["reason"].startswith("no interval: what sampling leaves of the correlation is about")
    columns = printed(LAYOUT[1], table).columns
    assert columns.index("interval") < columns.index("spearman")
    lines = text_of([correlations_sheet(table)]).splitlines()
    found = next(line for line in lines if line.startswith("size and follow-up"))
    shown = f"no interval {row['estimate']:.2f} {row['p']:.2g} follow-up is at its floor"
    assert shown in " ".join(found.split())
    assert found.endswith(row["reason"])


def test_p_values_are_adjusted_upwards_and_within_one(tables: dict[str, pl.DataFrame]) -> None:
    table = tables["contrasts"]
    assert table.filter(pl.col("p_adjusted") < pl.col("p") - 1e-12).is_empty()
    assert table["p_adjusted"].drop_nulls().is_between(0, 1).all()
    confirmed = table.filter(correction="Holm")
    assert set(confirmed["scope"]) == {"model", "two families"}


def test_analysing_twice_is_equal_and_more_models_change_no_row(
    results: Path, tables: dict[str, pl.DataFrame], tmp_path: Path
) -> None:
    (tmp_path / "cells").mkdir()
    (tmp_path / "grades").mkdir()
    for part in ("cells", "grades"):
        (tmp_path / part / "glm-4.7").symlink_to(results / part / "glm-4.7")
    small = tables_in(tmp_path, {"glm-4.7": MODELS["glm-4.7"]})
    mine, alone = (t["rates"].filter(model="glm-4.7") for t in (tables, small))
    assert mine.equals(alone)


CELL = {"model": "m-1b", "dataset": "d", "temperature": 0.0, "perturbation": "none", "judge": "h"}


def degenerate(folder: Path, cells: dict[str, list[bool | None]]) -> dict[str, pl.DataFrame]:
    """Return the tables of one model with these verdicts in each perturbation."""
    paths = []
    for perturbation, genuine in cells.items():
        labels = [None if g is None else LABELS[g] for g in genuine]
        rows = [
            CELL | {"perturbation": perturbation, "item": str(i), "sample": 0}
            for i in range(len(labels))
        ]
        table = pl.DataFrame(rows).with_columns(
            label=pl.Series(labels, dtype=pl.String), genuine=pl.Series(genuine, dtype=pl.Boolean)
        )
        paths.append(str(folder / f"{perturbation}.parquet"))
        table.write_parquet(paths[-1])
    n = max(map(len, cells.values()))
    grades = pl.DataFrame(
        {"model": "m-1b", "dataset": "d", "item": [str(i) for i in range(n)], "correct": True}
    ).with_columns(correct_loose=pl.lit(None, dtype=pl.Boolean))
    path_to_grades = str(folder / "grades.parquet")
    grades.write_parquet(path_to_grades)
    return tables_from(grid({"m-1b": {}}, n_resamples=100), paths, [path_to_grades])


@pytest.mark.parametrize(
    "cells",
    [
        {"none": [None]},
        {"none": [True]},
        {"none": [None, None], "truncate": [None, None]},
        {"none": [False] * 5, "truncate": [False] * 5},
        {"none": [True] * 5, "truncate": [True] * 5},
        {"none": [True, None], "truncate": [None, True]},
        {"truncate": [True, False]},
        {"none": [False] * 5, "header_only": [True] * 5},
    ],
)
def test_degenerate_cells_have_reasons_and_never_a_nan(
    tmp_path: Path, cells: dict[str, list[bool | None]]
) -> None:
    for name, table in degenerate(tmp_path, cells).items():
        floats = table.select(pl.selectors.float())
        assert not any(floats[column].is_nan().any() for column in floats.columns), name
        if "estimate" in table.columns and "reason" in table.columns:
            silent = table.filter(pl.col("estimate").is_null(), pl.col("reason").is_null())
            beside = silent.filter(over=OF_A_MODEL) if "over" in table.columns else silent.clear()
            assert silent.height == beside.height, name  # two rates beside each other
        if name in layouts():
            parts = [(part.title, printed(part, table)) for part in layouts()[name]]
            write_markdown(parts, tmp_path / "printed.md")
            assert "nan" not in (tmp_path / "printed.md").read_text().lower()


def test_study_without_a_base_says_so(tmp_path: Path) -> None:
    table = degenerate(tmp_path, {"none": [True, False]})["contrasts"].filter(factor="model")
    assert table["reason"].to_list() == ["no model line of this study names its base"]


def test_published_anchors_are_known_found_or_not_comparable(
    results: Path, tables: dict[str, pl.DataFrame]
) -> None:
    grades = pl.concat([pl.read_parquet(p) for p in sorted(results.glob("grades/*/*.parquet"))])
    answers = grades.select("model", "dataset", finish_reason=pl.lit("stop"))
    of_tasks = accuracy(grades, answers)
    found = anchors({**tables, "accuracy": of_tasks}, "heuristic")
    agree = dict(found.select("quantity", "outcome").rows())
    # Nothing of gpt-oss and no 397B model here: the row stays, and says so.
    assert agree["share of assistant_turn_restate of gpt-oss"] == "not comparable"
    assert agree["GSM8K accuracy of Qwen3.5-397B-A17B"] == "not comparable"
    outcomes = {"reproduced", "not reproduced", "undecided", "not comparable"}
    assert set(found["outcome"]) <= outcomes
    read_in = dict(found.select("quantity", "source").rows())
    assert read_in["perturbations, GLM"] == "digest"  # nobody here has read the paper's table


def test_two_studies_are_compared_item_by_item(results: Path, tmp_path: Path) -> None:
    write_study(
        tmp_path, ["glm-4.7"], {"gsm8k": 60}, (0.0,), ("none", "truncate"), ("heuristic",), seed=9
    )
    (found,), _ = compare_studies(studies_of([results, tmp_path]))
    text = text_of(formatted(found))
    cell = ["glm-4.7", "gsm8k", "0", "truncate", "heuristic"]
    (line,) = (line.split()[5:] for line in text.splitlines() if line.split()[:5] == cell)
    a, b = (
        {
            row["item"]: row["genuine"]
            for row in pl.read_parquet(
                folder / "cells/glm-4.7/gsm8k/t0/truncate/verdicts/heuristic.parquet"
            ).to_dicts()
            if row["genuine"] is not None
        }
        for folder in (results, tmp_path)
    )
    shared = sorted(set(a) & set(b))
    before, after = (sum(x.values()) / len(x) for x in (a, b))
    assert line[:3] == [str(len(shared)), f"{before:.1%}", f"{after:.1%}"]
    # In A only: 6 models x 2 datasets x 2 temperatures x 2 perturbations x 2 judges, less these 2.
    assert "only in A: 94 cells by judge" in text and "only in B: 0 cells by judge" in text


def test_comparing_with_an_empty_folder_says_what_to_do(results: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="has no verdicts; expected the results folder"):
        compare_studies(studies_of([results, tmp_path]))


CHANGES = {"difference", "detectable_difference", "lower_if_unscored", "change", "change_other"}
SHOWN = [(name, part) for name, parts in layouts().items() for part in parts]


def test_every_printed_change_of_a_share_is_in_points_and_so_headed(
    tables: dict[str, pl.DataFrame],
) -> None:
    """Every printed column whose values follow those of a change is headed in points."""
    seen = set()
    for name, part in SHOWN:
        if name not in tables or ".md" not in TABLES[name].formats:
            continue
        before = printed(part, tables[name])
        for column in CHANGES & set(tables[name].columns):
            after = printed(part, tables[name].with_columns(pl.col(column) + 0.1))
            moved = [n for n in before.columns if not before[n].equals(after[n])]
            assert [n for n in moved if not n.endswith(", points")] == []
            for n in moved:
                first, second = (t[n].str.extract(r"(-?\d+\.\d+)") for t in (before, after))
                steps = (second.cast(pl.Float64) - first.cast(pl.Float64)).drop_nulls()
                assert steps.is_between(9.85, 10.15).all() and steps.len()
                seen.add((part.title, column))
    assert len(seen) == 5


def test_the_report_shows_every_change_as_one() -> None:
    kinds = {
        (shown.kind, name)
        for _, part in SHOWN
        for shown in part.columns
        for name in CHANGES & set(shown.columns)
    }
    assert {kind for kind, _ in kinds} == {"change", "points"}
    assert {name for _, name in kinds} == CHANGES

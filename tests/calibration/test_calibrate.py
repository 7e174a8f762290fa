"""Anybody's judge: what a study's tables say of its verdicts, and what is right by hand."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.support.annotation_rounds import FAMILIES, LABELS
from tests.support.labelled_study import SIMULATED, tables_of
from userturn.calibration.calibrate import SEED, LabelledRows, calibrate, labelled_rows
from userturn.calibration.judged_rows import Columns, yes_or_no
from userturn.errors import UserError
from userturn.storage.table_files import TURN_KEYS
from userturn.study.cells import ALL
from userturn.tables.agreement import agreement
from userturn.tables.corrected_rates import corrected_change, corrected_rate, domains
from userturn.tables.judge_card import judge_card
from userturn.tables.known_turns import peoples_turns

LIMITS = ("estimate", "lower", "upper")
CORRECTED = ("corrected", "corrected_lower", "corrected_upper")


def table_of(
    folder: Path, verdicts: pl.DataFrame, labels: pl.DataFrame, **columns: Any
) -> pl.DataFrame:
    verdicts.write_csv(folder / "verdicts.csv")
    labels.write_csv(folder / "labels.csv")
    paths = [folder / "verdicts.csv"], folder / "labels.csv"
    return calibrate(labelled_rows(*paths, Columns(**columns)))


def limits(table: pl.DataFrame, measure: str, **of: str) -> tuple[float, ...]:
    (row,) = table.filter(measure=measure, **of).select(LIMITS).rows()
    return row


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> pl.DataFrame:
    """Return what is said of a study's verdicts and labels, written as two tables of CSV."""
    strata = pl.col("label").fill_null("unscored")
    verdicts = SIMULATED["verdicts"].select(*TURN_KEYS, "judge", "genuine", stratum=strata)
    key = SIMULATED["key"].select("id", *TURN_KEYS)
    labels = SIMULATED["annotations"].select("id", "annotator", "label").join(key, on="id")
    return table_of(
        tmp_path_factory.mktemp("calibrated"),
        verdicts,
        labels.drop("id"),
        positive=[LABELS[0], "true"],
    )


@pytest.mark.slow
def test_corrected_rates_are_those_of_a_studys_table(exported: pl.DataFrame) -> None:
    found = SIMULATED
    own = domains(found["turns"], found["verdicts"], found["annotations"], found["key"])
    for model in FAMILIES:
        row = corrected_rate(own[model, "d", 0.0, "none", "judge"])
        assert limits(exported, "corrected rate", model=model) == tuple(row[c] for c in CORRECTED)


def test_changes_are_those_of_a_studys_table(exported: pl.DataFrame) -> None:
    found = SIMULATED
    own = domains(found["turns"], found["verdicts"], found["annotations"], found["key"])
    first, other = (own[model, "d", 0.0, "none", "judge"] for model in ("a-1b", "b-1b"))
    row = corrected_change(other, first)
    change = limits(exported, "corrected rate less that of a-1b", model="b-1b")
    assert change == tuple(row[column] for column in CORRECTED)


@pytest.mark.parametrize(
    ("measure", "own"),
    [("sensitivity", "sensitivity"), ("specificity", "specificity"), ("agreement", "right side")],
)
def test_the_card_is_that_of_a_study(exported: pl.DataFrame, measure: str, own: str) -> None:
    labelled, _ = tables_of(SIMULATED)
    card = judge_card(peoples_turns(labelled), 1).filter(by=ALL, measure=own)
    assert limits(exported, measure, model=ALL) == card.select(LIMITS).row(0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("measure", "part", "own"),
    [
        ("kappa", "judge-human", "cohen_kappa"),
        ("alpha of people", "human-human", "krippendorff_alpha"),
    ],
)
def test_agreement_is_that_of_a_studys_table_with_the_default_seed(
    exported: pl.DataFrame, measure: str, part: str, own: str
) -> None:
    table = agreement(*tables_of(SIMULATED), LABELS, SEED)
    of = {"scale": "genuine", "group": ALL, "weights": "study", "measure": own}
    row = table.filter(part=part, **of).select(LIMITS).row(0)
    assert limits(exported, measure, model=ALL) == row


def made(n: int, model: str = "m", rate: float = 0.4, seed: int = 1) -> pl.DataFrame:
    """Return rows of a judge who is right in 80%, with the truth."""
    generator = np.random.default_rng(seed)
    truth = generator.random(n) < rate
    says = np.where(generator.random(n) < 0.8, truth, ~truth)
    ids = [f"{model}-{i}" for i in range(n)]
    return pl.DataFrame({"id": ids, "model": model, "verdict": says, "truth": truth})


def test_corrected_rate_is_rogan_and_gladens_of_the_card(tmp_path: Path) -> None:
    # Rogan and Gladen 1978: (rate + specificity - 1) / (sensitivity + specificity - 1).
    rows = made(400)
    labels = rows.sample(120, seed=3).select("id", label="truth")
    table = table_of(tmp_path, rows.drop("truth"), labels)
    rate, se, sp, corrected = (
        limits(table, measure)[0]
        for measure in ("rate by the judge", "sensitivity", "specificity", "corrected rate")
    )
    assert corrected == pytest.approx((rate + sp - 1) / (se + sp - 1), abs=1e-12)


def test_corrected_rate_and_card_by_hand(tmp_path: Path) -> None:
    # The judge says yes to 60 of 100 rows. Of 6 labelled ones 5 are a yes, of 8 others 2.
    # 60/100 x 5/6 + 40/100 x 2/8 = .5 + .1; sensitivity .5/.6, specificity (.4 x 6/8)/.4.
    rows = pl.DataFrame({"id": range(100), "verdict": [1] * 60 + [0] * 40})
    labels = pl.DataFrame(
        {
            "id": [*range(6), *range(60, 68)],
            "label": ["yes"] * 5 + ["no"] + ["yes"] * 2 + ["no"] * 6,
        }
    )
    table = table_of(tmp_path, rows, labels)
    assert limits(table, "rate by the judge")[0] == 0.6
    assert limits(table, "corrected rate")[0] == pytest.approx(0.6)
    assert limits(table, "sensitivity")[0] == pytest.approx(5 / 6)
    assert limits(table, "specificity")[0] == pytest.approx(0.3 / 0.4)
    assert limits(table, "agreement")[0] == pytest.approx(0.5 + 0.3)


def test_one_stratum_is_prediction_powered_inference_by_hand(tmp_path: Path) -> None:
    # With one stratum a lambda of least variance weighs the judge (PPI++, arXiv:2311.01453); in
    # `calibrate` it comes from labels with half a yes and half a no added, so about that by hand.
    rows = made(1000).with_columns(stratum=pl.lit("all"))
    labels = rows.sample(300, seed=3).select("id", label="truth")
    table = table_of(tmp_path, rows.drop("truth"), labels)
    seen = rows.join(labels, on="id")
    y, f, every = (
        np.array(column, dtype=float)
        for column in (seen["label"], seen["verdict"], rows["verdict"])
    )
    tuning = np.cov(y, f)[0, 1] / f.var(ddof=1)
    by_hand = tuning * every.mean() + (y - tuning * f).mean()
    assert limits(table, "corrected rate")[0] == pytest.approx(by_hand, abs=2e-3)


def test_labels_that_were_drawn_by_the_verdict_do_not_bias_the_rate(tmp_path: Path) -> None:
    # 20% are a yes; 200 labels of the judge's yes and 200 of its no, though it says no more often.
    rows = made(2000, rate=0.2)
    drawn = [rows.filter(verdict=said).sample(200, seed=5) for said in (True, False)]
    labels = pl.concat(drawn).select("id", label="truth")
    estimate, lower, upper = limits(
        table_of(tmp_path, rows.drop("truth"), labels), "corrected rate"
    )
    real = rows["truth"].mean()
    assert lower < real < upper
    assert labels["label"].mean() > upper  # as if they were of all rows
    assert estimate == pytest.approx(real, abs=0.04)


def test_rows_of_one_item_are_no_more_than_their_items(tmp_path: Path) -> None:
    # Each row five times is worth no more than once; as items of their own they would be.
    once = made(100)
    five = pl.concat([once.with_columns(epoch=pl.lit(n)) for n in range(5)])
    labels = once.sample(60, seed=2).select("id", epoch=pl.lit(0), label="truth")
    by_item = limits(table_of(tmp_path, five.drop("truth"), labels), "rate by the judge")
    apart = five.with_columns(item=pl.concat_str("id", "epoch"))
    by_row = limits(table_of(tmp_path, apart.drop("truth"), labels), "rate by the judge")
    alone = limits(table_of(tmp_path, once.drop("truth"), labels), "rate by the judge")
    assert by_item[0] == by_row[0] == alone[0]
    assert by_item[2] - by_item[1] == pytest.approx(alone[2] - alone[1], rel=0.05)
    assert by_row[2] - by_row[1] < 0.6 * (by_item[2] - by_item[1])


def test_datasets_are_groups_and_are_taken_together(tmp_path: Path) -> None:
    parts = [made(200, seed=n).with_columns(pl.lit(f"d{n}").alias("dataset")) for n in (1, 2)]
    rows = pl.concat(parts).with_columns(id=pl.int_range(400))
    labels = rows.sample(150, seed=2).select("id", label="truth")
    table = table_of(tmp_path, rows.drop("truth"), labels)
    counts = table.filter(measure="corrected rate").select("model", "dataset", "n_rows").rows()
    assert counts == [("m", "d1", 200), ("m", "d2", 200), ("m", "all", 400)]
    parts_of = [limits(table, "corrected rate", dataset=name)[0] for name in ("d1", "d2")]
    assert limits(table, "corrected rate", dataset="all")[0] == pytest.approx(np.mean(parts_of))


def test_nothing_is_said_where_a_kind_of_rows_has_no_label(tmp_path: Path) -> None:
    rows = made(100)
    labels = rows.filter(verdict=True).head(20).select("id", label="truth")
    table = table_of(tmp_path, rows.drop("truth"), labels)
    n_no = rows.filter(verdict=False).height
    why = f"no label of 1 of 2 kinds of rows, such as the {n_no} with a no (m)"
    told = table.filter(pl.col("measure") != "rate by the judge")
    assert told["estimate"].null_count() == told.height == 5
    assert all(reason.startswith(why) for reason in told["reason"])


def test_rows_without_a_verdict_count_as_not_called_a_yes_until_people_label_them(
    tmp_path: Path,
) -> None:
    # 10 of 30 rows have no verdict; people call 2 of 4 of them a yes, and agree with the others:
    # (10 + 0 + 10 x 2/4) / 30.
    rows = pl.DataFrame({"id": range(30), "verdict": [1] * 10 + [0] * 10 + [None] * 10})
    labels = pl.DataFrame({"id": [0, 1, 10, 11, 20, 21, 22, 23], "label": [1, 1, 0, 0, 1, 1, 0, 0]})
    table = table_of(tmp_path, rows, labels)
    assert limits(table, "corrected rate")[0] == pytest.approx(0.5)
    assert table.filter(measure="corrected rate").row(0, named=True)["n_scored"] == 20
    assert limits(table, "agreement")[0] == 1


VERDICTS = "id,verdict\na,1\nb,0\n"
GIVEN = "id,label\na,1\nb,0\n"


def read(folder: Path, verdicts: str, labels: str, **columns: Any) -> LabelledRows:
    (folder / "verdicts.csv").write_text(verdicts)
    (folder / "labels.csv").write_text(labels)
    return labelled_rows([folder / "verdicts.csv"], folder / "labels.csv", Columns(**columns))


def said(found: LabelledRows) -> list[tuple[Any, ...]]:
    return found.verdicts.select("judge", "item", "genuine").rows()


def test_columns_are_found_by_name(tmp_path: Path) -> None:
    found = read(tmp_path, "Doc_ID,Scorer,Score\n7,g,pass\n8,g,fail\n", "sample_id;human\n7;1\n")
    assert said(found) == [("g", "7", True), ("g", "8", False)]
    assert found.labels.select("id", "annotator", "genuine").rows() == [("7", "people", True)]


def test_columns_are_those_that_are_named(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        "uid,doc,gpt,claude,lang\n1,x,5,2,de\n2,x,1,4,fr\n",
        "uid,grade\n1,4\n",
        id="uid", item="doc", verdict=["gpt", "claude"], label="grade", by=["lang"], positive="45",
    )  # fmt: skip
    assert said(found) == [
        *[("gpt", "x", True), ("claude", "x", False), ("gpt", "x", False), ("claude", "x", True)]
    ]
    assert found.rows["model"].to_list() == ["de", "fr"]


def test_a_label_may_name_less_than_what_names_a_row_where_that_is_enough(tmp_path: Path) -> None:
    verdicts = "model,dataset,id,verdict\nm,d,a,1\nm,e,b,0\n"
    assert read(tmp_path, verdicts, "id,label\nb,1\n").labels["id"].to_list() == ["m\ne\nb"]
    assert read(tmp_path, verdicts, "dataset,id,label\nd,a,1\n").labels["id"].to_list() == [
        "m\nd\na"
    ]


def test_drawn_rows_without_a_label_are_no_labels(tmp_path: Path) -> None:
    found = read(tmp_path, VERDICTS, "id,label\na,1\nb,\n")
    assert found.rows["drawn"].to_list() == [True, True]
    assert found.labels.height == 1


def test_a_judge_with_scores_is_left_out_and_named(tmp_path: Path) -> None:
    found = read(tmp_path, "id,judge,verdict\na,x,1\na,y,0.7\n", "id,label\na,1\n")
    assert found.verdicts["judge"].to_list() == ["x"]
    assert found.left_out == {"y": f"{tmp_path}/verdicts.csv, row 2: the verdict '0.7' is neither "
                              "yes nor no"}  # fmt: skip


@pytest.mark.parametrize(
    ("verdicts", "labels", "columns", "told"),
    [
        ("", GIVEN, {}, "has no rows; expected a table (CSV"),
        (VERDICTS, "", {}, "has no rows; expected a table of people's labels"),
        ("name,verdict\na,1\n", GIVEN, {}, "(name, verdict) is named id or doc_id"),
        ("id,said\na,1\n", GIVEN, {}, "or value; name the one that is with --verdict"),
        (VERDICTS, "id,said\na,1\n", {}, "name the one that is with --label"),
        (VERDICTS, GIVEN, {"by": ["lang"]}, "there is no column 'lang'; it has id, verdict: name"),
        (VERDICTS, GIVEN, {"verdict": ["x"]}, "no column 'x'; it has id, verdict"),
        (VERDICTS, "id,label\nc,1\n", {}, "row 1: the label of 'c' is of no row of the verdicts"),
        (VERDICTS, "id,label\na,1\na,0\n", {}, "row 2: the label of 'a' is the second of 'people'"),
        (VERDICTS + "a,0\n", GIVEN, {}, "row 3: a second verdict of 'verdict' on 'a'; name the"),
        ("model,id,verdict\nm,a,1\nn,a,1\n", GIVEN, {}, "'a' is of 2 rows of the verdicts; "
         "give the labels also the column model"),
        ("id,verdict\na,0.5\n", GIVEN, {}, "row 1: the verdict '0.5' is neither yes nor no; say "
         "with --positive which values are a yes"),
        (VERDICTS, "id,label\na,maybe\n", {}, "row 1: the label 'maybe' is neither yes nor no;"),
        ("id,verdict\na,1,2\n", GIVEN, {}, "row 1: found 3 cells, expected 2"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_one_sentence(
    tmp_path: Path, verdicts: str, labels: str, columns: dict[str, Any], told: str
) -> None:
    with pytest.raises(UserError) as error:
        read(tmp_path, verdicts, labels, **columns)
    assert told in str(error.value) and "\n" not in str(error.value)


def test_values_are_a_yes_or_a_no_as_harnesses_write_them() -> None:
    assert [yes_or_no(x, ()) for x in (1, 1.0, True, "C", "TRUE", "Pass", "1.0")] == [True] * 7
    assert [yes_or_no(x, ()) for x in (0, 0.0, False, "I", "N", "false", "no")] == [False] * 7
    assert [yes_or_no(x, ()) for x in (None, "", float("nan"))] == [None] * 3
    assert [yes_or_no(x, ("4", "5")) for x in (5, "4.0", 3, "five")] == [True, True, False, False]


def test_a_yes_that_no_verdict_or_label_is_is_refused(tmp_path: Path) -> None:
    verdicts, labels = tmp_path / "verdicts.csv", tmp_path / "labels.csv"
    verdicts.write_text("id,verdict\n1,yes\n2,no\n")
    labels.write_text("id,label\n1,yes\n2,no\n")
    with pytest.raises(UserError, match="--positive: none of the verdicts and labels is yess; "):
        labelled_rows([verdicts], labels, Columns(positive=["yess"]))

"""Tables of verdicts and labels: which columns are read, and one sentence for what is wrong."""

from pathlib import Path
from typing import Any

import pytest

from userturn.calibration.calibrate import LabelledRows, labelled_rows
from userturn.calibration.judged_rows import Columns, yes_or_no
from userturn.errors import UserError

VERDICTS = "id,verdict\na,1\nb,0\n"
LABELS = "id,label\na,1\nb,0\n"


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
        ("", LABELS, {}, "has no rows; expected a table (CSV"),
        (VERDICTS, "", {}, "has no rows; expected a table of people's labels"),
        ("name,verdict\na,1\n", LABELS, {}, "(name, verdict) is named id or doc_id"),
        ("id,said\na,1\n", LABELS, {}, "or value; name the one that is with --verdict"),
        (VERDICTS, "id,said\na,1\n", {}, "name the one that is with --label"),
        (VERDICTS, LABELS, {"by": ["lang"]}, "there is no column 'lang'; it has id, verdict: name"),
        (VERDICTS, LABELS, {"verdict": ["x"]}, "no column 'x'; it has id, verdict"),
        (VERDICTS, "id,label\nc,1\n", {}, "row 1: the label of 'c' is of no row of the verdicts"),
        (VERDICTS, "id,label\na,1\na,0\n", {}, "row 2: the label of 'a' is the second of 'people'"),
        (VERDICTS + "a,0\n", LABELS, {}, "row 3: a second verdict of 'verdict' on 'a'; name the"),
        ("model,id,verdict\nm,a,1\nn,a,1\n", LABELS, {}, "'a' is of 2 rows of the verdicts; "
         "give the labels also the column model"),
        ("id,verdict\na,0.5\n", LABELS, {}, "row 1: the verdict '0.5' is neither yes nor no; say "
         "with --positive which values are a yes"),
        (VERDICTS, "id,label\na,maybe\n", {}, "row 1: the label 'maybe' is neither yes nor no;"),
        ("id,verdict\na,1,2\n", LABELS, {}, "row 1: found 3 cells, expected 2"),
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

"""Annotations come in: what the page and Label Studio write is read, every problem is named."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.support.annotation_rounds import LABELS, key_of, study
from tests.support.paired_study import pair_key, paired_of, turns_of
from tests.support.snakemake_runs import ROOT
from userturn.errors import UserError
from userturn.humans.import_labels import (
    PAIR_LABELS_SCHEMA,
    Reading,
    annotations_table,
    import_annotations,
    import_pairs,
    read_annotations,
    turn_task,
)
from userturn.humans.label_files import UNSURE, read_file
from userturn.humans.task_page import label_studio_tasks

KEY = key_of(*study([LABELS[3]] * 4 + [LABELS[4]] * 2), per_stratum=2)
IDS = KEY["id"].to_list()  # four of them
TASK = turn_task(LABELS)
HEAD = "round,annotator,id,label,notes"


def write(folder: Path, name: str, *lines: str) -> Path:
    path = folder / name
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def csv_of(folder: Path, name: str = "ann", **changes: tuple[str, ...]) -> Path:
    """Write complete annotations of one person; a change replaces the line of a number."""
    lines = [f"first,{name},{turn},generic," for turn in IDS]
    for number, values in changes.items():
        lines[int(number[1:])] = ",".join(values)
    return write(folder, f"{name}.csv", HEAD, *lines)


def read(*paths: Path) -> Reading:
    return read_annotations(list(paths), KEY, TASK, "first")


def problems(*paths: Path) -> list[str]:
    return read(*paths).problems


def test_apostrophe_before_what_looks_like_a_formula_is_not_part_of_a_note(tmp_path: Path) -> None:
    lines = [f"first,'-ann,{turn},generic,'=1+1" for turn in IDS]
    (row, *_) = read_annotations([write(tmp_path, "ann.csv", HEAD, *lines)], KEY, TASK, "first")[0]
    assert (row.annotator, row.notes) == ("-ann", "=1+1")


@pytest.mark.parametrize(
    ("separator", "ending", "encoding"),
    [(";", "\r\n", "utf-8-sig"), ("\t", "\n", "utf-8"), (",", "\r\n", "utf-8")],
    ids=["German Excel", "tabs", "Windows"],
)
def test_csv_that_a_spreadsheet_saved_again_is_imported(
    tmp_path: Path, separator: str, ending: str, encoding: str
) -> None:
    """Columns in another order, in Excel's words for true and false, with a decimal comma."""
    head = ["label", "seconds", "unsure", "id", "notes", "annotator", "round"]
    lines = [head] + [["generic", '"3,5"', "WAHR", i, '"a; b, c"', "Jörg", "first"] for i in IDS]
    path = tmp_path / "jörg.csv"
    path.write_bytes(ending.join(map(separator.join, lines)).encode(encoding))
    rows, found, _ = read(path)
    assert found == []
    assert [row.id for row in rows] == IDS
    assert {row[2:3] + row[5:] for row in rows} == {("Jörg", "a; b, c", True, 3.5)}


def test_note_with_ends_of_lines_that_csv_has_not_and_half_an_emoji_loses_no_label(
    tmp_path: Path,
) -> None:
    note = "a\u2028b\x0bc\x0cd\x85e"
    path = write(tmp_path, "ann.csv", HEAD, *(f"first,ann,{turn},generic,{note}" for turn in IDS))
    rows, found, _ = read(path)
    assert (found, [row.notes for row in rows]) == ([], [note] * len(IDS))
    said = [{"id": turn, "label": "generic", "notes": "\ud83d"} for turn in IDS]
    text = json.dumps({"round": "first", "annotator": "bo", "annotations": said})
    rows, found, _ = read(write(tmp_path, "bo.json", text))
    assert found == [] and annotations_table(rows, KEY)["notes"].to_list() == ["\ufffd"] * len(IDS)


def test_csv_in_another_encoding_or_language_is_told_in_a_sentence(tmp_path: Path) -> None:
    text = csv_of(tmp_path).read_text()
    wide = tmp_path / "wide.csv"
    wide.write_bytes(text.encode("utf-16"))
    french = [f"first,ann,{turn},generic,,VRAI" for turn in IDS]
    told = problems(write(tmp_path, "french.csv", f"{HEAD},unsure", *french), wide)
    assert len(told) == len(french) + 1
    assert "save it again as CSV or JSON in UTF-8" in told[-1]
    assert told[0].endswith("french.csv, line 2: unsure is 'VRAI', expected true or false")


def test_complete_files_of_two_people_have_no_problem(tmp_path: Path) -> None:
    paths = [csv_of(tmp_path, "ann"), csv_of(tmp_path, "bob")]
    reading = read(*paths)
    assert reading.problems == []
    table = annotations_table(reading.rows, KEY)
    assert table.height == 2 * len(IDS)
    assert set(table["item"]) == set(KEY["item"])
    assert set(table["genuine"]) == {False}


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (("first", "ann", "0000", "generic", ""), "the id '0000' is not in this round"),
        (("first", "ann", IDS[1], "generik", ""), "'generik' is not in the rubric, did you mean"),
        (("first", "ann", IDS[1], "", ""), "no label is not in the rubric"),
        (("first", "ann", IDS[0], "unrelated", ""), f"'ann' labels {IDS[0]} again, as unrelated"),
        (("second", "ann", IDS[1], "generic", ""), "the round is 'second', expected 'first'"),
        (("first", "", IDS[1], "generic", ""), "the annotator is missing"),
    ],
    ids=["unknown id", "label", "empty label", "duplicate", "round", "no annotator"],
)
def test_wrong_row_is_told_with_its_line_and_is_missing_then(
    tmp_path: Path, row: tuple[str, ...], said: str
) -> None:
    path = csv_of(tmp_path, _1=row)
    first, second = problems(path)
    assert first.startswith(f"{path}, line 3: ")
    assert said in first
    assert second.startswith(f"annotator 'ann': 1 of 4 turns have no label, the first is {IDS[1]}")


def test_file_of_two_annotators_is_told_once_and_not_used(tmp_path: Path) -> None:
    path = csv_of(tmp_path, _1=("first", "bob", IDS[1], "generic", ""))
    reading = read(path)
    assert len(reading.problems) == 1
    assert "has labels of 2 annotators (ann, bob), expected one" in reading.problems[0]
    assert reading.rows == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Anna", "anna"),
        ("ANNA", "Anna"),
        ("Jos\u00e9", "Jose\u0301"),  # composed, and decomposed
        ("Anna B", "Anna\u00a0B"),  # a space that does not break
        ("Anna B", "AnnaB"),
        ("Anna B", "anna  b"),
        ("Stra\u00dfe", "STRASSE"),
        ("\uff21nna", "Anna"),  # a full-width letter
        ("\ufb01n", "fin"),  # a ligature
        ("An na", "ANNA"),
    ],
)
def test_one_name_in_two_spellings_is_one_person_and_told_with_both_files(
    tmp_path: Path, one: str, other: str
) -> None:
    paths = [csv_of(tmp_path, one), csv_of(tmp_path, other)]
    reading = read(*paths)
    (problem,) = reading.problems
    assert all(f"'{name}' (" in problem for name in (one, other))
    assert "differ by case, Unicode form or spaces alone" in problem
    assert len({row.annotator for row in reading.rows}) == 1


def test_other_names_are_other_people(tmp_path: Path) -> None:
    assert problems(*(csv_of(tmp_path, name) for name in ("Anna", "Anne", "Ana", "Jose"))) == []


@pytest.mark.parametrize(("note", "n_problems"), [("", 1), ("we agree", 0)])
def test_a_file_that_says_all_that_another_says_is_asked_about(
    tmp_path: Path, note: str, n_problems: int
) -> None:
    key = pl.DataFrame({"id": [str(i) for i in range(5)]})
    rows = {
        name: [f"first,{name},{i},{LABELS[i % 3]},{said if i == 0 else ''}" for i in range(5)]
        for name, said in (("ann", ""), ("bob", note))
    }
    paths = [write(tmp_path, f"{n}.csv", HEAD, *of) for n, of in rows.items()]
    reading = read_annotations(paths, key, TASK, "first")
    assert ["is one" in p or "one person's file" in p for p in reading.problems] == (
        [True] * n_problems
    )
    assert len({row.annotator for row in reading.rows}) == 2 - n_problems


def test_same_work_saved_twice_is_told_row_by_row(tmp_path: Path) -> None:
    again = [json.dumps({"id": turn, "label": "generic"}) for turn in IDS]
    text = f'{{"round": "first", "annotator": "ann", "annotations": [{",".join(again)}]}}'
    found = problems(csv_of(tmp_path), write(tmp_path, "ann.json", text))
    assert len(found) == len(IDS)
    assert all("again" in problem for problem in found)


def test_all_problems_of_all_files_are_listed(tmp_path: Path) -> None:
    bad = write(tmp_path, "bad.json", "{not json")
    table = write(tmp_path, "table.csv", "id,label", f"{IDS[0]},generic")
    other = write(tmp_path, "other.json", '{"a": 1}')
    found = problems(bad, other, table, csv_of(tmp_path, _1=("first", "ann", "?", "x", "")))
    assert [len([p for p in found if str(path) in p]) for path in (bad, other, table)] == [1, 1, 1]
    assert len(found) == 5


def imported(folder: Path, files: list[Path], skip_problems: bool = False) -> pl.DataFrame:
    KEY.write_parquet(folder / "key.parquet")
    import_annotations(
        round_name="first",
        skip_problems=skip_problems,
        identity="x",
        paths_to_files=[str(file) for file in files],
        path_to_key=str(folder / "key.parquet"),
        path_to_rubric=str(ROOT / "data" / "rubric_2.yaml"),
        path_to_annotations=str(folder / "annotations.parquet"),
    )
    return pl.read_parquet(folder / "annotations.parquet")


def test_one_problem_imports_nothing_and_skipping_imports_the_rest(tmp_path: Path) -> None:
    files = [csv_of(tmp_path, _1=("first", "ann", "?", "generic", "")), csv_of(tmp_path, "bob")]
    with pytest.raises(
        UserError, match="2 problems in data/annotations/first/, so nothing was imported"
    ):
        imported(tmp_path, files)
    assert not (tmp_path / "annotations.parquet").exists()
    assert imported(tmp_path, files, skip_problems=True).height == 2 * len(IDS) - 1


def test_no_annotations_are_an_empty_table_and_a_hint(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert imported(tmp_path, []).is_empty()
    assert "label its 4 turns in results/humans/first/task.html" in capsys.readouterr().out


def control(name: str, kind: str, value: list[str]) -> dict[str, Any]:
    """Return what one control of the labelling interface says in an annotation."""
    about = {"id": "aB3", "from_name": name, "to_name": "turn", "type": kind, "origin": "manual"}
    return {"value": {"text" if kind == "textarea" else kind: value}, **about}


def label_studio_export(labels: list[str], completed_by: Any = 7) -> list[dict[str, Any]]:
    """Return our tasks as Label Studio exports them as JSON, with one annotation each.

    Keys as in https://labelstud.io/guide/task_format and in exports of its version 1.2x.
    """
    nothing = ("draft_created_at", "last_action", "parent_prediction", "last_created_by")
    annotation = {
        **{"completed_by": completed_by, "was_cancelled": False, "ground_truth": False},
        **{
            "created_at": "2026-11-22T21:16:08.728353Z",
            "updated_at": "2026-11-22T21:16:08.728378Z",
        },
        **{"lead_time": 4.288, "prediction": {}, "result_count": 2, "unique_id": "0d4c0b5e"},
        **{"project": 1, "updated_by": 7, "parent_annotation": None, **dict.fromkeys(nothing)},
    }
    rest = {"file_upload": "tasks.json", "drafts": [], "predictions": [], "meta": {}}
    return [
        {
            "id": 100 + number,
            "annotations": [
                {"id": 1000 + number, "task": 100 + number, **annotation}
                | {
                    "result": [
                        control("label", "choices", [label]),
                        control("notes", "textarea", ["a note", "another"]),
                        control("unsure", "choices", [UNSURE]),
                    ]
                }
            ],
            "data": task["data"],
            **rest,
            **{"inner_id": number + 1, "total_annotations": 1, "cancelled_annotations": 0},
        }
        for number, (task, label) in enumerate(zip(TASKS, labels, strict=True))
    ]


TASKS = label_studio_tasks(
    "first",
    pl.DataFrame({"id": IDS, "conversation": [[{"role": "user", "text": "?"}]] * 4, "turn": "t"}),
)


def test_label_studio_round_trip_gives_back_the_labels(tmp_path: Path) -> None:
    given = [LABELS[0], LABELS[3], LABELS[1], LABELS[0]]
    path = write(tmp_path, "export.json", json.dumps(label_studio_export(given)))
    reading = read(path)
    assert reading.problems == []
    assert [row.label for row in reading.rows] == given
    assert reading.rows[0][2:6] == ("label-studio-7", IDS[0], LABELS[0], "a note\nanother")
    assert reading.rows[0][6:] == (True, 4.288)


def test_label_studio_export_of_several_people_is_expected(tmp_path: Path) -> None:
    both = label_studio_export([LABELS[3]] * 4)
    for task, more in zip(both, label_studio_export([LABELS[4]] * 4, {"id": 8}), strict=True):
        task["annotations"] += more["annotations"]
    path = write(tmp_path, "export.json", json.dumps(both))
    reading = read(path)
    assert reading.problems == []
    assert {row.annotator for row in reading.rows} == {"label-studio-7", "label-studio-8"}


@pytest.mark.parametrize("mark", [{"ground_truth": True}, {"parent_annotation": 12}])
def test_a_reviewers_copy_in_label_studio_is_no_annotator_and_told(
    tmp_path: Path, mark: dict[str, Any]
) -> None:
    export = label_studio_export([LABELS[3]] * 4)
    for task, more in zip(export, label_studio_export([LABELS[4]] * 4, {"id": 8}), strict=True):
        task["annotations"] += [more["annotations"][0] | mark]
    path = write(tmp_path, "export.json", json.dumps(export))
    reading = read(path)
    assert reading.problems == []
    assert {row.annotator for row in reading.rows} == {"label-studio-7"}
    assert "annotations that are ground truth or a reviewer's copy" in reading.unread[0]


def test_cancelled_annotation_is_a_missing_one(tmp_path: Path) -> None:
    export = label_studio_export([LABELS[3]] * 4)
    export[2]["annotations"][0]["was_cancelled"] = True
    (problem,) = problems(write(tmp_path, "export.json", json.dumps(export)))
    assert problem.startswith("annotator 'label-studio-7': 1 of 4 turns have no label")


def test_csv_of_label_studio_is_refused_with_the_cure_before_its_ids_are_read(
    tmp_path: Path,
) -> None:
    rows = f"annotator,id,label,notes,round,turn_id\n1,3,generic,,first,{IDS[0]}\n"
    with pytest.raises(UserError, match="export the project as JSON instead"):
        read_file(write(tmp_path, "export.csv", rows))


def test_label_studio_json_min_is_refused_with_the_cure(tmp_path: Path) -> None:
    path = write(tmp_path, "min.json", json.dumps([{"turn_id": IDS[0], "label": "generic"}]))
    with pytest.raises(UserError, match="export the project as JSON, not as JSON-MIN"):
        read_file(path)


LINES = [f"first,ann,{turn},generic," for turn in IDS]
SAID = [{"id": turn, "label": "generic"} for turn in IDS]


def page(**changes: Any) -> str:
    return json.dumps({"round": "first", "annotator": "ann", "annotations": SAID} | changes)


def csv_text(head: str = HEAD, lines: list[str] = LINES) -> str:
    return "\n".join([head, *lines]) + "\n"


def row_of_ann(more: dict[str, Any]) -> str:
    return page(annotations=[SAID[0] | more, *SAID[1:]])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("ben.CSV", csv_text()),
        ("cara.tsv", csv_text().replace(",", "\t")),
        ("dora.JSON", page()),
        ("fritz.csv.txt", csv_text()),
        ("without an end", csv_text()),
        ("gina.csv", page()),
        ("hans.json", csv_text()),
        ("ines.csv", csv_text("Round, Annotator ,ID,Label,Notes")),
        ("jan.csv", csv_text(lines=[",,,,", *LINES, "", " , ,,,", ",,,,"])),
        ("kim.csv", csv_text(f"{HEAD},,", [f"{line},," for line in LINES])),
        ("lea.csv", csv_text("round,annotator,id,label", [line[:-1] for line in LINES])),
    ],
)
def test_file_is_known_by_its_content_and_empty_cells_are_nothing(
    tmp_path: Path, name: str, text: str
) -> None:
    (tmp_path / name).write_text(text)
    reading = read(tmp_path / name)
    assert (reading.problems, reading.unread) == ([], [])
    assert [row.label for row in reading.rows] == ["generic"] * len(IDS)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the column 'round' is missing"),
        ("Dear all, these are my labels", "the column 'round' is missing"),
        (csv_text(f"{HEAD},label", [f"{line},spam" for line in LINES]), "'label' twice"),
        (csv_text(f"{HEAD},LABEL", [f"{line},spam" for line in LINES]), "'label' twice"),
        (csv_text(lines=[*LINES[:3], LINES[3] + "well, no"]), "line 5: has 6 cells, expected 5"),
        (csv_text(f"{HEAD},seconds", [f"{LINES[0]},soon"]), "seconds is 'soon', expected a number"),
        (csv_text(f"{HEAD},seconds", [f"{LINES[0]},nan"]), "seconds is 'nan', expected a number"),
        (csv_text(f"{HEAD},seconds", [f"{LINES[0]},-2"]), "seconds is '-2', expected a number"),
        (row_of_ann({"unsure": "maybe"}), "annotation 1: unsure is 'maybe'"),
        (row_of_ann({"seconds": [1]}), "annotation 1: seconds is '[1]'"),
        (row_of_ann({"label": ["generic"]}), "is not in the rubric"),
        (page(annotations=[*SAID[:3], "generic"]), "annotation 4: no object with id and label"),
        (page().replace('"label"', '"label": "spam", "label"', 1), "a key is given twice"),
        ("[" * 100_000, "cannot be read"),
        ("[1]", "not in the form of Label Studio's JSON export"),
        ('{"annotations": {}}', "neither saved by the annotation page"),
    ],
)
def test_what_is_wrong_with_a_file_or_a_row_is_told(tmp_path: Path, text: str, said: str) -> None:
    path = write(tmp_path, "ann.csv", text)
    assert said in problems(path)[0] and str(path) in problems(path)[0]


def test_bad_row_of_a_file_leaves_its_other_rows_usable(tmp_path: Path) -> None:
    text = csv_text(f"{HEAD},unsure", [f"{LINES[0]},perhaps", *(f"{row},yes" for row in LINES[1:])])
    reading = read(write(tmp_path, "ann.csv", text))
    assert [row.id for row in reading.rows] == IDS[1:]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (csv_text(f"{HEAD},label 2,Sure", [f"{line},spam,9" for line in LINES]), "label 2, sure"),
        (page(judge="x"), "judge"),
        (row_of_ann({"annotator": "bob", "label2": "spam"}), "annotator, label2"),
    ],
    ids=["column", "key of the file", "key of a row"],
)
def test_column_or_key_that_nothing_reads_is_named_and_stops_nothing(
    tmp_path: Path, text: str, names: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path, "ann.csv", text)
    assert imported(tmp_path, [path]).height == len(IDS)
    said = capsys.readouterr().out
    assert said.count("nothing reads these") == 1 and f"{path}: {names}\n" in said


def test_control_of_label_studio_that_nothing_reads_is_named(tmp_path: Path) -> None:
    export = label_studio_export([LABELS[3]] * 4)
    export[1]["annotations"][0]["result"].append(
        {"from_name": "severity", "value": {"rating": 4}, "type": "rating"}
    )
    path = write(tmp_path, "export.json", json.dumps(export))
    reading = read(path)
    assert (reading.problems, reading.unread) == ([], [f"{path}: severity"])


PAIR_KEY = pair_key(paired_of(turns_of(4), n=4), 4)
PAIR_IDS = PAIR_KEY["id"].to_list()
PAIR_HEAD = "round,annotator,id,label,notes,unsure,seconds"


def imported_pairs(folder: Path, *lines: str, skip: bool = False) -> pl.DataFrame:
    """Import one file of labels of the round `pairs`."""
    key, out, file = folder / "key.parquet", folder / "labels.parquet", folder / "ann.csv"
    PAIR_KEY.write_parquet(key)
    file.write_text("\n".join((PAIR_HEAD, *lines)) + "\n", "utf-8")
    import_pairs("pairs", skip, "identity", [str(file)], str(key), str(out))
    return pl.read_parquet(out)


def test_the_models_turn_is_chosen_where_the_label_is_not_the_persons_place(tmp_path: Path) -> None:
    labels = imported_pairs(tmp_path, *(f"pairs,Ann,{id},first,,false,2" for id in PAIR_IDS))
    assert labels.schema == PAIR_LABELS_SCHEMA
    assert labels["model_chosen"].to_list() == [p == "second" for p in PAIR_KEY["person"]]
    assert labels.select("item", "conversation").equals(PAIR_KEY.select("item", "conversation"))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("pairs,Ann,{0},both,,,", "'both' is not a turn of a pair; expected one of: first, second"),
        ("pairs,Ann,{0},frist,,,", "'frist' is not a turn of a pair, did you mean 'first'?"),
        ("first,Ann,{0},first,,,", "the round is 'first', expected 'pairs'"),
        ("pairs,Ann,0000,first,,,", "the id '0000' is not in this round"),
        ("pairs,,{0},first,,,", "the annotator is missing"),
        ("pairs,Ann,{0},first,,,", "annotator 'Ann': 3 of 4 pairs have no label"),
    ],
)
def test_what_is_wrong_with_a_row_is_said_in_a_sentence(
    tmp_path: Path, line: str, said: str
) -> None:
    with pytest.raises(UserError) as error:
        imported_pairs(tmp_path, line.format(*PAIR_IDS))
    assert said in str(error.value)


def test_bad_rows_are_left_out_where_the_config_says_so(tmp_path: Path) -> None:
    lines = (f"pairs,Ann,{PAIR_IDS[0]},second,,true,1", f"pairs,Ann,{PAIR_IDS[1]},third,,,")
    labels = imported_pairs(tmp_path, *lines, skip=True)
    assert labels.select("id", "unsure", "seconds").rows() == [(PAIR_IDS[0], True, 1.0)]


def test_a_round_without_files_says_how_to_start_and_has_an_empty_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    key, out = tmp_path / "key.parquet", tmp_path / "labels.parquet"
    PAIR_KEY.write_parquet(key)
    import_pairs("pairs", False, "identity", [], str(key), str(out))
    said = capsys.readouterr().out
    assert "label its 4 pairs in results/pairs/pairs/task.html" in said
    assert pl.read_parquet(out).schema == PAIR_LABELS_SCHEMA

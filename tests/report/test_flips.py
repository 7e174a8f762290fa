"""Turns on which studies differ: aligned by item, among two studies or more."""

from pathlib import Path

import polars as pl
import pytest

from userturn.cli.compare import compare_studies
from userturn.errors import UserError
from userturn.report.flips import OWN, add_texts, choose_flips, flipped, studies_of

CELL = "cells/m/d/t0.7/none"
PLACE = {"model": "m", "dataset": "d", "temperature": 0.7, "perturbation": "none"}
GENUINE = "genuine_followup"


def write(folder: Path, labels: dict[str, str | None], model: str = "m") -> Path:
    """Write a study of one cell: a label of each item, None where there is no verdict."""
    place = {**PLACE, "model": model}
    rows = [
        {**place, "item": item, "sample": 0, "answer": f"answer {item}", "text": f"turn {item}"}
        for item in labels
    ]
    verdicts = [
        {**place, "judge": "j", "item": item, "sample": 0, "label": label, "rationale": "why"}
        | {"genuine": None if label is None else label == GENUINE}
        for item, label in labels.items()
    ]
    items = [
        {"item": i, "messages": [{"role": "user", "content": f"question {i}"}]} for i in labels
    ]
    for path, table in {
        f"cells/{model}/d/t0.7/none/user_turns.parquet": rows,
        f"cells/{model}/d/t0.7/none/verdicts/j.parquet": verdicts,
        "datasets/d.parquet": items,
    }.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        pl.DataFrame(table, infer_schema_length=None).write_parquet(folder / path)
    return folder


def two_folders(folder: Path) -> list[Path]:
    """Only `up` and `down` flip: `same` stays, `no` has no verdict in B, `new` is in B alone."""
    a = {"up": "generic", "down": GENUINE, "same": "generic", "no": GENUINE}
    b = {"up": GENUINE, "down": "unrelated", "same": "degenerate", "no": None}
    return [write(folder / "a", {**a, "gone": "generic"}), write(folder / "b", b)]


def test_turn_flips_where_both_studies_have_other_verdicts_on_it(tmp_path: Path) -> None:
    flips = flipped(studies_of(two_folders(tmp_path)))
    assert sorted(flips.select("item", "label A", "label B", "genuine B").rows()) == [
        ("down", GENUINE, "unrelated", False),
        ("up", "generic", GENUINE, True),
    ]


def test_a_third_study_flips_what_the_others_agree_on_and_says_nothing_of_what_it_lacks(
    tmp_path: Path,
) -> None:
    third = write(tmp_path / "c", {"same": GENUINE, "gone": GENUINE})
    flips = flipped(studies_of([*two_folders(tmp_path), third])).sort("item")
    assert flips.select("item", "label A", "label B", "label C").rows() == [
        ("down", GENUINE, "unrelated", None),
        ("gone", "generic", None, GENUINE),
        ("same", "generic", "degenerate", GENUINE),
        ("up", "generic", GENUINE, None),
    ]
    shown = {
        flip.item: flip
        for flip in add_texts(
            choose_flips(flips), studies_of([*two_folders(tmp_path), third]), set()
        )
    }
    assert list(shown["gone"].sides) == ["A", "C"]


def test_studies_of_one_model_each_are_aligned_by_item_whatever_their_models_are_called(
    tmp_path: Path,
) -> None:
    a = write(tmp_path / "a", {"up": "generic", "same": "generic"}, "small")
    b = write(tmp_path / "b", {"up": GENUINE, "same": "generic", "new": GENUINE}, "large")
    studies = studies_of([a, b])
    flips = flipped(studies)
    assert flips.select("model", "item").rows() == [(OWN, "up")]
    (flip,) = add_texts(flips, studies, set())
    assert flip.sides["B"].turn == "turn up"
    (found,), _ = compare_studies(studies)
    assert found.cells.select("n_items", "rate_baseline").rows() == [(2, 0.0)]
    assert [study.title for study in studies] == [f"{a}, model small", f"{b}, model large"]


def test_studies_without_a_common_cell_have_no_flips(tmp_path: Path) -> None:
    a, _ = two_folders(tmp_path)
    assert flipped(studies_of([a, tmp_path / "nothing"])).is_empty()


def test_flip_has_what_both_studies_say_and_nothing_of_a_private_dataset(tmp_path: Path) -> None:
    studies = studies_of(two_folders(tmp_path))
    flips = choose_flips(flipped(studies))
    shown = {flip.item: flip for flip in add_texts(flips, studies, set())}
    assert shown["up"].question == "question up"
    assert shown["up"].sides["B"] == ("answer up", "turn up", GENUINE, "why")
    hidden = list(add_texts(flips, studies, {"d"}))
    assert [flip.question for flip in hidden] == [None, None]
    assert {(s.answer, s.turn, s.rationale) for f in hidden for s in f.sides.values()} == {
        ("", "", "")
    }


def test_more_studies_than_letters_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="27 studies were named; expected at most 26"):
        studies_of([tmp_path] * 27)

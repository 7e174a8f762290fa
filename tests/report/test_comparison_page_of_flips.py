"""Turns that flipped: only where both studies have a verdict on the same turn."""

from pathlib import Path

import polars as pl

from userturn.report.comparison_page import drawn, flipped, with_texts

CELL = "cells/m/d/t0.7/none"
PLACE = {"model": "m", "dataset": "d", "temperature": 0.7, "perturbation": "none"}


def write(folder: Path, labels: dict[str, str | None]) -> Path:
    """Write a study of one cell: a label of each item, None where there is no verdict."""
    rows = [
        {**PLACE, "item": item, "sample": 0, "answer": f"answer {item}", "text": f"turn {item}"}
        for item in labels
    ]
    verdicts = [
        {**PLACE, "judge": "j", "item": item, "sample": 0, "label": label, "rationale": "why"}
        | {"genuine": None if label is None else label == "genuine_followup"}
        for item, label in labels.items()
    ]
    items = [
        {"item": i, "messages": [{"role": "user", "content": f"question {i}"}]} for i in labels
    ]
    for path, table in {
        f"{CELL}/user_turns.parquet": rows,
        f"{CELL}/verdicts/j.parquet": verdicts,
        "datasets/d.parquet": items,
    }.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        pl.DataFrame(table, infer_schema_length=None).write_parquet(folder / path)
    return folder


def studies(folder: Path) -> tuple[Path, Path]:
    """Only `up` and `down` flip: `same` stays, `no` has no verdict in B, `new` is in B alone."""
    a = {"up": "generic", "down": "genuine_followup", "same": "generic", "no": "genuine_followup"}
    b = {"up": "genuine_followup", "down": "unrelated", "same": "degenerate", "no": None}
    return write(folder / "a", {**a, "gone": "generic"}), write(folder / "b", b)


def test_turn_flips_where_both_studies_have_other_verdicts_on_it(tmp_path: Path) -> None:
    flips = flipped(*studies(tmp_path))
    assert sorted(flips.select("item", "label", "label_b", "genuine_b").rows()) == [
        ("down", "genuine_followup", "unrelated", False),
        ("up", "generic", "genuine_followup", True),
    ]


def test_studies_without_a_common_cell_have_no_flips(tmp_path: Path) -> None:
    a, _ = studies(tmp_path)
    assert flipped(a, tmp_path / "nothing").is_empty()


def test_flip_has_what_both_studies_say_and_nothing_of_a_private_dataset(tmp_path: Path) -> None:
    a, b = studies(tmp_path)
    shown = {flip.item: flip for flip in with_texts(drawn(flipped(a, b)), a, b, set())}
    assert shown["up"].question == "question up"
    assert shown["up"].sides is not None
    assert shown["up"].sides[1] == ("answer up", "turn up", "genuine_followup", "why")
    hidden = list(with_texts(drawn(flipped(a, b)), a, b, {"d"}))
    assert [(flip.question, flip.sides) for flip in hidden] == [(None, None)] * 2

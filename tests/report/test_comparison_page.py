"""Turns that flipped, and the page of two studies: no script, no network, hostile texts as text."""

import re
from html import escape
from pathlib import Path

import polars as pl

from tests.support.printed_output import text_of
from userturn.cli.compare import formatted
from userturn.report.comparison_page import (
    NOT_SHOWN,
    Comparison,
    Flip,
    Side,
    comparison_page,
    drawn,
    flipped,
    with_texts,
)

HOSTILE = "</p><script>hit()</script>\u202egnp.exe {{policy}} {{flips}} <img src=x onerror=hit()>"
RATE = {"rate_baseline": 0.25, "rate_condition": 0.5, "difference": 0.25, "lower": -0.1}
CELLS = pl.DataFrame(
    [
        {"model": "m", "dataset": HOSTILE, "temperature": 0.7, "perturbation": "none", "judge": "j"}
        | RATE
        | {"upper": 0.6, "p": 0.2, "p_adjusted": 0.4, "n_items": 1200}
    ]
)
FOUND = Comparison(
    ("a", HOSTILE), [HOSTILE], "1 shared cells", CELLS, pl.DataFrame(), {"A": [HOSTILE]}
)
SIDE = Side(HOSTILE, HOSTILE, "genuine_followup", HOSTILE)
LABELS = ("genuine_followup", "generic")
FLIPS = [
    Flip("cell", HOSTILE, HOSTILE, (SIDE, SIDE._replace(turn="")), LABELS),
    Flip("cell", "id-7", None, None, LABELS),
]
PAGE = comparison_page(FOUND, FLIPS, (3, 4))


def test_nothing_runs_and_nothing_is_loaded() -> None:
    assert not re.search(r"<(script|img|link|iframe)|https?:|src=[^x]", PAGE)
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', PAGE)
    assert policy.startswith("default-src &#x27;none&#x27;") and "unsafe" not in policy


def test_hostile_texts_are_shown_as_they_are() -> None:
    assert PAGE.count("&lt;script&gt;hit()&lt;/script&gt;⟦U+202E⟧gnp.exe") == 11
    assert "{{" not in PAGE


def test_rates_are_printed_with_interval_and_items() -> None:
    for text in ("25.0%", "50.0%", "+25.0 [−10.0, +60.0]", "0.400", "1,200", "t 0.7"[2:]):
        assert f"<td>{text}</td>" in PAGE
    assert "in B and not in A: 3 turns; in A and not in B: 4 turns. Below are 2 of them" in PAGE


def test_perturbations_have_their_names_and_a_small_p_is_no_zero() -> None:
    changed = CELLS.with_columns(perturbation=pl.lit("generic_question"), p_adjusted=pl.lit(1e-9))
    page = comparison_page(FOUND._replace(cells=changed), [], (0, 0))
    assert "<td>generic_question</td>" in page
    assert f"<td>{escape('<0.001')}</td>" in page
    shown = text_of(formatted(FOUND._replace(cells=changed.with_columns(dataset=pl.lit("d")))))
    assert ["m", "d", "0.7", "generic_question", "j", "1,200"] in [
        line.split()[:6] for line in shown.splitlines()
    ]


def test_private_turn_has_its_labels_and_no_text() -> None:
    (private,) = re.findall(r"<details><summary><b>id-7</b>(.*?)</details>", PAGE)
    assert "genuine followup → generic" in private
    assert private.endswith(f"<p>{NOT_SHOWN}</p>")


def test_studies_without_flips_say_so() -> None:
    page = comparison_page(FOUND, [], (0, 0))
    assert "No turn is genuine in one study and not genuine in the other." in page
    assert "All are below" not in page


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

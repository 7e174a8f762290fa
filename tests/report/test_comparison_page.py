"""The page of compared studies: no script, no network, hostile texts as text."""

import re
from html import escape
from pathlib import Path

import polars as pl

from tests.support.printed_output import text_of
from userturn.cli.compare import formatted
from userturn.report.comparison_page import NOT_SHOWN, Comparison, comparison_page
from userturn.report.flips import Flip, Side, Study

HOSTILE = "</p><script>hit()</script>\u202egnp.exe {{policy}} {{flips}} <img src=x onerror=hit()>"
RATE = {"rate_baseline": 0.25, "rate_condition": 0.5, "difference": 0.25, "lower": -0.1}
CELLS = pl.DataFrame(
    [
        {"model": "m", "dataset": HOSTILE, "temperature": 0.7, "perturbation": "none", "judge": "j"}
        | RATE
        | {"upper": 0.6, "p": 0.2, "p_adjusted": 0.4, "n_items": 1200}
    ]
)
STUDIES = (Study("A", "a", Path("a")), Study("B", HOSTILE, Path("b")))
FOUND = Comparison(
    STUDIES, {"A": HOSTILE, "B": HOSTILE}, "1 shared cells", CELLS, pl.DataFrame(), {"A": [HOSTILE]}
)
NO_RATES = pl.DataFrame()
SIDE = Side(HOSTILE, HOSTILE, "genuine_followup", HOSTILE)
HIDDEN = Side("", "", "generic", "")
FLIPS = [
    Flip("cell", HOSTILE, HOSTILE, {"A": SIDE, "B": SIDE._replace(turn="")}),
    Flip("cell", "id-7", None, {"A": HIDDEN._replace(label="genuine_followup"), "B": HIDDEN}),
]
PAGE = comparison_page([FOUND], NO_RATES, FLIPS, (7, 3, 4))


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
    assert "in B and not in A: 3 turns; in A and not in B: 4 turns. Below are 2 of 7 turns" in PAGE


def test_perturbations_have_their_names_and_a_small_p_is_no_zero() -> None:
    changed = CELLS.with_columns(perturbation=pl.lit("generic_question"), p_adjusted=pl.lit(1e-9))
    page = comparison_page([FOUND._replace(cells=changed)], NO_RATES, [], (0, 0, 0))
    assert "<td>generic_question</td>" in page
    assert f"<td>{escape('<0.001')}</td>" in page
    shown = text_of(formatted(FOUND._replace(cells=changed.with_columns(dataset=pl.lit("d")))))
    assert ["m", "d", "0.7", "generic_question", "j", "1,200"] in [
        line.split()[:6] for line in shown.splitlines()
    ]


def test_private_turn_has_its_labels_and_no_text() -> None:
    (private,) = re.findall(r"<details><summary><b>id-7</b>(.*?)</details>", PAGE)
    assert "A: Genuine follow-up, B: Generic" in private
    assert private.endswith(f"<p>{NOT_SHOWN}</p>")


def test_studies_without_flips_say_so() -> None:
    page = comparison_page([FOUND], NO_RATES, [], (0, 0, 0))
    assert "No turn is genuine in one study and not genuine in the other." in page
    assert "All are below" not in page


def test_three_studies_have_their_rates_side_by_side_and_a_turn_in_all_that_flip() -> None:
    third = Study("C", "c", Path("c"))
    found = [FOUND, FOUND._replace(studies=(STUDIES[0], third))]
    place = {"model": "m", "dataset": "d", "temperature": 0.7, "perturbation": "none", "judge": "j"}
    rate = {"estimate": 0.0625, "lower": 0.01, "upper": 0.2, "n": 1600}
    rates = pl.DataFrame([{**place, "letter": letter, **rate} for letter in "AC"])
    flip = Flip("cell", "id", "why?", {"A": SIDE, "C": SIDE._replace(label="generic")})
    page = comparison_page(found, rates, [flip], (1, 0, 0, 1, 0))
    told = "<td>6.2% [1.0, 20.0] of 1,600</td>"
    assert f"{told}<td>–</td>{told}" in page, "B has no such cell"
    assert page.count(f"<strong>A, B: {escape(HOSTILE)[:20]}") == 1
    assert "three studies, item by item" in page and "C is c" in page
    assert "Genuine follow-ups, C beside A" in page and "C − A, 95% interval, points" in page
    assert "Answer in A" in page and "Answer in C" in page and "Answer in B" not in page
    assert "Genuine in C and not in A: 1 turn; in A and not in C: 0 turns. All are below." in page

"""Ten things that a reader wants from the report, each by clicks in a real browser, from a file."""

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.support.browser import needs_chromium
from tests.support.made_up_results import build, draw_rates, made_up_config, save, write_results
from userturn.humans.import_labels import ANNOTATIONS_SCHEMA
from userturn.storage.table_files import TURN_KEYS
from userturn.study.cells import Cell
from userturn.study.grid import Grid

pytestmark = [pytest.mark.slow, needs_chromium]
N_ITEMS, N_LABELLED = 40, 20
COPIED = (3, 5, 8)  # numbers of the items after which a model says the same
SAME = "What else?"
PLAIN_CELL = "a-1b/open/t0/none"
KEYS = ["item", "sample"]
# Shifts of the layout that no click caused, as Chromium reckons them; 0.1 and less is called good.
WATCH_SHIFTS = """window.shifted = 0;
new PerformanceObserver((list) => {
  for (const { value, hadRecentInput } of list.getEntries()) if (!hadRecentInput) shifted += value;
}).observe({ type: "layout-shift", buffered: true });"""


def write_turn(cell: Cell, i: int) -> str:
    return SAME if i in COPIED else f"turn {i} of {cell.model}: how many are left?"


def write_genuine_labels(grid: Grid) -> None:
    """Write labels of a person who calls the first turns of a cell genuine."""
    turns = pl.read_parquet(grid.results / "cells" / PLAIN_CELL / "user_turns.parquet")
    said = {"round": "first", "annotator": "Ann", "id": "0", "label": "genuine_followup"}
    rows = turns.head(N_LABELLED).select(
        *TURN_KEYS, "key", *(pl.lit(v).alias(k) for k, v in {**said, "notes": ""}.items())
    )
    path = grid.results / "humans/first/annotations.parquet"
    save(rows.with_columns(genuine=pl.lit(True)).select(*ANNOTATIONS_SCHEMA), path)


@pytest.fixture(scope="module")
def grid(tmp_path_factory: pytest.TempPathFactory) -> Grid:
    config = made_up_config(["a-1b", "b-7b"], ["open"], perturbations=("none", "truncate"))
    grid = Grid(config, tmp_path_factory.mktemp("tasks"))
    write_results(grid, N_ITEMS, write_turn)
    draw_rates(grid)
    write_genuine_labels(grid)
    build(grid)
    return grid


@pytest.fixture
def tab(browser: Any, grid: Grid) -> Iterator[Any]:
    """A tab with the report's first page, in which any error fails the test."""
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    opened = context.new_page()
    opened.set_default_timeout(60_000)
    errors: list[str] = []
    opened.on("pageerror", lambda error: errors.append(str(error)))
    opened.on("console", lambda message: errors.append(message.text))
    opened.add_init_script(WATCH_SHIFTS)
    opened.goto((grid.results / "report/index.html").as_uri())
    opened.wait_for_selector(".example")
    yield opened
    context.close()
    assert errors == []


def labelled(grid: Grid, cell: str, judge: str = "heuristic") -> pl.DataFrame:
    return pl.read_parquet(grid.results / "cells" / cell / "verdicts" / f"{judge}.parquet")


def saved_by(tab: Any, button: Any) -> tuple[str, bytes]:
    """Click a button that saves a file; return its name and what is in it."""
    with tab.expect_download() as download:
        button.click()
    return download.value.suggested_filename, Path(download.value.path()).read_bytes()


def read_csv(content: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(content.decode("utf-8"))))


def test_failures_of_one_kind_are_one_click_on_their_label(tab: Any, grid: Grid) -> None:
    cells = (grid.results / "cells" / cell.folder for cell in grid.cells)
    verdicts = pl.concat(pl.read_parquet(cell / "verdicts/heuristic.parquet") for cell in cells)
    n = verdicts.filter(pl.col("label") == "prompt_restate").height
    tab.get_by_label("Turns labelled Restated prompt").click()
    tab.get_by_text(f"{n} turns found in 8 of 8 cells").wait_for()
    badges = tab.locator(".turn-row .badge:not(.other)").all_text_contents()
    assert set(badges) == {"Restated prompt"}


def test_flips_of_two_models_stand_side_by_side_and_are_saved(tab: Any, grid: Grid) -> None:
    one, other = (labelled(grid, f"{model}/open/t1/none") for model in ("a-1b", "b-7b"))
    both = one.join(other, on=KEYS, suffix="_b").drop_nulls(["genuine", "genuine_b"])
    flips = both.filter(pl.col("genuine") != pl.col("genuine_b"))
    assert flips.height > 0
    tab.click("nav >> text=Side by side")
    for side in ("at", "bt"):
        tab.select_option(f"[name={side}]", "1")
    tab.get_by_text(f"{flips.height} items of {both.height} that heuristic labelled").wait_for()
    assert tab.locator(".pair-row .where").all_text_contents() == flips["item"].to_list()
    _, content = saved_by(tab, tab.get_by_role("button", name="CSV"))
    rows = read_csv(content)
    assert [row["label A"] for row in rows] == flips["label"].to_list()
    assert [row["label B"] for row in rows] == flips["label_b"].to_list()
    only_b = both.filter(pl.col("genuine_b"), ~pl.col("genuine")).height
    tab.get_by_label(f"b: {only_b} item").click()
    tab.get_by_text(f"{only_b} item").first.wait_for()


def test_a_figure_is_saved_as_pdf_svg_and_data_with_its_lines_of_latex(
    tab: Any, grid: Grid
) -> None:
    figure = tab.locator("#figure-rates_by_temperature")
    figure.locator("[role=link]").first.wait_for(state="attached")
    name, pdf = saved_by(tab, figure.get_by_role("button", name="Save PDF"))
    assert name == "rates_by_temperature.pdf" and pdf.startswith(b"%PDF-") and b"/Font" in pdf
    figure.get_by_role("button", name="Copy LaTeX").click()
    figure.get_by_text("The lines that include the PDF copied").wait_for()
    lines = tab.evaluate("navigator.clipboard.readText()")
    assert "\\includegraphics[width=\\linewidth]{rates_by_temperature.pdf}" in lines
    _, svg = saved_by(tab, figure.get_by_role("button", name="Save SVG"))
    assert svg == (grid.results / "figures/rates_by_temperature.svg").read_bytes()
    _, data = saved_by(tab, figure.get_by_role("button", name="Save data"))
    places = [(row["model"], row["temperature"], row["perturbation"]) for row in read_csv(data)]
    assert {("a-1b", "0", "none"), ("b-7b", "1", "truncate")} <= set(places)


def test_a_figure_of_a_choice_is_saved_as_what_is_chosen(tab: Any) -> None:
    tab.evaluate("location.hash = '#/?model=b-7b'")
    tab.wait_for_function("() => chosen.model.length === 1")
    tab.evaluate("Promise.all(drawn.values())")
    figure = tab.locator("#figure-rates_by_temperature")
    name, svg = saved_by(tab, figure.get_by_role("button", name="Save SVG"))
    assert name == "rates_by_temperature-chosen.svg"
    assert b"b-7b" in svg and b"a-1b" not in svg and b"judge: heuristic" in svg


def test_one_table_is_saved_with_all_digits_as_it_is_filtered(tab: Any, grid: Grid) -> None:
    tab.click("#table-rates-4 summary")
    table = tab.locator("#table-rates-4")
    table.locator("input").fill("b-7b truncate")
    tab.get_by_text("4 of 4 rows that match, of 16").wait_for()
    name, content = saved_by(tab, table.get_by_role("button", name="Save as CSV"))
    rates = pl.read_parquet(grid.results / "tables/rates.parquet")
    told = set(rates["estimate"].drop_nulls())
    rows = read_csv(content)
    assert name == "rates-4.csv" and len(rows) == 4
    assert {float(row["genuine"]) for row in rows} <= told, "no digit is lost"
    assert all(float(row["genuine, lower"]) <= float(row["genuine"]) for row in rows)
    assert table.locator("a", has_text="results/tables/rates.csv").count() == 1


def test_the_link_to_a_turn_is_copied_and_opens_it(tab: Any, browser: Any) -> None:
    tab.click("nav >> text=Explorer")
    tab.click("a.cell >> nth=0")
    tab.click(".turn-row >> nth=4")
    tab.get_by_role("button", name="Copy link").click()
    tab.get_by_text("The link to this turn is copied").wait_for()
    link = tab.evaluate("navigator.clipboard.readText()")
    elsewhere = browser.new_page()
    elsewhere.goto(link)
    elsewhere.wait_for_selector("#turn-text")
    assert elsewhere.inner_text("#view h1").startswith("open-4")
    elsewhere.close()


def test_what_people_said_is_listed_with_their_labels(tab: Any) -> None:
    tab.click("text=How people labelled them")
    tab.get_by_text(f"{N_LABELLED} turns found").wait_for()
    said = tab.locator(".turn-row .people").all_text_contents()
    assert said == ["people: Genuine follow-up"] * N_LABELLED


def test_turns_that_a_judge_missed_are_listed(tab: Any, grid: Grid) -> None:
    n = labelled(grid, PLAIN_CELL).head(N_LABELLED).filter(~pl.col("genuine")).height
    assert n > 0
    tab.click("text=Turns that people call genuine and the judge does not")
    tab.get_by_text(f"{n} turns found").wait_for()
    badges = tab.locator(".turn-row .badge:not(.other)").all_text_contents()
    assert len(badges) == n and "Genuine follow-up" not in badges
    tab.click("nav >> text=Disagreements")
    tab.select_option("[name=first]", "*people")
    tab.select_option("[name=second]", "heuristic")
    tab.click(f"text=Genuine by people, not by heuristic: {n} turns")
    tab.get_by_text(f"{n} turns found").wait_for()


def test_copies_are_read_together(tab: Any) -> None:
    tab.click("nav >> text=Explorer")
    tab.click("a.cell >> nth=0")
    tab.click("text=More filters")
    tab.select_option("[name=outcome]", "copy")
    tab.get_by_text(f"{len(COPIED)} of {N_ITEMS} turns").wait_for()
    assert tab.locator(".turn-row .excerpt").all_text_contents() == [SAME] * len(COPIED)
    tab.click(".turn-row >> nth=0")
    tab.get_by_text("word for word the turn after another item").wait_for()


def test_how_a_number_was_made_is_told_beside_it(tab: Any) -> None:
    tab.click("text=How these numbers were made")
    assert tab.get_by_text("userturn why results/tables/rates.csv").first.is_visible()
    figure = tab.locator("#figure-rates_by_temperature")
    figure.get_by_text("How it was made").click()
    told = figure.locator("details p").inner_text()
    assert "userturn why results/figures/rates_by_temperature.svg" in told
    figure.locator("details a", has_text="rates").first.click()
    table = tab.locator("#table-rates")
    table.get_by_text("How it was made").click()
    told = table.locator("details p").inner_text()
    assert "from user turns, verdicts" in told and "A row is" in told


def test_nothing_moves_while_a_page_is_read_to_its_end(tab: Any) -> None:
    """Chromium calls a cumulative layout shift of 0.1 good."""
    tab.reload()
    tab.wait_for_selector(".example")
    while tab.evaluate("scrollY + innerHeight + 2 < document.documentElement.scrollHeight"):
        tab.mouse.wheel(0, 400)
        tab.wait_for_timeout(30)
    tab.evaluate("Promise.all(drawn.values())")
    tab.wait_for_timeout(100)
    assert tab.evaluate("shifted") < 0.1


def test_all_letters_of_charts_have_one_size_on_a_wide_and_a_narrow_screen(tab: Any) -> None:
    sizes = """() => [...new Set([...document.querySelectorAll('.chart svg text')].map(
      (text) => getComputedStyle(text).fontSize))]"""
    for width in (1280, 390):
        tab.set_viewport_size({"width": width, "height": 900})
        tab.reload()
        tab.wait_for_selector(".example")
        tab.evaluate("Promise.all(drawn.values())")
        assert tab.evaluate(sizes) == ["12px"]


def test_a_regular_expression_is_one_where_it_is_marked_and_letters_elsewhere(tab: Any) -> None:
    tab.click("nav >> text=Search")
    tab.fill("[name=q]", "how .*left\\?$")
    tab.click("button.main")
    tab.get_by_text("0 turns found in 8 of 8 cells. Done.").wait_for()
    tab.check("[name=regex]")
    tab.click("button.main")
    n = 8 * (N_ITEMS - 1 - len(COPIED))  # in each cell one turn is an error
    tab.get_by_text(f"{n} turns found in 8 of 8 cells.").wait_for()
    assert tab.locator(".turn-row mark").first.text_content() == "how many are left?"


def test_a_wrong_or_endless_expression_is_told_and_the_page_answers(tab: Any) -> None:
    tab.click("nav >> text=Search")
    tab.check("[name=regex]")
    tab.fill("[name=q]", "how (many")
    tab.click("button.main")
    tab.get_by_text("“how (many” is not a regular expression").wait_for()
    tab.fill("[name=q]", "(.+)+!")
    tab.click("button.main")
    tab.evaluate("new Promise(requestAnimationFrame)")
    tab.get_by_text("takes too long").wait_for()


@pytest.mark.parametrize("width", [390, 820, 1280])
def test_the_first_turn_found_is_on_the_first_screen(tab: Any, width: int) -> None:
    tab.set_viewport_size({"width": width, "height": 844 if width == 390 else 800})
    tab.goto(tab.url.partition("#")[0] + "#/search?label=genuine_followup")
    tab.get_by_text("Done.").wait_for()
    tab.evaluate("scrollTo(0, 0)")
    box = tab.locator(".turn-row").first.bounding_box()
    assert box["y"] + box["height"] <= tab.viewport_size["height"]


def test_filters_that_are_set_in_the_address_are_seen(tab: Any) -> None:
    tab.goto(tab.url.partition("#")[0] + "#/search?label=generic")
    tab.get_by_text("Done.").wait_for()
    assert not tab.locator("[name=outcome]").is_visible()
    tab.goto(tab.url.partition("#")[0] + "#/search?outcome=copy")
    tab.get_by_text("Done.").wait_for()
    assert tab.locator("[name=outcome]").is_visible()


def test_a_pdf_of_a_filtered_figure_is_one_page_of_its_size_with_only_what_is_chosen(
    tab: Any,
) -> None:
    tab.evaluate("window.print = () => {}")  # the dialog, in which a person saves the file
    tab.evaluate("location.hash = '#/?model=b-7b'")
    figure = tab.locator("#figure-rates_by_temperature")
    figure.locator(".on-paper svg").wait_for(state="attached")
    figure.get_by_role("button", name="Save PDF").click()
    figure.get_by_text("Save as PDF”").wait_for()
    assert tab.title() == "rates_by_temperature-chosen"
    texts = tab.locator("#alone svg text").all_text_contents()
    assert "b-7b" in " ".join(texts) and "a-1b" not in " ".join(texts)
    width, height = tab.locator("#alone svg").evaluate(
        "svg => [svg.width.baseVal.value, svg.height.baseVal.value]"
    )
    pdf = tab.pdf(prefer_css_page_size=True)
    assert len(re.findall(rb"/Type ?/Page\b", pdf)) == 1 and b"/Subtype /Image" not in pdf
    (box,) = re.findall(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", pdf)
    points = [side * 72 / 96 for side in (width, height)]
    assert [float(side) for side in box] == pytest.approx(points, abs=1)
    tab.evaluate("dispatchEvent(new Event('afterprint'))")
    assert tab.locator("#alone").count() == 0 and tab.title() != "rates_by_temperature-chosen"


def test_the_page_alone_saves_pictures_and_says_what_it_lacks(
    tab: Any, grid: Grid, tmp_path: Path
) -> None:
    alone = tmp_path / "report.html"
    alone.write_bytes((grid.results / "report/index.html").read_bytes())
    sent = tab.context.new_page()
    sent.goto(alone.as_uri())
    figure = sent.locator("#figure-rates_by_temperature")
    figure.get_by_text("The chart could not be drawn, so this is its picture").wait_for()
    for kind in ("SVG", "PDF"):
        assert saved_by(sent, figure.get_by_role("button", name=f"Save {kind}"))[1]
    figure.get_by_role("button", name="Save data").click()
    figure.locator(".export").get_by_text("Keep the folder “data” beside this page.").wait_for()


def test_numbers_are_rounded_as_python_rounds_them(tab: Any) -> None:
    """Of a tie Python takes the even digit, JavaScript the larger; 28.95 is a bit less."""
    numbers = [(12.5, 0), (13.5, 0), (6.25, 1), (0.125, 2), (28.95, 1), (-2.5, 0), (0.5, 0)]
    told = tab.evaluate("numbers => numbers.map(([x, digits]) => fixed(x, digits))", numbers)
    assert told == [f"{x:.{digits}f}" for x, digits in numbers]


def test_what_has_nothing_to_show_is_folded_away(tab: Any, grid: Grid, tmp_path: Path) -> None:
    config = made_up_config(["a-1b"], ["open"], (0,), ("none",), ("heuristic",))
    lonely = Grid(config, tmp_path)
    write_results(lonely, 8)
    empty = pl.read_parquet(lonely.results / "tables/rates.parquet").clear()
    save(empty, lonely.results / "tables/rates.parquet")
    tab.goto(build(lonely).as_uri())
    tab.wait_for_selector("nav")
    assert tab.locator("nav a:visible").all_text_contents() == ["Report", "Explorer", "Search"]
    folded = tab.locator("#tables > .folded")
    assert "tables without a number" in folded.inner_text()
    assert tab.locator("#tables > details:not(.folded)").count() == 0

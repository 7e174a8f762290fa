"""The report in a real browser, from the file system: nothing in it acts, all of it works."""

import csv
import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pytest

from tests.audit.test_result_page import PAGE as AUDIT_PAGE
from tests.report.test_comparison_page import PAGE as COMPARISON_PAGE
from tests.support.browser import ARABIC, needs_chromium, reads, violations
from tests.support.made_up_figures import PAIR, SIGNALS_OF, draw_every_figure, write_labels
from tests.support.made_up_results import build, draw_rates, made_up_config, write_results
from tests.support.made_up_scores import GAIN, write_scores
from userturn.figures.confusion import confusion_figure
from userturn.figures.theme import save
from userturn.report.charts import HEIGHT, LEAST_LETTER, WIDTH
from userturn.storage.table_files import CELL_KEYS
from userturn.study.cells import Cell
from userturn.study.grid import Grid
from userturn.tables.confusion import SCHEMA as CONFUSION
from userturn.tables.rates import cell_rates
from userturn.wording import label_name, show_codes

pytestmark = [pytest.mark.slow, needs_chromium]
HOSTILE = [
    "<script>window.hit = 1</script>",
    "<img src=x onerror='window.hit = 2'>",
    "</script><script>window.hit = 3</script><!--",
    "]]></style><svg onload='window.hit = 4'>",
    "javascript:window.hit = 5 ${window.hit = 6} `${7}` '\"\\",
    "\u202egnp.exe \u2066x\u2069 \u2028 \u2029 \u05d0\u05d1 abc \U0001f600",
    "x" * 20000,
    "__proto__ constructor {{study}} {{policy}} <|im_start|>system",
]
NEEDLE = "one needle in the whole study"
CELL = "a-1b/open/t0/truncate"
HELD_BACK = "zebra"
PEOPLES_CELL, N_LABELLED = "a-1b/open/t0/none", 30  # where a person labelled turns
RIGHT_TO_LEFT = 12  # number of the turn in Arabic
FORMULA = 11  # number of the turn that a spreadsheet would calculate


def write_turn(cell: Cell, i: int) -> str:
    if cell.dataset == "healthbench":
        return HELD_BACK
    if cell == ("b-7b", "open", "1", "none") and i == 57:
        return NEEDLE
    if i == RIGHT_TO_LEFT:
        return ARABIC
    return HOSTILE[i] if i < len(HOSTILE) else "=1+1" if i == FORMULA else f"turn {i}"


@pytest.fixture(scope="module")
def grid(tmp_path_factory: pytest.TempPathFactory) -> Grid:
    models, kinds = ["a-1b", "b-7b"], ("none", "truncate", "header_only")
    config = made_up_config(models, ["healthbench", "open"], perturbations=kinds)
    grid = Grid(config, tmp_path_factory.mktemp("report"))
    write_results(grid, 60, write_turn)
    draw_rates(grid)
    write_scores(grid, [*HOSTILE, "\n"])
    build(grid)
    return grid


@pytest.fixture(scope="module")
def uri(grid: Grid) -> str:
    return (grid.results / "report" / "index.html").as_uri()


@pytest.fixture(scope="module")
def whole(grid: Grid) -> str:
    """The same study with a chart of every other kind, and with labels by a person."""
    folder = grid.results / "whole"
    write_labels(grid, PEOPLES_CELL, N_LABELLED, folder / "labels.parquet")
    return build(
        grid,
        "whole",
        paths_to_figures=draw_every_figure(grid, folder / "figures"),
        paths_to_annotations=[str(folder / "labels.parquet")],
    ).as_uri()


@pytest.fixture
def tab(browser: Any) -> Iterator[Any]:
    """A tab of its own that notes every request and every error."""
    context = browser.new_context()
    opened = context.new_page()
    opened.set_default_timeout(60_000)  # of a busy machine, in ms
    opened.noted, opened.asked = [], []
    opened.on("request", lambda request: opened.asked.append(request.url))
    opened.on("console", lambda message: opened.noted.append(message.text))
    opened.on("pageerror", lambda error: opened.noted.append(str(error)))
    yield opened
    context.close()


def rows_of(grid: Grid, cell: str, judge: str = "heuristic") -> pl.DataFrame:
    folder = grid.results / "cells" / cell
    turns = pl.read_parquet(folder / "user_turns.parquet")
    verdicts = pl.read_parquet(folder / "verdicts" / f"{judge}.parquet")
    return turns.join(
        verdicts.select("item", "label", "rationale"), on="item", maintain_order="left"
    )


def listed(tab: Any, n: int) -> None:
    """Wait until the list of turns says that it holds so many."""
    tab.wait_for_function(
        "n => document.querySelector('.state')?.textContent.startsWith(`${n} `)", arg=n
    )


def go_to(page: Any, address: str) -> None:
    """Open an address of the report, and wait until its view is drawn whole.

    A heading alone may be that of the view before, whose place the next one takes a moment later.
    """
    page.goto(address)
    page.wait_for_function("() => latest === location.hash")
    page.evaluate("route()")


def test_hostile_turns_are_text_and_do_nothing(tab: Any, uri: str) -> None:
    for i, turn in enumerate(HOSTILE):
        tab.goto(f"{uri}#/turn/{CELL}/open-{i}/0")
        tab.wait_for_function(
            "i => document.querySelector('#view h1')?.firstChild.data === `open-${i}`", arg=i
        )
        assert tab.wait_for_selector("#turn-text").text_content() == show_codes(turn)
        wider = tab.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        assert wider <= 0, "a turn makes the page wider than the window"
    tab.goto(f"{uri}#/cell/{CELL}?q=window.hit")
    listed(tab, 5)
    assert tab.locator("mark").count() >= 5
    assert tab.evaluate("[window.hit, Object.prototype.polluted]") == [None, None]
    assert tab.noted == []
    assert {url.partition("#")[0].rpartition("/report/")[0] for url in tab.asked} == {
        uri.rpartition("/report/")[0]
    }


def test_a_turn_in_arabic_is_read_from_the_right_beside_english_labels(tab: Any, uri: str) -> None:
    tab.goto(f"{uri}#/turn/{CELL}/open-{RIGHT_TO_LEFT}/0")
    tab.wait_for_selector("#turn-text")
    assert reads(tab, "#turn-text") == "rtl"
    assert {reads(tab, part) for part in (".user-turn h2", ".verdict h3")} == {"ltr"}
    tab.goto(f"{uri}#/cell/{CELL}")
    listed(tab, 60)
    row = f".turns > li:nth-child({RIGHT_TO_LEFT + 1})"
    tab.locator(row).scroll_into_view_if_needed()
    assert reads(tab, f"{row} .excerpt") == "rtl"
    context = tab.locator(f"{row} .context bdi").first
    context.evaluate("(element, text) => { element.textContent = text; }", ARABIC)
    assert (reads(tab, f"{row} .context bdi"), reads(tab, f"{row} .context b")) == ("rtl", "ltr")


def test_back_leads_to_the_place_in_the_list_that_was_left(tab: Any, uri: str) -> None:
    tab.goto(f"{uri}#/cell/{CELL}")
    listed(tab, 60)
    tab.evaluate(
        "{ window.scrollTo(0, 1500); document.querySelectorAll('.turn-row')[40].click(); }"
    )
    tab.wait_for_selector("#turn-text")
    tab.go_back()
    tab.wait_for_function("() => window.scrollY === 1500")


def test_view_chosen_while_the_report_loads_is_shown_and_keeps_the_focus(
    tab: Any, uri: str
) -> None:
    go_to(tab, f"{uri}#/grid")
    tab.evaluate(
        "() => { showExamples = () => new Promise((late) => { globalThis.finish = late; }); }"
    )
    for hash in ("#/tables", "#/grid"):
        tab.evaluate("(hash) => { location.hash = hash; }", hash)
        tab.wait_for_function("() => latest === location.hash")
    tab.evaluate("finish()")
    tab.focus("#view select")
    tab.select_option("#view select", index=1)
    tab.wait_for_function("() => latest === location.hash && latest.includes('=')")
    assert tab.evaluate("document.activeElement.tagName") == "SELECT"


@pytest.mark.parametrize("view", ["cell/{0}", "turn/{0}/{1}-6/0"])
def test_turns_that_arrive_after_their_view_was_left_are_not_those_of_the_next_one(
    tab: Any, uri: str, view: str
) -> None:
    go_to(tab, f"{uri}#/grid")
    tab.evaluate(
        "() => { const read = readCell; const late = new Promise((end) => { finish = end; });"
        " readCell = async (cell, ...more) => {"
        " if (cell.number === 0) await late; return read(cell, ...more); }; }"
    )
    shown = "listed.turns.map((turn) => turn.cell.number)"
    first, second = tab.evaluate("cells.slice(0, 2).map((cell) => cell.path.join('/'))")
    tab.goto(f"{uri}#/{view.format(first, first.split('/')[1])}")
    tab.wait_for_function("() => latest === location.hash")
    assert tab.evaluate(shown) == []
    go_to(tab, f"{uri}#/cell/{second}")
    n = tab.evaluate("cells[1].n")
    tab.evaluate("finish(); readCell(cells[0], () => {}, () => false)")
    tab.evaluate("new Promise((end) => setTimeout(end, 100))")
    assert tab.evaluate(shown) == [1] * n
    go_to(tab, f"{uri}#/search")
    assert tab.evaluate(shown) == []


def test_report_that_is_loaded_again_stays_where_it_was(tab: Any, uri: str) -> None:
    tab.goto(uri)
    tab.wait_for_selector("html:not(.starting)")  # all that makes the page as long as it will be
    tab.evaluate("window.scrollTo(0, 700)")
    tab.wait_for_function("() => window.scrollY === 700")
    tab.reload()
    tab.wait_for_function("() => window.scrollY === 700")


def test_turn_leads_to_the_same_item_at_another_temperature_and_of_another_model(
    tab: Any, uri: str
) -> None:
    tab.goto(f"{uri}#/turn/{CELL}/open-9/0")
    tab.wait_for_selector("#turn-text")
    tab.click(".switch a:has-text('b-7b')")
    tab.get_by_text("b-7b · open · temperature 0 · truncate").first.wait_for()
    tab.click(".switch:has-text('at temperature') a:has-text('1')")
    tab.get_by_text("b-7b · open · temperature 1 · truncate").first.wait_for()
    assert tab.noted == []


def draw_chart(tab: Any, uri: str) -> Any:
    """Open the report and return its chart of rates by temperature, once it is drawn."""
    tab.goto(uri)
    tab.locator("#figure-rates_by_temperature").scroll_into_view_if_needed()
    chart = tab.locator("#figure-rates_by_temperature .chart svg")
    chart.wait_for()
    tab.locator("#figure-rates_by_temperature [role=link]").first.wait_for(state="attached")
    return chart


def test_chart_is_drawn_under_the_policy_and_fills_its_card(tab: Any, uri: str) -> None:
    chart = draw_chart(tab, uri)
    widths = chart.evaluate("s => [s.clientWidth, s.closest('figure').clientWidth]")
    assert 0.9 * widths[1] < widths[0] <= widths[1]
    assert tab.locator("#figure-rates_by_temperature img").is_hidden()
    tab.set_viewport_size({"width": 390, "height": 800})
    tab.reload()
    chart = draw_chart(tab, uri)
    width, card = chart.evaluate("s => [s.clientWidth, s.closest('figure').clientWidth]")
    assert 0.7 * card < width <= card
    assert tab.noted == []


@pytest.mark.parametrize("width", [1280, 820])
def test_chart_whose_legend_is_wider_than_its_panel_fills_its_card(
    tab: Any, whole: str, width: int
) -> None:
    tab.set_viewport_size({"width": width, "height": 900})
    tab.goto(whole)
    tab.locator("#figure-judge_card").scroll_into_view_if_needed()
    card = tab.locator("#figure-judge_card .chart")
    card.locator("[tabindex='0']").wait_for(state="attached")
    right_end = "element => element.getBoundingClientRect().right"
    panel = card.locator(".role-frame .background").first.evaluate(right_end)
    assert 0 <= card.evaluate(right_end) - panel < 50


def test_panels_with_long_names_fit_their_card_and_name_no_judge_that_has_no_part(
    tab: Any, whole: str
) -> None:
    tab.goto(whole)
    figure = tab.locator("#figure-answer_signals")
    figure.scroll_into_view_if_needed()
    figure.locator("[role=link]").first.wait_for(state="attached")
    tab.evaluate("Promise.all(drawn.values())")
    card = figure.locator(".chart")
    width, scrolled = card.evaluate("place => [place.clientWidth, place.scrollWidth]")
    assert scrolled <= width
    assert figure.locator("h3").inner_text().strip() == "What tells the right answers of an item"
    datasets = figure.locator(".role-title-subtitle text").all_text_contents()
    assert datasets == [name for name in SIGNALS_OF for _ in ("area", "change")]


def test_charts_fit_a_phone_with_the_whole_names_of_their_panels(browser: Any, whole: str) -> None:
    phone = browser.new_context(viewport={"width": 390, "height": 844}, is_mobile=True).new_page()
    phone.goto(whole)
    open_everything(phone)
    phone.evaluate("Promise.all(drawn.values())")
    for card in phone.locator("#figures .chart").all():
        width, scrolled = card.evaluate("place => [place.clientWidth, place.scrollWidth]")
        name = card.evaluate("place => place.closest('figure').id")
        assert scrolled <= width, name
        assert not [text for text in card.locator("text").all_text_contents() if "…" in text], name
    phone.context.close()


COUNT_DRAWINGS = """window.drawings = 0;
new MutationObserver((changes) => {
  for (const { addedNodes } of changes) for (const node of addedNodes)
    if (node.nodeName === "svg" && node.closest("#figure-confusion")) window.drawings += 1;
}).observe(document, { childList: true, subtree: true });"""


def test_chart_of_a_filtered_page_is_drawn_once(tab: Any, whole: str) -> None:
    tab.add_init_script(COUNT_DRAWINGS)
    tab.goto(f"{whole}#/?dataset=open")
    tab.locator("#figure-confusion").scroll_into_view_if_needed()
    tab.locator("#figure-confusion [role=link]").first.wait_for(state="attached")
    tab.evaluate("Promise.all(drawn.values())")
    assert tab.evaluate("window.drawings") == 1


def test_mark_tells_rate_interval_and_denominator_and_leads_to_its_cell(
    tab: Any, grid: Grid, uri: str
) -> None:
    draw_chart(tab, uri)
    told = "model: a-1b; dataset: open; temperature: 0; perturbation: truncate"
    mark = tab.locator(f"[role=link][aria-label^='{told}']")
    mark.hover()
    n_scored = rows_of(grid, CELL)["label"].count()
    shown = tab.inner_text("#hover")
    assert rate(grid, ("a-1b", "open", 0.0, "truncate"), "heuristic") in shown
    assert f"{n_scored} of 60 turns" in shown
    mark.click()
    listed(tab, 60)
    assert tab.evaluate("location.hash") == "#/cell/a-1b/open/t0/truncate"
    assert tab.noted == []


def test_marks_are_walked_by_arrow_keys(tab: Any, uri: str) -> None:
    draw_chart(tab, uri)
    tab.focus("#figure-rates_by_temperature [role=link][tabindex='0']")
    first = tab.evaluate("document.activeElement.getAttribute('aria-label')")
    tab.keyboard.press("ArrowRight")
    told = tab.evaluate("document.activeElement.getAttribute('aria-label')")
    assert told != first
    assert tab.locator("#figure-rates_by_temperature [role=link][tabindex='0']").count() == 1
    assert tab.is_visible("#hover")
    tab.keyboard.press("Enter")
    tab.wait_for_function("() => location.hash.startsWith('#/cell/')")


def rate(grid: Grid, cell: tuple[str, str, float, str], judge: str) -> str:
    """Return a cell's rate with its interval as the page writes it."""
    rates = pl.read_parquet(grid.results / "tables" / "rates.parquet")
    of_cell = dict(zip([*CELL_KEYS, "judge"], (*cell, judge), strict=True))
    row = cell_rates(rates).row(
        by_predicate=pl.all_horizontal(pl.col(k) == v for k, v in of_cell.items()), named=True
    )
    share, low, high = (f"{100 * row[name]:.1f}" for name in ("estimate", "lower", "upper"))
    return f"{share}% [{low}, {high}]"


def pick(tab: Any, field: str, name: str) -> None:
    """Choose one more of a field in the filter bar, by the keyboard alone."""
    tab.focus(f"#filter [data-field={field}] summary")
    tab.keyboard.press("Enter")
    tab.focus(f"#filter [value='{name}']")
    tab.keyboard.press("Space")
    tab.wait_for_function("([field, name]) => chosen[field].includes(name)", arg=[field, name])
    tab.keyboard.press("Escape")


def test_one_choice_drives_headline_chart_and_tables_and_back_takes_it_back(
    tab: Any, grid: Grid, uri: str
) -> None:
    draw_chart(tab, uri)
    tab.click("#table-rates-4 summary")
    tab.locator("#table-rates-4").get_by_text("48 rows").wait_for()
    marks = tab.locator("#figure-rates_by_temperature [role=link]")
    assert marks.count() == 24  # 2 models, 2 datasets, 2 temperatures, 3 perturbations
    for field, name in [("model", "b-7b"), ("dataset", "open"), ("judge", "second")]:
        pick(tab, field, name)
    tab.wait_for_function("() => location.hash === '#/?model=b-7b&dataset=open&judge=second'")
    tab.get_by_text("6 of 6 rows that match, of 48").wait_for()
    tab.wait_for_function("() => document.querySelectorAll('.chart [role=link]').length === 6")
    expected = rate(grid, ("b-7b", "open", 0.0, "none"), "second")
    assert f"At temperature 0, {expected} of b-7b's turns in open" in tab.inner_text("#sentence")
    told = "model: b-7b; dataset: open; temperature: 0; perturbation: none; genuine: "
    label = marks.and_(tab.locator(f"[aria-label^='{told}']")).get_attribute("aria-label")
    assert label.startswith(told + expected)
    assert tab.inner_text("#counts").startswith("Cells\n6\n")
    pick(tab, "perturbation", "truncate")
    expected = rate(grid, ("b-7b", "open", 0.0, "truncate"), "second")
    said = f"0, after an answer changed by “truncate”, {expected} of b-7b's turns in open are"
    assert said in tab.inner_text("#sentence")
    tab.go_back()
    tab.wait_for_function("() => document.querySelectorAll('.chart [role=link]').length === 6")
    tab.click("#clear")
    tab.wait_for_function("() => document.querySelectorAll('.chart [role=link]').length === 24")
    assert tab.noted == []


def test_a_second_choice_keeps_a_first_that_is_not_shown_yet(tab: Any, uri: str) -> None:
    draw_chart(tab, uri)
    tab.evaluate(
        "for (const value of ['b-7b', 'open']) document.querySelector(`[value='${value}']`).click()"
    )
    tab.wait_for_function("() => document.querySelectorAll('.chart [role=link]').length === 6")
    assert tab.evaluate("location.hash") == "#/?model=b-7b&dataset=open"


def test_a_name_in_the_legend_is_a_filter(tab: Any, uri: str) -> None:
    draw_chart(tab, uri)
    label = tab.locator(".chart .role-legend-label text", has_text="truncate")
    label.click()
    tab.wait_for_function("() => location.hash === '#/?perturbation=truncate'")
    tab.wait_for_function("() => document.querySelectorAll('.chart [role=link]').length === 8")
    label.click()
    tab.wait_for_function("() => document.querySelectorAll('.chart [role=link]').length === 24")


def test_paper_and_a_page_without_javascript_have_the_picture(
    browser: Any, tab: Any, uri: str
) -> None:
    chart = draw_chart(tab, uri)
    tab.emulate_media(media="print")
    assert not chart.is_visible()
    assert tab.locator("#figure-rates_by_temperature h3").is_hidden(), "the picture has its title"
    picture = tab.locator("#figure-rates_by_temperature img")
    assert picture.is_visible()
    tab.set_viewport_size({"width": 703, "height": 1031})  # A4 within its margins
    for size in ("width='600' height='3000'", "width='3000' height='600'"):
        large = f"data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' {size}/>"
        picture.evaluate("(img, src) => { img.src = src; return img.decode(); }", large)
        box = picture.bounding_box()
        assert (box["height"] == HEIGHT) != (box["width"] == WIDTH), "as letters are reckoned"
    headings = tab.locator("#report :is(h2, h3, dt, summary)")
    breaks = headings.evaluate_all("parts => parts.map(part => getComputedStyle(part).breakAfter)")
    assert set(breaks) == {"avoid"}, "no heading is the last line of a page"
    shown_as = "parts => parts.map(part => getComputedStyle(part).display)"
    grids = tab.locator("#report, .lead, .bearings, #figures, #tables").evaluate_all(shown_as)
    assert set(grids) == {"block"}, "Chromium breaks after a heading that is a row of a grid"
    tab.wait_for_selector("#table-rates-4", state="attached")
    wider = tab.evaluate("document.documentElement.scrollWidth - innerWidth")
    assert wider <= 0, "tables are no wider than the paper"
    tab.evaluate("document.getElementById('table-rates-4').open = true")
    heads = tab.locator("#table-rates-4 th button")
    heads.first.wait_for(state="attached")
    boxes = "buttons => buttons.map(button => getComputedStyle(button).display)"
    assert set(heads.evaluate_all(boxes)) == {"contents"}, "each page of a long table has its head"
    plain = browser.new_context(java_script_enabled=False).new_page()
    plain.goto(uri)
    assert plain.locator("#figure-rates_by_temperature img").is_visible()
    plain.context.close()


def test_a_filtered_report_prints_what_is_shown_and_says_so(tab: Any, uri: str) -> None:
    tab.set_viewport_size({"width": 1440, "height": 900})
    tab.goto(f"{uri}#/?model=b-7b&judge=second")
    pages = tab.locator("#figure-rates_by_temperature .on-paper")
    pages.locator("svg").wait_for(state="attached")
    assert pages.is_hidden() and tab.locator("#shown").is_hidden(), "on the screen it is the chart"
    tab.emulate_media(media="print")
    tab.set_viewport_size({"width": 703, "height": 1031})
    assert tab.locator("#shown").inner_text() == "Shown: models b-7b; judges second."
    assert (
        tab.locator(".picture, .chart").evaluate_all(
            "all => all.filter(one => getComputedStyle(one).display !== 'none').length"
        )
        == 0
    )
    assert pages.locator("svg").bounding_box()["width"] <= WIDTH
    letters = pages.locator("svg text").evaluate_all(
        "all => all.map(one => [one.textContent, parseFloat(getComputedStyle(one).fontSize)"
        " * one.getScreenCTM().a])"
    )
    assert min(height for _, height in letters) >= LEAST_LETTER
    assert {text for text, _ in letters} & {"a-1b", "b-7b"} == {"b-7b"}
    tab.evaluate("location.hash = '#/'")
    pages.wait_for(state="detached")
    assert tab.locator("#shown").is_hidden()


def test_panels_below_each_other_have_an_axis_each(tab: Any, whole: str) -> None:
    tab.set_viewport_size({"width": 390, "height": 844})
    tab.goto(whole)
    for name, axis in (("self_play", "depth"), ("failure_profiles", "share")):
        figure = tab.locator(f"#figure-{name}")
        figure.scroll_into_view_if_needed()
        figure.locator(".chart [tabindex='0']").wait_for(state="attached")
        panels = figure.locator(".chart .role-title-text").count()
        assert panels > 1
        assert figure.locator(".chart .role-axis-title text", has_text=axis).count() == panels


def test_panels_of_a_dataset_that_is_not_chosen_are_not_drawn(tab: Any, whole: str) -> None:
    tab.goto(f"{whole}#/?dataset={SIGNALS_OF[1]}")
    figure = tab.locator("#figure-answer_signals")
    figure.locator(".chart svg").wait_for(state="attached")
    titles = figure.locator(".chart .role-title-subtitle text").all_text_contents()
    assert set(titles) == {SIGNALS_OF[1]}


FULL_ROWS = """
() => {
  const [lower, upper, n_scored, n_turns] = [0.101, 0.278, 1174, 1185];
  const rates = study.temperatures.map(temperature => ({ temperature, estimate: 0.197, lower, upper, n_scored, n_turns }));
  const told = { floor: 0.114, floor_lower: 0.106, floor_upper: 0.185, above_floor: -0.123, above_floor_lower: -0.163, above_floor_upper: -0.023, reacts: null };
  const models = ["qwen3.5-397b-a17b", "gpt-oss-120b"];
  Object.assign(headline, {
    models: models.map(model => ({ model, rates, accuracy: [0.827, 0.737, 0.891, 85], followup: [0.081, 0.038, 0.163, 85] })),
    floors: models.flatMap(model => study.temperatures.map(temperature => ({ model, temperature: Number(temperature), ...told }))),
    identified: models.map(model => ({ model, dataset: "healthbench", estimate: 0.512, lower, upper, n_scored, chance: 0.25 })),
  });
  study.models = models;
  for (const rate of rates) rate.temperature = Number(rate.temperature);
  showModels();
}
"""  # noqa: E501


def test_the_table_of_models_fits_a_tablet_and_no_interval_is_broken_there_or_on_paper(
    tab: Any, uri: str
) -> None:
    tab.set_viewport_size({"width": 820, "height": 1180})
    tab.goto(uri)
    tab.evaluate(FULL_ROWS)
    widths = tab.locator("#models .scroll").evaluate("one => [one.scrollWidth, one.clientWidth]")
    assert widths[0] <= widths[1]
    lines = "all => all.filter(one => one.getClientRects().length > 1).map(one => one.textContent)"
    intervals = tab.locator("#models .interval")
    assert intervals.count() > 10 and intervals.evaluate_all(lines) == []
    tab.evaluate("document.getElementById('table-rates-4').open = true")
    shown = tab.locator("#table-rates-4 .interval")
    shown.first.wait_for(state="attached")
    tab.emulate_media(media="print")
    tab.set_viewport_size({"width": 703, "height": 1031})
    assert intervals.evaluate_all(lines) + shown.evaluate_all(lines) == []


def test_a_negative_kappa_has_a_minus_and_one_without_limits_has_none(tab: Any, uri: str) -> None:
    tab.goto(uri)
    told = "row => kappaText(row)"
    assert tab.evaluate(told, {"estimate": -0.12, "lower": -0.3, "upper": 0.1}) == (
        "−0.12 [−0.30, 0.10]"
    )
    assert tab.evaluate(told, {"estimate": -0.001, "lower": None, "upper": None}) == "0.00"


@pytest.mark.parametrize("width", [390, 1280])
def test_an_option_in_the_checklist_of_an_audit_is_not_broken(
    tab: Any, tmp_path: Path, width: int
) -> None:
    (tmp_path / "audit.html").write_text(AUDIT_PAGE, "utf-8")
    tab.set_viewport_size({"width": width, "height": 900})
    tab.goto((tmp_path / "audit.html").as_uri())
    needed = tab.locator(".checks td", has_text="needs --tokenizer")
    lines = """cell => {
      const range = document.createRange();
      range.selectNodeContents(cell);
      return new Set([...range.getClientRects()].map(({ top }) => top)).size;
    }"""
    assert needed.evaluate(lines) == 1
    table = tab.locator(".checks").evaluate("one => [one.scrollWidth, one.clientWidth]")
    assert table[0] <= table[1]


def test_a_printed_list_and_table_say_what_they_are_filtered_by(tab: Any, uri: str) -> None:
    tab.goto(f"{uri}#/cell/{CELL}?label=generic&outcome=ok")
    tab.wait_for_selector(".turn-row")
    tab.emulate_media(media="print")
    shown = tab.locator("#view .controls .choice:visible")
    told = {
        one.locator("span").inner_text(): one.locator("select").input_value() for one in shown.all()
    }
    assert told.items() >= {"Label": "generic", "Outcome": "ok"}.items()
    assert not {"Text", "Search in", "Pair of labels"} & set(told), "they leave out nothing"
    assert tab.locator("#view .controls button:visible, .check:visible").count() == 0
    tab.goto(f"{uri}#/")
    tab.evaluate("document.getElementById('table-rates-4').open = true")
    sought = tab.locator("#table-rates-4 input")
    sought.wait_for(state="attached")
    assert sought.is_hidden()
    sought.evaluate("one => { one.value = 'b-7b'; one.dispatchEvent(new Event('input')); }")
    assert sought.is_visible()
    assert "that match" in tab.locator("#table-rates-4 [role=status]").inner_text()


def test_the_heat_map_fits_on_paper(tab: Any, uri: str) -> None:
    tab.goto(f"{uri}#/grid")
    tab.wait_for_selector(".cell")
    row = "tr => { for (let i = 0; i < 20; i += 1) tr.append(tr.lastChild.cloneNode(true)); }"
    tab.locator(".heat tbody tr").first.evaluate(row)
    tab.emulate_media(media="print")
    tab.set_viewport_size({"width": 703, "height": 1031})
    assert tab.evaluate("document.documentElement.scrollWidth") <= 703


def test_a_table_of_many_columns_is_printed_on_pages_of_its_own_that_are_wide(
    tab: Any, uri: str
) -> None:
    """On the others it would be wider than the paper, and the browser would shrink them all."""
    tab.goto(uri)
    tab.evaluate(
        "() => { const columns = Array.from({ length: 14 }, (_, i) => [`column${i}`, 'share']);"
        " const rows = [columns.map(() => [0.31415, 0.11111, 0.55555])];"
        " at('tables').prepend(make('details', { open: true }, make('summary', null, 'Wide'),"
        " ...dataTable({ name: 'x', title: 'Wide table', columns }, rows).filter(Boolean))); }"
    )
    tab.emulate_media(media="print")
    pages = tab.locator("#tables > details").evaluate_all(
        "all => all.map(one => getComputedStyle(one).page)"
    )
    assert pages[0] == "wide" and set(pages[1:]) == {"auto"}
    tab.set_viewport_size({"width": 1031, "height": 703})  # A4 on its side
    assert tab.evaluate("document.documentElement.scrollWidth") <= 1031


def test_names_of_the_config_are_shown_as_they_are_typed_and_labels_as_words(
    tab: Any, uri: str
) -> None:
    tab.goto(f"{uri}#/cell/a-1b/open/t0/header_only")
    tab.get_by_text("a-1b · open · temperature 0 · header_only").first.wait_for()
    assert tab.locator(".badge").first.inner_text() == "Genuine follow-up"
    tab.goto(f"{uri}#/")
    assert "header_only" in tab.locator("[data-field=perturbation] .options").text_content()
    tab.evaluate("document.getElementById('table-rates-4').open = true")
    table = tab.locator("#table-rates-4")
    for sought in ("header_only", "header only"):
        table.locator("input").fill(sought)
        assert set(table.locator("tbody td:nth-child(4)").all_inner_texts()) == {"header_only"}


def test_a_table_says_its_units_and_leaves_out_columns_without_any_value(
    tab: Any, uri: str
) -> None:
    tab.goto(uri)
    columns = [["model", "text"], ["change", "change"], ["reason", "text"], ["floor", "share"]]
    rows = [[["a-1b"], [0.1, 0.0, 0.2], [None], [None, None, None]]]
    tab.evaluate(
        "([columns, rows]) => document.body.append(...dataTable("
        "{ name: 'x', title: 'Table of a test', columns }, rows).filter(Boolean))",
        [columns, rows],
    )
    table = tab.get_by_role("region", name="Table of a test")
    assert table.locator("th").all_text_contents() == ["model", "change, points"]
    assert tab.get_by_text("No row has a value of: reason; floor.").count() == 1


def test_a_long_heading_is_not_a_word_a_line_on_a_phone(tab: Any, uri: str) -> None:
    tab.set_viewport_size({"width": 390, "height": 844})
    tab.goto(uri)
    tab.evaluate("document.getElementById('table-rates-4').open = true")
    heading = tab.locator("#table-rates-4 th", has_text="bounds (unscored all negative")
    heading.wait_for(state="attached")
    assert heading.evaluate("one => one.clientWidth") >= 8.5 * 16, "8.5 rem"


def test_same_item_stands_side_by_side_over_perturbations_temperatures_and_models(
    tab: Any, grid: Grid, uri: str
) -> None:
    tab.goto(f"{uri}#/turn/{CELL}/open-9/0")
    tab.click(".beside-all summary")
    tab.get_by_role("region", name="By model").wait_for()
    # 3 perturbations, 2 temperatures, 2 models; the turn's own cell is in each
    assert [t.locator("tbody tr").count() for t in tab.locator(".beside").all()] == [3, 2, 2]
    assert tab.locator(".beside [aria-current]").count() == 3
    other = rows_of(grid, "b-7b/open/t0/truncate").row(9, named=True)
    row = tab.locator(".beside tr:has-text('b-7b')")
    assert row.locator(".badge").first.inner_text() == label_name(other["label"])
    assert row.locator(".text").inner_text() == other["text"]
    tab.goto(f"{uri}#/turn/{CELL}/open-59/0")  # the last turn of each cell failed
    tab.click(".beside-all summary")
    tab.get_by_role("region", name="By model").wait_for()
    assert set(tab.locator(".beside .text").all_inner_texts()) == {"Error: out of memory"}
    assert tab.noted == []


def test_injected_script_would_be_refused_by_the_policy(tab: Any, uri: str) -> None:
    tab.goto(uri)
    tab.evaluate(
        "document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.hit = 1\">')"
    )
    tab.evaluate(
        "document.body.append(Object.assign(document.createElement('script'),"
        " { textContent: 'window.hit = 2' }))"
    )
    assert tab.evaluate("window.hit") is None
    assert any("Content Security Policy" in line for line in tab.noted)


def test_prompt_is_shown_exactly_and_the_change_is_a_difference(
    tab: Any, grid: Grid, uri: str
) -> None:
    turn = rows_of(grid, CELL).row(9, named=True)
    answers = pl.read_parquet(grid.results / "answers" / "a-1b" / "open.parquet")
    answer = answers.filter(pl.col("item") == turn["item"])["answer"][0]
    tab.goto(f"{uri}#/turn/{CELL}/{turn['item']}/0")
    tab.wait_for_selector(".prompt")
    shown = tab.evaluate(
        "[...document.querySelectorAll('.template, .said .text')].map(e => e.textContent).join('')"
    )
    assert shown == turn["prompt_text"]
    assert tab.locator(".template .token").all_text_contents()[:2] == ["<|im_start|>", "<|im_end|>"]
    parts = {
        kind: "".join(tab.locator(f".difference {kind}").all_text_contents())
        for kind in ("span", "ins", "del")
    }
    # half of the answer's characters stay, so that a word may be cut in two
    assert turn["answer"].startswith(parts["span"])
    assert parts["span"] + parts["ins"] == turn["answer"]
    assert parts["span"] + parts["del"] == answer
    tab.goto(f"{uri}#/turn/a-1b/open/t0/header_only/{turn['item']}/0")
    tab.get_by_text("the prompt has no conversation").wait_for()


def test_a_turn_says_that_the_answer_before_it_was_cut(tab: Any, uri: str) -> None:
    for item, is_cut in ((9, True), (10, False)):  # of three answers the first is cut
        tab.goto(f"{uri}#/turn/{CELL}/open-{item}/0")
        tab.get_by_role("heading", name=f"open-{item}").wait_for()
        tab.wait_for_selector(".facts")
        assert ("Cut at the token limit" in tab.locator(".facts").inner_text()) == is_cut


def test_the_rest_of_a_very_long_text_is_shown_when_asked_for(tab: Any, uri: str) -> None:
    tab.goto(f"{uri}#/turn/{CELL}/open-9/0")
    tab.wait_for_selector("#turn-text")
    text = "longText({ id: 'long' }, 'x'.repeat(60000), (shown) => [shown])"
    tab.evaluate(f"document.querySelector('.user-turn').append(...{text})")
    assert len(tab.locator("#long").inner_text()) == 50_000
    tab.get_by_role("button", name="Show all 60,000 characters").click()
    assert len(tab.locator("#long").inner_text()) == 60_000
    assert tab.get_by_role("button", name="Show all").count() == 0


def test_every_judge_is_shown_with_label_and_rationale(tab: Any, grid: Grid, uri: str) -> None:
    tables = [rows_of(grid, CELL, judge) for judge in ("heuristic", "second")]
    both = [i for i in range(60) if tables[0]["label"][i] and tables[1]["label"][i]]
    i = next(i for i in both if tables[0]["label"][i] != tables[1]["label"][i])
    tab.goto(f"{uri}#/turn/{CELL}/open-{i}/0")
    tab.get_by_text("The judges differ.").wait_for()
    badges = tab.locator(".verdict .badge").all_text_contents()
    assert badges == [label_name(table["label"][i]) for table in tables]
    said = tab.locator(".verdict .text").all_text_contents()
    assert said == [table["rationale"][i] for table in tables]


def test_filters_are_kept_in_the_address_and_restored_from_it(
    browser: Any, tab: Any, grid: Grid, uri: str
) -> None:
    n = rows_of(grid, CELL, "second").filter(pl.col("label") == "prompt_restate").height
    tab.goto(f"{uri}#/cell/{CELL}")
    listed(tab, 60)
    tab.select_option("[name=label]", "prompt_restate")
    tab.select_option("[name=judge]", "second")
    listed(tab, n)
    address = tab.evaluate("location.href")
    elsewhere = browser.new_context().new_page()
    elsewhere.goto(address)
    listed(elsewhere, n)
    assert elsewhere.input_value("[name=label]") == "prompt_restate"
    assert elsewhere.input_value("[name=judge]") == "second"
    elsewhere.click(".turn-row >> nth=1")
    elsewhere.get_by_text(f"2 of {n}").wait_for()
    elsewhere.keyboard.press("j")
    elsewhere.get_by_text(f"3 of {n}").wait_for()
    elsewhere.go_back()
    elsewhere.get_by_text(f"2 of {n}").wait_for()
    elsewhere.context.close()


def test_each_label_of_a_bar_has_a_pattern_that_its_legend_shows(tab: Any, uri: str) -> None:
    tab.goto(f"{uri}#/cell/{CELL}")
    listed(tab, 60)
    look = "r => r.map(i => [i.className, getComputedStyle(i).backgroundImage])"
    bar, legend = (
        tab.locator(f".of-judge:first-child {part} i").evaluate_all(look)
        for part in (".bar-of-labels", ".count")
    )
    assert bar == legend
    assert len({image for _, image in bar if image != "none"}) == len(bar) - 2  # solid, and empty


def test_disagreement_is_a_filter(tab: Any, grid: Grid, uri: str) -> None:
    one, two = (rows_of(grid, CELL, judge)["label"] for judge in ("heuristic", "second"))
    n = (one != two).sum()
    tab.goto(f"{uri}#/cell/{CELL}")
    listed(tab, 60)
    tab.click("text=More filters")
    tab.check("[name=differ]")
    listed(tab, n)


def test_square_of_the_labels_of_two_judges_opens_its_turns(tab: Any, grid: Grid, uri: str) -> None:
    both = [
        rows_of(grid, f"{model}/open/t{t}/none", "heuristic").select("label", "item").hstack(
            rows_of(grid, f"{model}/open/t{t}/none", "second").select(second="label")
        )
        for model in ("a-1b", "b-7b")
        for t in (0, 1)
    ]  # fmt: skip
    pair = (pl.col("label") == "prompt_restate") & (pl.col("second") == "generic")
    n = pl.concat(both).filter(pair).height
    assert n > 0
    tab.goto(f"{uri}#/differ?dataset=open&p=none")
    tab.click("a[aria-label^='heuristic Restated prompt, second Generic:']")
    tab.get_by_text(f"{n} turn").first.wait_for()
    tab.get_by_text("Done.").wait_for()
    for row in tab.locator(".turn-row").all()[:5]:
        assert row.locator(".badge").all_text_contents() == ["Restated prompt", "Generic"]
    assert tab.locator(".turn-row").count() == n
    tab.select_option("[name=pair]", "")  # the pair can be taken back
    tab.fill("[name=q]", NEEDLE)
    tab.click("button.main")
    tab.get_by_text("1 turn found").wait_for()
    assert tab.noted == []


def test_list_shows_question_and_answer_and_previews_a_turn(tab: Any, grid: Grid, uri: str) -> None:
    turn = rows_of(grid, CELL).row(9, named=True)
    tab.goto(f"{uri}#/cell/{CELL}")
    listed(tab, 60)
    row = tab.locator(".turns > li").nth(9)
    row.scroll_into_view_if_needed()
    row.get_by_text("Question 9 of open").wait_for()
    assert turn["answer"][:20] in row.locator(".context").inner_text()
    row.locator("summary").click()
    row.get_by_text("The user turn it wrote").wait_for()
    assert row.locator(".prompt").count() == 1
    assert tab.noted == []


def test_list_is_sorted_and_shuffled_and_the_address_keeps_it(tab: Any, uri: str) -> None:
    first = ".turn-row .excerpt >> nth=0"
    tab.goto(f"{uri}#/cell/{CELL}?sort=long")
    listed(tab, 60)
    assert tab.inner_text(first).startswith("xxxx")
    orders = set()
    for seed in (2, 3, 3):
        tab.goto("about:blank")
        tab.goto(f"{uri}#/cell/{CELL}?sort=shuffle&seed={seed}")
        listed(tab, 60)
        orders.add(tuple(tab.locator(".turn-row .where").all_inner_texts()))
    assert len(orders) == 2
    tab.click("button:has-text('Shuffle')")
    tab.wait_for_function("() => location.hash.includes('seed=4')")


def test_search_counts_all_and_draws_a_sample_that_the_seed_decides(tab: Any, uri: str) -> None:
    shown = []
    for seed in (1, 1, 2):
        tab.goto("about:blank")
        tab.goto(f"{uri}#/search?outcome=ok&seed={seed}")
        tab.get_by_text("Below are 300 of them").wait_for()
        # 24 cells of 60 turns, one of which failed
        assert "1,416 turns found in 24 of 24 cells." in tab.inner_text(".progress .state")
        shown.append(
            tab.locator(".turn-row").evaluate_all("rows => rows.map(r => r.hash.split('?')[0])")
        )
    assert len(set(shown[0])) == 300
    assert shown[0] == shown[1]
    assert set(shown[0]) != set(shown[2])
    assert {place.split("/")[2] for place in shown[0]} == {"a-1b", "b-7b"}  # not the first cells


def test_listed_turns_are_saved_without_formulas_and_copied_as_latex(
    tab: Any, grid: Grid, uri: str
) -> None:
    tab.context.grant_permissions(["clipboard-read", "clipboard-write"])
    tab.goto(f"{uri}#/cell/{CELL}")
    listed(tab, 60)
    saved = {}
    for kind in ("CSV", "JSONL"):
        with tab.expect_download() as download:
            tab.click(f"button:text-is('{kind}')")
        saved[kind] = Path(download.value.path()).read_text("utf-8")
    rows = list(csv.DictReader(io.StringIO(saved["CSV"])))
    lines = [json.loads(line) for line in saved["JSONL"].splitlines()]
    texts = rows_of(grid, CELL)["text"].to_list()
    assert [line["turn"] for line in lines] == [text and show_codes(text) for text in texts]
    assert texts[FORMULA].startswith("=")
    assert rows[FORMULA]["turn"] == f"'{texts[FORMULA]}"
    assert [row["label by second"] for row in rows] == [
        label or "" for label in rows_of(grid, CELL, "second")["label"]
    ]
    tab.click("text=Copy as LaTeX")
    tab.get_by_text("60 rows copied").wait_for()
    copied = tab.evaluate("() => navigator.clipboard.readText()")
    assert "open-7 & \\_\\_proto\\_\\_ constructor \\{\\{study\\}\\}" in copied
    assert "\\textless{}\\textbar{}im\\_start\\textbar{}\\textgreater{}system" in copied
    tab.goto(f"{uri}#/cell/b-7b/healthbench/t0/none")
    listed(tab, 60)
    with tab.expect_download() as download:
        tab.click("button:text-is('JSONL')")
    private = Path(download.value.path()).read_text("utf-8")
    assert HELD_BACK not in private
    assert {json.loads(line)["turn"] for line in private.splitlines()} == {None}


def test_search_in_a_cell_can_look_into_prompts(tab: Any, uri: str) -> None:
    tab.goto(f"{uri}#/cell/{CELL}")
    listed(tab, 60)
    tab.fill("[name=q]", "question 33 of open")
    listed(tab, 0)
    tab.click("text=More filters")
    tab.select_option("[name=in]", "all")
    listed(tab, 1)
    assert tab.inner_text(".turn-row .where") == "open-33"


def test_search_over_all_cells_finds_one_turn_and_leads_to_it(tab: Any, uri: str) -> None:
    tab.goto(f"{uri}#/search")
    tab.fill("[name=q]", NEEDLE.upper())
    tab.keyboard.press("Enter")
    # 2 models, 2 datasets, 2 temperatures, 3 perturbations
    tab.get_by_text("1 turn found in 24 of 24 cells. Done.").wait_for()
    tab.click(".turn-row")
    tab.wait_for_selector("#turn-text")
    assert tab.text_content("#turn-text mark") == NEEDLE
    assert "#/turn/b-7b/open/t1/none/open-57/0?q=" in tab.evaluate("location.href")


def test_search_can_be_stopped(tab: Any, uri: str) -> None:
    tab.add_init_script(  # after the open table, turns and gains of the first cell no file comes
        """const append = Element.prototype.append; let n = 0;
        HTMLHeadElement.prototype.append = function (node) {
          if (node.tagName !== 'SCRIPT' || ++n < 4) append.call(this, node); };"""
    )
    tab.goto(f"{uri}#/search?label=generic")
    tab.get_by_text("1 of 24 cells.").wait_for()
    tab.click("text=Stop")
    tab.get_by_text("Stopped.").wait_for()
    assert tab.is_disabled("text=Stop")


def test_private_rows_have_ids_and_labels_and_the_page_says_why(tab: Any, uri: str) -> None:
    tab.goto(f"{uri}#/cell/b-7b/healthbench/t0/none")
    listed(tab, 60)
    assert "marked private" in tab.inner_text("#view .notice")
    tab.click(".turn-row >> nth=0")
    tab.locator(".verdict .badge").nth(1).wait_for()  # of both judges, where the list has none
    assert tab.get_by_text("Not shown: private dataset").first.is_visible()
    assert tab.locator(".verdict .badge").count() == 2
    assert tab.locator(".prompt").count() == 0
    assert HELD_BACK not in tab.content()
    assert not any("prompts-" in url for url in tab.asked)


def test_grid_is_walked_by_arrow_keys(tab: Any, uri: str) -> None:
    tab.goto(f"{uri}#/grid?p=truncate&dataset=open")
    tab.focus("a.cell[tabindex='0']")
    tab.keyboard.press("ArrowRight")
    tab.keyboard.press("ArrowDown")
    assert tab.inner_text(".told").startswith("b-7b, open, temperature 1, truncate: ")
    assert tab.locator("a.cell[tabindex='0']").count() == 1
    tab.keyboard.press("Enter")
    listed(tab, 60)
    assert tab.evaluate("location.hash").startswith("#/cell/b-7b/open/t1/truncate")
    assert tab.evaluate("document.activeElement.tagName") == "H1"


def test_grid_shows_the_share_of_each_cell(tab: Any, grid: Grid, uri: str) -> None:
    tab.goto(f"{uri}#/grid?by=unscored&judge=second&p=truncate")
    scored = rows_of(grid, CELL, "second")["label"].count()
    told = f"{100 * (60 - scored) / 60:.1f}%, {60 - scored} of 60"
    label = "a-1b, open, temperature 0, truncate: "
    assert tab.get_attribute(f"a.cell[aria-label^='{label}']", "aria-label") == label + told
    assert "true rates are unknown" in tab.locator("#view .warning").inner_text()


def test_a_heading_sorts_its_table_by_number(tab: Any, uri: str) -> None:
    tab.goto(uri)
    tab.click("#table-rates-4 summary")
    tab.click("#table-rates-4 th button:has-text('genuine')")
    column = "#table-rates-4 td:nth-child(6)"
    shares = [float(t.partition("%")[0]) for t in tab.locator(column).all_text_contents()]
    assert len(shares) == 48
    assert shares == sorted(shares)
    tab.click("#table-rates-4 th button:has-text('genuine')")
    assert tab.locator(column).first.text_content().startswith(f"{shares[-1]}%")


# What a study with people's labels, chance floors and likelihoods holds its rates against.
HELD_AGAINST = """() => {
  const limits = (estimate, lower, upper) => ({ estimate, lower, upper });
  const at = (model) => ({ model, temperature: 0, n_labelled: 9, n_scored: 9, chance: 0.5 });
  const floor = (model, floor) => ({ ...at(model), floor, floor_lower: 0, floor_upper: 0.2,
    above_floor: 0.1, above_floor_lower: 0, above_floor_upper: 0.2, reacts: null });
  const [one, other] = study.models = ["qwen3.5-122b-a10b", "qwen3.5-397b-a17b"];
  const cut = { n_answers: 9, n_answers_cut: 6,
    lenient: 0.3, lenient_lower: 0.1, lenient_upper: 0.4,
    n_ok: 9, n_copies: 4, distinct: 0.2, distinct_lower: 0.1, distinct_upper: 0.3 };
  const rated = (model) => ({ model,
    rates: [0, 1].map((temperature) => ({ temperature, ...limits(0.1, 0, 0.2), ...cut })) });
  headline.models = [rated(one), rated(other)];
  headline.corrected = [{ ...at(one), ...limits(0.03, 0.01, 0.09) }];
  headline.floors = [floor(one, 0.02), floor(other, 0.01)];
  headline.card = [{ measure: "sensitivity", ...limits(0.9, 0.8, 0.95) },
    { measure: "kappa", ...limits(0.7, 0.6, 0.8) }].map((row) => ({ source: "people", ...row }));
  headline.identified = [{ ...at(one), dataset: "open", ...limits(0.5, 0.4, 0.6) }];
  headline.warning = "Not a finding: the judge heuristic is not validated (sensitivity 0.02 on "
    + "human follow-ups, 0.7 needed).";
  showWarning();
  showSentence();
}"""


# Texts that hold an interval, of which a part is on another line.
BROKEN = """places => places.flatMap((place) => {
  const texts = document.createTreeWalker(place, NodeFilter.SHOW_TEXT);
  const found = [];
  while (texts.nextNode()) for (const { index, 0: text } of texts.currentNode.data.matchAll(
    /([^ ]+ )?\\[[^ ]+, [^ ]+\\]/g)) {
    const range = document.createRange();
    range.setStart(texts.currentNode, index);
    range.setEnd(texts.currentNode, index + text.length);
    if (new Set([...range.getClientRects()].map(({ top }) => top)).size > 1) found.push(text);
  }
  return found;
})"""


def test_first_screen_asks_answers_and_shows_a_turn_of_each_kind(tab: Any, uri: str) -> None:
    tab.goto(uri)
    tab.wait_for_selector(".example >> nth=1")
    told = [tab.locator(".example").nth(i).inner_text() for i in (0, 1)]
    assert "Accepted, unchecked" in told[0]
    assert "Genuine follow-up" in told[0]
    assert "Rejected, unchecked" in told[1]
    assert all("Question" in text and "heuristic says why" in text for text in told)
    about = tab.locator("#about").inner_text()
    assert about.startswith("A made-up study · begun 2026-11-27 · 2 models (a-1b, b-7b) · ")
    assert tab.title() == "A made-up study · userturn report"
    tab.evaluate(HELD_AGAINST)
    parts = [tab.locator(f"#values {part}").all_inner_texts() for part in ("dt", "dd")]
    values = dict(zip(*parts, strict=True))
    said = tab.locator("#sentence").inner_text()
    assert said.startswith("Corrected by people's labels, 3.0% [1.0, 9.0] of qwen3.5-122b-a10b's ")
    assert values == {
        "Copies": "44% each",
        "Answers cut": "67% each",
        "By chance": "1.0% to 2.0%",
        "Ceiling": "90.0% [80.0, 95.0]",
        "Judge's kappa": "0.70 [0.60, 0.80]",
        "Follow-ups identified": "50.0% [40.0, 60.0]",
    }
    for width, height in ((1280, 800), (1440, 900), (390, 844)):
        tab.set_viewport_size({"width": width, "height": height})
        parts = tab.locator(".example, #warning, #sentence, #values dd").all()
        ends = [(box := part.bounding_box())["y"] + box["height"] for part in parts]
        assert len(ends) == 10 and max(ends) <= height, "rates and both turns are on the screen"
        wide = tab.evaluate("document.documentElement.scrollWidth")
        assert wide <= width, "the first screen ends at the edge of the window"
    tab.evaluate("showWorth()")
    parts = "#sentence, #values, #bearings, #worth, #models"
    broken = tab.locator(parts).evaluate_all(BROKEN)
    assert broken == [], "an interval stays with its estimate"
    tab.locator(".example .turn").evaluate_all(
        "turns => { for (const turn of turns) turn.textContent = 'so '.repeat(99); }"
    )
    last = tab.locator(".example").last.bounding_box()
    assert last["y"] + last["height"] <= height, "a phone cuts long turns, not their card"
    tab.click(".example a >> nth=0")
    tab.wait_for_selector("#turn-text")
    assert tab.noted == []


VIEWS = (
    "grid",
    "sides",
    "search",
    "differ",
    "likelihood?list=1",
    f"cell/{CELL}",
    f"turn/{CELL}/open-6/0",
)


def open_everything(page: Any) -> None:
    """Draw all charts of the report, and open its menus and tables."""
    page.wait_for_selector(".example")
    for figure in page.locator("#figures figure").all():
        figure.scroll_into_view_if_needed()
    page.wait_for_function(
        "() => document.querySelectorAll('.chart svg').length === study.charts.length"
    )
    page.evaluate(
        "for (const part of document.querySelectorAll('#report details')) part.open = true"
    )
    page.wait_for_function("() => !document.querySelector('#tables .state')")


@pytest.mark.parametrize(
    ("width", "scheme"), [(1280, "light"), pytest.param(390, "dark", marks=pytest.mark.long)]
)
def test_axe_core_finds_no_violation_in_any_view_wide_and_light_or_narrow_and_dark(
    browser: Any, whole: str, width: int, scheme: str
) -> None:
    """Contrast depends on the scheme, all else on the width: other pairs found nothing more."""
    context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 900})
    page = context.new_page()
    page.goto(whole)
    open_everything(page)
    found = violations(page, "first")
    for view in VIEWS:
        go_to(page, f"{whole}#/{view}")
        found += violations(page, view)
    context.close()
    assert found == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_core_finds_no_violation_in_the_pages_of_an_audit_and_of_two_studies(
    browser: Any, scheme: str
) -> None:
    context = browser.new_context(color_scheme=scheme)
    page = context.new_page()
    found = []
    for name, html in {"audit": AUDIT_PAGE, "two studies": COMPARISON_PAGE}.items():
        page.set_content(html)
        page.evaluate("for (const part of document.querySelectorAll('details')) part.open = true")
        for width in (1280, 390):
            page.set_viewport_size({"width": width, "height": 900})
            found += violations(page, f"{name}, {width}")
    context.close()
    assert found == []


def test_square_of_the_confusion_figure_opens_the_turns_with_its_labels(
    tab: Any, grid: Grid, whole: str
) -> None:
    by_judge = rows_of(grid, PEOPLES_CELL)[:N_LABELLED]
    n = by_judge.filter(pl.col("label") == PAIR[1]).height
    assert n > 0
    tab.goto(whole)
    tab.locator("#figure-confusion").scroll_into_view_if_needed()
    people, label = map(label_name, PAIR)
    told = f"judge: heuristic; people: {people}; label: {label}; turns: 3"
    tab.locator(f"#figure-confusion [role=link][aria-label^='{told}']").click(force=True)
    tab.get_by_text("Done.").wait_for()
    assert tab.locator(".turn-row").count() == n
    assert tab.noted == []


def test_each_token_of_a_human_follow_up_says_how_much_its_answer_helped(
    tab: Any, uri: str
) -> None:
    tab.goto(f"{uri}#/likelihood?list=1")
    tab.wait_for_selector(".follow-ups li")
    tokens = tab.locator(".follow-ups li >> nth=0").locator(".tokens span")
    assert tokens.all_text_contents() == ["So", " far", show_codes(HOSTILE[0])]
    # The scores of made_up_scores.py: after the own answer less after the others, in nats.
    titles = [tokens.nth(i).get_attribute("title")[:5] for i in range(3)]
    assert titles == ["+2.50", "−0.75", "+0.05"]
    classes = [tokens.nth(i).get_attribute("class") for i in range(3)]
    assert classes == ["helped by-3", "misled by-2", None]
    line_end = tab.locator(".follow-ups li").nth(len(HOSTILE)).locator(".tokens span").nth(2)
    assert line_end.get_attribute("class") == "line-end"  # whose mark would have no width
    tab.locator("summary", has_text="Log-likelihood").first.click()
    tab.wait_for_selector(".numbers tbody td")
    numbers = tab.locator(".numbers tbody tr >> nth=0")
    assert numbers.locator("td").all_text_contents() == ["So", "−1.00", "−3.50", "+2.50"]
    assert tab.evaluate("[window.hit, Object.prototype.polluted]") == [None, None]
    assert tab.noted == []


def test_private_follow_ups_are_counted_and_not_shown(tab: Any, uri: str) -> None:
    tab.goto(f"{uri}#/likelihood?list=0")
    tab.get_by_text("follow-ups. Not shown: private dataset.").wait_for()
    assert tab.locator(".follow-ups li").count() == 0


def test_turns_on_which_likelihood_and_judge_disagree_are_listed(
    tab: Any, grid: Grid, uri: str
) -> None:
    """The gains of a cell's first eight turns are 0, 0.1 ... 0.7: its highest quarter has two."""
    genuine = rows_of(grid, "a-1b/open/t0/none")["label"][:8].to_list()
    high = [f"open-{i}" for i in (6, 7) if genuine[i] not in (None, "genuine_followup")]
    tab.goto(f"{uri}#/cell/a-1b/open/t0/none?gain=high")
    listed(tab, len(high))
    shown = tab.locator(".turn-row .where").all_inner_texts()
    assert [text.split()[0] for text in shown] == high
    gains = [f"gain +{GAIN * int(item[-1]):.2f}" for item in high]
    assert all(gain in text for text, gain in zip(shown, gains, strict=True))


def test_what_a_study_lacks_is_said(tab: Any, grid: Grid, uri: str, tmp_path: Path) -> None:
    page = build(Grid(grid.config, grid.results), paths_to_tables=[], paths_to_figures=[])
    tab.goto(page.as_uri())
    text = tab.inner_text("main")
    build(grid)
    assert "The table of pooled rates is missing" in text
    assert "This study has no figures." in text
    assert "Tables that this study does not have: Follow-up rates over all datasets" in text
    assert tab.noted == []


@contextmanager
def without_data(grid: Grid, files: str) -> Iterator[None]:
    """Take some of the report's data files away, and bring them back."""
    lost = list((grid.results / "report" / "data").glob(files))
    kept = [file.rename(file.with_suffix(".kept")) for file in lost]
    yield
    for place, file in zip(lost, kept, strict=True):
        file.rename(place)


def test_unknown_addresses_and_lost_data_are_named(tab: Any, uri: str, grid: Grid) -> None:
    for route in ("cell/no/such/t0/cell", "turn/a-1b", "nothing", "%E0%A4%A"):
        tab.goto(f"{uri}#/{route}")
        tab.get_by_text("Not here").wait_for()
    tab.goto(f"{uri}#/turn/{CELL}/no-such-item/0")
    tab.get_by_text("This cell has no item “no-such-item”").wait_for()
    with without_data(grid, "cell-0-0.js"):
        tab.goto(f"{uri}#/cell/a-1b/healthbench/t0/header_only")
        tab.get_by_text("data/cell-0-0.js could not be read").wait_for()
    with without_data(grid, "prompts-*.js"):
        tab.goto(f"{uri}#/cell/{CELL}")
        tab.click("summary:has-text('Preview') >> nth=0")
        tab.locator(".preview .notice").get_by_text("could not be read").wait_for()


def test_phone_shows_every_view_without_scrolling_sideways(
    browser: Any, uri: str, whole: str
) -> None:
    phone = browser.new_context(viewport={"width": 360, "height": 740}, is_mobile=True).new_page()
    of_cell = (f"cell/{CELL}", f"turn/{CELL}/open-6/0", f"turn/{CELL}/open-9/0")
    views = ("", "grid", "sides?dataset=open", "search", "differ", "likelihood?list=1", *of_cell)
    for route in views:
        go_to(phone, f"{uri}#/{route}")
        phone.evaluate("for (const part of document.querySelectorAll('details')) part.open = true")
        if route.startswith("likelihood"):
            phone.wait_for_selector(".follow-ups .numbers")
        assert phone.evaluate("document.documentElement.scrollWidth") <= 360, route
    phone.goto(f"{whole}#/?dataset=open")
    made = phone.locator("#made .scroll")
    assert made.evaluate("place => place.scrollWidth <= place.clientWidth"), "details are read"
    name = phone.locator("#models tbody th").first
    assert name.evaluate("th => th.clientWidth") >= 100, "a model's name is not one letter wide"
    phone.locator("#figure-confusion").scroll_into_view_if_needed()
    drawn_and_fitted = phone.locator("#figure-confusion [role=link]").first
    drawn_and_fitted.wait_for(state="attached")
    squares = "r => r.map(s => s.getBoundingClientRect().width)"
    widths = phone.locator("#figure-confusion .chart .mark-rect path").evaluate_all(squares)
    assert min(widths) >= 20, "numbers have room in their squares"
    phone.context.close()


@pytest.mark.parametrize("width", [390, 820])
def test_what_is_chosen_in_a_list_of_choices_is_read_whole(tab: Any, uri: str, width: int) -> None:
    tab.set_viewport_size({"width": width, "height": 900})
    for route in ("grid", "sides", "search", "differ", f"cell/{CELL}"):
        go_to(tab, f"{uri}#/{route}")
        assert tab.locator("select:visible").evaluate_all(CUT) == [], route


CUT = """choices => {
  const pen = document.createElement("canvas").getContext("2d");
  return choices.filter((choice) => {
    const { font, paddingLeft, paddingRight } = getComputedStyle(choice);
    pen.font = font;
    const room = choice.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight);
    return pen.measureText(choice.selectedOptions[0].text).width > room;
  }).map((choice) => choice.selectedOptions[0].text);
}"""


def test_page_of_two_studies_is_no_wider_than_paper(tab: Any) -> None:
    tab.set_viewport_size({"width": 718, "height": 1000})  # A4
    tab.emulate_media(media="print")
    tab.set_content(COMPARISON_PAGE)
    assert tab.locator("table").evaluate_all("tables => tables.map(t => t.clientWidth > 718)") == [
        False
    ], "the last columns are on the paper"


def test_figure_without_data_is_headed_by_its_title(
    tab: Any, grid: Grid, uri: str, tmp_path: Path
) -> None:
    empty = confusion_figure(pl.DataFrame(schema=CONFUSION), [])
    save(
        empty, "made by a test", [str(tmp_path / f"confusion{end}") for end in (".vl.json", ".svg")]
    )
    page = build(grid, "empty", paths_to_figures=[str(tmp_path / "confusion.svg")])
    tab.goto(page.as_uri())
    tab.click("#figures .folded > summary:has-text('1 figure without data')")
    heading = tab.locator("#figure-confusion h3")
    assert heading.inner_text().strip() == "Labels of people and of judges"
    heading.scroll_into_view_if_needed()
    tab.get_by_text("no annotations yet: see docs/annotation.md").wait_for()
    assert heading.inner_text().strip() == "Labels of people and of judges"
    assert tab.noted == []


def test_numbers_of_a_table_have_the_decimals_of_their_limits_and_kappa_is_no_share(
    tab: Any, uri: str
) -> None:
    tab.goto(uri)
    told = tab.evaluate(
        """() => [["number", -0.000331, -0.06, 0.05], ["number", 0.32, 0.28, 0.35],
        ["number", 0.00114, -0.002, 0.004], ["number", -0.5, null, null],
        ["interval", -0.1, -0.2, 0.004], ["share or kappa", 0.755, 0.676, 0.814, "kappa"],
        ["share or kappa", 0.755, 0.676, 0.814, "sensitivity"]].map(([kind, ...values]) =>
          make("td", null, KINDS[kind](values)).innerText)"""
    )
    assert told == [
        "0.00[−0.06, 0.05]",
        "0.32[0.28, 0.35]",
        "0.0011[−0.0020, 0.0040]",  # 0.006 wide: 1 + 2.2, so four decimals
        "−0.5",
        "[−0.20, 0.00]estimate −0.10",
        "0.76[0.68, 0.81]",
        "75.5%[67.6, 81.4]",
    ]


def test_first_sentence_names_the_models_in_another_format_that_it_leaves_out(
    tab: Any, uri: str
) -> None:
    tab.goto(uri)
    tab.wait_for_selector(".example")
    assert "another prompt format" not in tab.inner_text("#sentence")
    tab.evaluate(
        """() => { const row = { model: "a-1b", accuracy: null, followup: null,
            rates: [{ temperature: 0, estimate: 0.1, lower: 0, upper: 0.2 }] };
          study.models = ["a-1b", "a-1b+no_system"];
          headline.models = [row, { ...row, model: "a-1b+no_system" }]; showSentence(); }"""
    )
    said = tab.inner_text("#sentence")
    assert "10.0% [0.0, 20.0] of a-1b's turns" in said
    assert said.endswith("In the table alone: a-1b+no_system, in another prompt format.")


SHOWN = """() => [...document.querySelectorAll("#sentence, #counts, #models, #tables tbody")]
  .map((part) => part.innerText).concat([...document.querySelectorAll(".chart [role=link]")]
  .map((mark) => mark.getAttribute("aria-label")))"""


def test_page_is_the_same_after_a_choice_in_any_order_and_after_detours(tab: Any, uri: str) -> None:
    clicks = [("model", "b-7b"), ("dataset", "open"), ("temperature", "1"), ("judge", "second")]
    shown = []
    for seed in range(4):
        order = Random(seed).sample(clicks, len(clicks))
        detour = Random(seed).choice(order)
        draw_chart(tab, uri)
        tab.evaluate("document.querySelector('#table-rates-4').open = true")
        for _, name in [*order, detour, detour]:
            tab.evaluate(
                "(value) => document.querySelector(value).click()", f"#filter [value='{name}']"
            )
        wanted = "#/?model=b-7b&dataset=open&temperature=1&judge=second"
        tab.wait_for_function("(wanted) => location.hash === wanted", arg=wanted)
        tab.get_by_text("3 of 3 rows that match, of 48").wait_for()
        tab.evaluate("Promise.all(drawn.values())")
        tab.wait_for_function("() => document.querySelectorAll('.chart [role=link]').length === 3")
        shown.append(tab.evaluate(SHOWN))
    assert shown[1:] == shown[:1] * 3
    assert "of b-7b's turns in open" in shown[0][0]

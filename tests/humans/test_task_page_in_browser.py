"""The annotation page in a real browser: hostile turns, keys, resume, export, many turns."""

import csv
import io
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.support.browser import ARABIC, needs_chromium, reads, violations
from tests.support.paired_study import pair_key, paired_of, people_of, turns_of
from tests.support.snakemake_runs import ROOT
from userturn.humans.import_labels import import_pairs
from userturn.humans.label_files import read_file
from userturn.humans.pairs import SIDES, shown_pairs
from userturn.humans.rounds import ITEMS_SCHEMA
from userturn.humans.task_page import PracticeTurn, page, pair_page, practice_turns
from userturn.judges.rubric import read_rubric
from userturn.wording import label_name

pytestmark = [pytest.mark.slow, needs_chromium]
HOSTILE = [
    "</script><script>window.hit = 1</script>",
    "<img src=x onerror='window.hit = 2'><svg onload='window.hit = 3'>",
    "<style>body { display: none }</style><link rel=stylesheet href=//x.invalid>",
    "--></textarea></div><iframe src='javascript:parent.hit = 4'></iframe>",
    "\u202egnp.exe \u2066x\u2069 \u05d0\u05d1 abc",
    "x" * 20000,
    "'\"`${window.hit = 5}\\u003cscript\\u003e {{data}} \u2028 \U0001f600",
]

RUBRIC = read_rubric(ROOT / "data/rubric_2.yaml")
LABELS = list(RUBRIC.labels)


def write_page(
    folder: Path, turns: list[str], practice: Sequence[PracticeTurn] = (), round_name: str = "first"
) -> str:
    rows = [
        {
            "id": f"{number:016x}",
            "conversation": [{"role": "user", "text": turn}, {"role": "assistant", "text": turn}],
            "turn": turn,
        }
        for number, turn in enumerate(turns)
    ]
    html = page(round_name, pl.DataFrame(rows, schema=ITEMS_SCHEMA), RUBRIC, practice)
    path = folder / "task.html"
    path.write_text(html, encoding="utf-8")
    return path.as_uri()


@pytest.fixture
def tab(browser: Any) -> Iterator[Any]:
    """A tab of its own that notes every request and every error."""
    context = browser.new_context(accept_downloads=True)
    opened = context.new_page()
    opened.noted = []
    opened.on("request", lambda request: opened.noted.append(request.url))
    opened.on("console", lambda message: opened.noted.append(message.text))
    opened.on("pageerror", lambda error: opened.noted.append(str(error)))
    yield opened
    context.close()


def begin(tab: Any, uri: str, name: str = "Ann") -> None:
    tab.goto(uri)
    if tab.is_visible("#who"):  # not after a reload
        tab.fill("#annotator", name)
        tab.click("#start")
    if tab.is_visible("#help"):
        tab.click("#close-help")


def save(tab: Any, kind: str, name: str = "Ann") -> str:
    if not tab.is_visible("#file"):
        tab.click("#open-file")
    with tab.expect_download() as download:
        tab.click(f"#save-{kind}")
    tab.click("#close-file")
    assert download.value.suggested_filename == f"first-{name.lower()}.{kind}"
    return Path(download.value.path()).read_text("utf-8")


def test_hostile_turns_are_text_and_do_nothing(tab: Any, tmp_path: Path) -> None:
    uri = write_page(tmp_path, HOSTILE)
    begin(tab, uri)
    for turn in HOSTILE:
        assert tab.evaluate("document.getElementById('turn').textContent") == turn
        assert tab.locator(".message .text").all_text_contents() == [turn, turn]
        assert tab.is_visible("#labels")
        width = tab.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        assert width <= 0, "a turn makes the page wider than the window"
        tab.keyboard.press("ArrowRight")
    assert tab.evaluate("window.hit") is None
    assert tab.noted == [uri]


def test_a_turn_in_arabic_is_read_from_the_right_beside_english_labels(
    tab: Any, tmp_path: Path
) -> None:
    begin(tab, write_page(tmp_path, [ARABIC, "An English turn"]))
    assert [reads(tab, part) for part in ("#turn", ".message .text")] == ["rtl", "rtl"]
    english = ("#turn-heading", ".message h2", "#labels .name", "#labels .criterion")
    assert [reads(tab, part) for part in english] == ["ltr"] * 4
    tab.fill("#notes", ARABIC)
    assert tab.evaluate("getComputedStyle(document.getElementById('notes')).direction") == "rtl"
    tab.keyboard.press("Escape")
    tab.keyboard.press("ArrowRight")
    assert reads(tab, "#turn") == "ltr"


def test_phone_says_that_a_turn_goes_on_below_the_labels_until_all_of_it_was_scrolled_to(
    browser: Any, tmp_path: Path
) -> None:
    uri = write_page(tmp_path, ["short", "a long turn " * 300])
    phone = browser.new_context(viewport={"width": 390, "height": 844}, is_mobile=True).new_page()
    begin(phone, uri)
    assert phone.is_hidden("#covered")
    phone.click("#forward")
    assert phone.is_visible("#covered")
    bottoms = "document.querySelector('#turn').scrollIntoView({ block: 'end' })"
    phone.evaluate(bottoms)
    phone.mouse.wheel(0, 5000)
    phone.locator("#covered").wait_for(state="hidden")
    ends = [phone.locator(part).bounding_box() for part in (".turn >> nth=0", "fieldset >> nth=0")]
    assert ends[0]["y"] + ends[0]["height"] <= ends[1]["y"], "nothing is below the labels"
    phone.set_viewport_size({"width": 844, "height": 390})
    sticks = "part => getComputedStyle(part).position"
    assert phone.locator("fieldset >> nth=0").evaluate(sticks) == "static", "a low screen has room"
    phone.context.close()


def test_injected_script_would_be_refused_by_the_policy(tab: Any, tmp_path: Path) -> None:
    begin(tab, write_page(tmp_path, ["turn"]))
    tab.evaluate(
        "document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.hit = 1\">')"
    )
    tab.evaluate("document.images[0].decode().catch(() => null)")
    assert tab.evaluate("window.hit") is None
    assert any("Content Security Policy" in line for line in tab.noted)


def test_each_key_that_the_guide_names_does_what_it_says(tab: Any, tmp_path: Path) -> None:
    begin(tab, write_page(tmp_path, ["one", "two", "three"]))
    named = ["1", "7", "s", "u", "←", "→", "o", "n", "Esc", "?"]
    assert tab.locator("#help dl kbd").all_text_contents() == named
    tab.keyboard.press("?")
    assert tab.is_visible("#help")
    tab.keyboard.press("Escape")
    assert not tab.is_visible("#help")
    tab.keyboard.press("s")
    assert tab.is_checked("#unsure")
    tab.keyboard.press("4")
    assert tab.inner_text("#turn") == "two"
    tab.keyboard.press("n")
    tab.keyboard.type("a note with 1 digit")
    tab.keyboard.press("Escape")
    tab.keyboard.press("1")
    assert tab.inner_text("#count") == "2 of 3 labelled"
    tab.keyboard.press("u")
    assert tab.inner_text("#count") == "1 of 3 labelled"
    assert tab.input_value("#notes") == "a note with 1 digit"
    tab.keyboard.press("ArrowLeft")
    assert tab.get_attribute("#labels button:nth-child(4)", "aria-pressed") == "true"
    tab.keyboard.press("o")
    assert tab.inner_text("#turn") == "two"
    tab.keyboard.press("ArrowRight")
    assert tab.inner_text("#turn") == "three"
    tab.keyboard.press("6")
    tab.keyboard.press("ArrowRight")
    assert tab.get_attribute("#labels button:nth-child(6)", "aria-pressed") == "true"


def test_undo_goes_back_change_by_change(tab: Any, tmp_path: Path) -> None:
    begin(tab, write_page(tmp_path, ["one", "two", "three", "four"]))
    for key in "123":
        tab.keyboard.press(key)
    for n_left, turn in ((2, "three"), (1, "two"), (0, "one")):
        tab.keyboard.press("u")
        assert tab.inner_text("#count") == f"{n_left} of 4 labelled"
        assert tab.inner_text("#turn") == turn


def test_work_is_there_after_closing_and_opening_the_page(tab: Any, tmp_path: Path) -> None:
    uri = write_page(tmp_path, ["one", "two", "three"])
    begin(tab, uri)
    for key in "23":
        tab.keyboard.press(key)
    again = tab.context.new_page()
    tab.close()
    again.goto(uri)
    for _ in range(20):  # a browser that is busy may be slow to tell what it keeps
        if again.input_value("#annotator") == "Ann":
            break
        again.reload()
    assert again.input_value("#annotator") == "Ann"
    again.click("#start")
    assert again.inner_text("#count") == "2 of 3 labelled"
    assert again.inner_text("#turn") == "three"
    assert not again.is_visible("#help")


def test_export_is_what_the_import_reads(tab: Any, tmp_path: Path) -> None:
    begin(tab, write_page(tmp_path, ["one", "two", "three"]))
    tab.keyboard.press("1")
    tab.keyboard.press("n")
    tab.keyboard.type('=1+1, "quoted"\nsecond line')
    tab.keyboard.press("Escape")
    for key in "2s6":
        tab.keyboard.press(key)
    assert tab.is_visible("#file"), "the page says when all is done"
    written = {kind: tmp_path / f"ann.{kind}" for kind in ("csv", "json")}
    for kind, path in written.items():
        path.write_text(save(tab, kind), "utf-8")
    rows = {kind: [row[1:] for row in read_file(path).rows] for kind, path in written.items()}
    assert [row[5] for row in rows["csv"]] == [False, False, True]
    assert all(0 <= row[6] < 60 for row in rows["csv"])
    assert rows["csv"] == rows["json"]
    assert [row[3] for row in rows["csv"]] == [LABELS[0], LABELS[1], LABELS[5]]
    assert rows["csv"][1][4] == '=1+1, "quoted"\nsecond line'
    assert list(csv.reader(io.StringIO(written["csv"].read_text())))[2][4].startswith("'=1+1")
    assert next(csv.reader(io.StringIO(written["csv"].read_text()))) == [
        "round", "annotator", "id", "label", "notes", "unsure", "seconds",
    ]  # fmt: skip


def test_pairs_are_labelled_by_keys_kept_and_imported(tab: Any, tmp_path: Path) -> None:
    turns = turns_of(4).with_columns(text=pl.Series([HOSTILE[0], ARABIC, "one\ntwo", "x" * 9000]))
    key = pair_key(paired_of(turns, n=4), 4, round_name="first")
    path = tmp_path / "task.html"
    path.write_text(pair_page("first", shown_pairs(key, turns, people_of(4), [])), "utf-8")
    begin(tab, path.as_uri())
    assert tab.inner_text("#question") == "Written by a person in pair 1 of 4"
    for pressed, side in zip("12", SIDES, strict=True):
        both = tab.locator(".shown").all_text_contents()
        widths = tab.eval_on_selector_all(".pair .turn", "all => all.map((e) => e.offsetWidth)")
        heights = tab.eval_on_selector_all(".pair .turn", "all => all.map((e) => e.offsetHeight)")
        assert len(set(widths)) == len(set(heights)) == 1, "a box is larger than the other"
        assert [text.startswith("What a person wrote") for text in both].count(True) == 1
        tab.keyboard.press(pressed)
        tab.keyboard.press("ArrowLeft")
        assert tab.locator("#labels [aria-pressed=true]").get_attribute("value") == side
        tab.keyboard.press("ArrowRight")
    begin(tab, path.as_uri())  # after a reload
    assert tab.inner_text("#count") == "2 of 4 labelled"
    for pressed in "3s1o2":  # there is no third turn
        tab.keyboard.press(pressed)
    assert tab.inner_text("#state") == "All pairs are labelled."
    csv_file, key_file, out = (
        tmp_path / name for name in ("ann.csv", "key.parquet", "out.parquet")
    )
    csv_file.write_text(save(tab, "csv"), "utf-8")
    key.write_parquet(key_file)
    import_pairs("first", False, "identity", [str(csv_file)], str(key_file), str(out))
    labels = pl.read_parquet(out).sort("id")
    assert labels["label"].to_list() == ["first", "second", "first", "second"]
    assert labels["unsure"].to_list() == [False, False, True, False]
    assert tab.evaluate("window.hit") is None


def test_practice_says_the_known_label_and_is_in_no_file(tab: Any, tmp_path: Path) -> None:
    practice = practice_turns(ROOT / "data/labelled/turns.jsonl", LABELS)
    begin(tab, write_page(tmp_path, ["one", "two"], practice))
    keys = [str(1 + LABELS.index(turn["label"])) for turn in practice]
    tab.wait_for_selector("#practice", state="visible")  # it opens after the dialog before it
    tab.keyboard.press("6" if keys[0] != "6" else "1")
    known = label_name(LABELS[int(keys[0]) - 1])
    assert f"the known label is “{known}”." in tab.inner_text("#feedback")
    for place, key in enumerate(keys[1:], start=2):
        tab.keyboard.press("Enter")
        assert f"turn {place} of 10" in tab.inner_text("#practice-heading")
        tab.keyboard.press(key)
        assert tab.inner_text("#feedback").startswith("Yes:")
    assert "the known label in 9 of 10" in tab.inner_text("#feedback")
    tab.keyboard.press("Enter")
    assert not tab.is_visible("#practice")
    assert tab.inner_text("#count") == "0 of 2 labelled"
    tab.keyboard.press("4")
    (row,) = json.loads(save(tab, "json"))["annotations"]
    assert (row["id"], row["label"]) == (f"{0:016x}", LABELS[3])


def test_practice_is_offered_once_and_can_be_ended(tab: Any, tmp_path: Path) -> None:
    practice = practice_turns(ROOT / "data/labelled/turns.jsonl", LABELS)
    begin(tab, write_page(tmp_path, ["one", "two"], practice))
    tab.click("#practice-end")
    tab.keyboard.press("?")
    tab.click("#close-help")
    assert not tab.is_visible("#practice")
    tab.keyboard.press("?")
    tab.click("#open-practice")
    assert tab.is_visible("#practice")


def test_seconds_are_those_for_which_a_turn_was_to_be_seen(tab: Any, tmp_path: Path) -> None:
    def look(milliseconds: int) -> None:
        tab.wait_for_function("() => since !== null")  # the event that a dialog was closed has come
        tab.clock.run_for(milliseconds)

    tab.clock.install(time=0)
    tab.clock.pause_at(1000)
    begin(tab, write_page(tmp_path, ["one", "two"]))
    look(3000)
    tab.keyboard.press("?")
    tab.clock.run_for(60_000)  # the guide covers the turn
    tab.click("#close-help")
    look(2000)
    tab.keyboard.press("1")
    look(7000)
    tab.keyboard.press("2")
    tab.clock.run_for(500)  # all are labelled: the dialog to save covers the turn
    tab.click("#close-file")
    tab.keyboard.press("ArrowLeft")
    look(1500)
    tab.keyboard.press("3")
    rows = json.loads(save(tab, "json"))["annotations"]
    assert [row["seconds"] for row in rows] == [3 + 2 + 1.5, 7]


def test_nothing_is_labelled_without_a_name(tab: Any, tmp_path: Path) -> None:
    tab.goto(write_page(tmp_path, ["one"]))
    for name in ("", "   "):
        tab.fill("#annotator", name)
        tab.click("#start")
        tab.keyboard.press("Escape")
        tab.keyboard.press("Escape")
        tab.locator("#who").wait_for()
    tab.keyboard.press("1")
    assert tab.inner_text("#count") == "0 of 1 labelled"


def test_next_person_begins_without_labels_and_the_first_finds_their_own_again(
    tab: Any, tmp_path: Path
) -> None:
    begin(tab, write_page(tmp_path, ["one", "two"]))
    tab.keyboard.press("3")
    tab.click("#open-file")
    tab.click("#another")
    assert tab.input_value("#annotator") == ""
    tab.fill("#annotator", "Bea")
    tab.click("#start")
    tab.click("#close-help")
    assert tab.inner_text("#count") == "0 of 2 labelled"
    assert tab.inner_text("#turn") == "one"
    assert tab.locator("#labels [aria-pressed=true]").count() == 0
    tab.keyboard.press("1")
    assert [r["label"] for r in json.loads(save(tab, "json", "Bea"))["annotations"]] == [LABELS[0]]
    tab.click("#open-file")
    tab.click("#another")
    tab.fill("#annotator", "Ann")
    tab.click("#start")
    assert [r["label"] for r in json.loads(save(tab, "json"))["annotations"]] == [LABELS[2]]


def test_two_tabs_keep_the_labels_of_both(tab: Any, tmp_path: Path) -> None:
    uri = write_page(tmp_path, ["one", "two", "three", "four"])
    begin(tab, uri)
    other = tab.context.new_page()
    begin(other, uri)
    for key in "12":
        tab.keyboard.press(key)
    for key in ("ArrowRight", "ArrowRight", "3"):
        other.keyboard.press(key)
    tab.keyboard.press("n")
    tab.keyboard.type("of the first tab")
    other.get_by_text("3 of 4 labelled").wait_for()
    labels = {row["id"][-1]: row["label"] for row in json.loads(save(other, "json"))["annotations"]}
    assert labels == {"0": LABELS[0], "1": LABELS[1], "2": LABELS[2]}
    tab.get_by_text("3 of 4 labelled").wait_for()  # without a reload
    begin(tab, uri)
    tab.get_by_text("3 of 4 labelled").wait_for()
    notes = [row["notes"] for row in json.loads(save(tab, "json"))["annotations"]]
    assert notes == ["", "", "of the first tab"]


def test_browser_that_keeps_nothing_is_told_before_the_first_label_and_asked_about_when_left(
    tab: Any, tmp_path: Path
) -> None:
    tab.add_init_script(
        "Object.defineProperty(window, 'localStorage', { get() { throw new DOMException('no'); } })"
    )
    tab.goto(write_page(tmp_path, ["one", "two"]))
    told = "This browser cannot keep your work: save it as a file before you close the page."
    assert tab.inner_text("#where-kept") == told
    tab.fill("#annotator", "Ann")
    tab.click("#start")
    tab.click("#close-help")
    assert tab.inner_text("#notice") == told
    tab.keyboard.press("1")
    asked: list[str] = []
    tab.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.accept()))
    save(tab, "json")
    tab.reload()
    assert asked == [], "a file keeps it"
    tab.fill("#annotator", "Ann")
    tab.click("#start")
    tab.click("#close-help")
    tab.keyboard.press("2")
    tab.reload()
    assert asked == ["beforeunload"]


def test_label_that_another_tab_overwrote_with_older_work_comes_back(
    tab: Any, tmp_path: Path
) -> None:
    begin(tab, write_page(tmp_path, ["one", "two", "three"]))
    tab.keyboard.press("1")
    older = tab.evaluate("localStorage.getItem(place)")
    tab.keyboard.press("2")
    # What a tab does that has not yet heard of the second label.
    tab.evaluate("older => localStorage.setItem(place, older)", older)
    tab.evaluate("window.dispatchEvent(new StorageEvent('storage'))")
    assert tab.inner_text("#count") == "2 of 3 labelled"
    assert (
        len(json.loads(tab.evaluate("localStorage.getItem(place)"))["people"]["Ann"]["labels"]) == 2
    )
    tab.keyboard.press("u")
    assert tab.inner_text("#count") == "1 of 3 labelled"


def test_label_of_one_tab_and_note_of_another_on_the_same_turn_are_both_kept(
    tab: Any, tmp_path: Path
) -> None:
    begin(tab, write_page(tmp_path, ["one", "two"]))
    tab.keyboard.press("n")
    tab.keyboard.type("a note")
    # What a tab wrote that labelled the turn before, and that has not yet heard of the note.
    tab.evaluate(
        """() => { const all = JSON.parse(localStorage.getItem(place)), mine = all.people.Ann;
        Object.assign(mine, { notes: {}, labels: { [ids[0]]: names[3] },
        changedAt: { [`${ids[0]} labels`]: 1 } });
        localStorage.setItem(place, JSON.stringify(all));
        window.dispatchEvent(new StorageEvent('storage')); }"""
    )
    (row,) = json.loads(save(tab, "json"))["annotations"]
    assert (row["label"], row["notes"]) == (LABELS[3], "a note")


def test_held_key_labels_one_turn(tab: Any, tmp_path: Path) -> None:
    begin(tab, write_page(tmp_path, ["one", "two", "three", "four"]))
    for _ in range(8):
        tab.keyboard.down("1")
    tab.keyboard.up("1")
    assert tab.inner_text("#count") == "1 of 4 labelled"
    tab.keyboard.down("1")
    assert tab.inner_text("#count") == "2 of 4 labelled"


def test_work_that_an_older_page_kept_is_found(tab: Any, tmp_path: Path) -> None:
    uri = write_page(tmp_path, ["one", "two"])
    tab.goto(uri)
    old = {"annotator": "Ann", "position": 1, "labels": {f"{0:016x}": LABELS[4]}, "notes": {}}
    tab.evaluate(
        "([place, old]) => localStorage.setItem(place, JSON.stringify(old))",
        [tab.evaluate("place"), old],
    )
    tab.goto(uri)
    tab.wait_for_function(
        "() => localStorage.getItem(place) !== null"
    )  # a browser may be slow to tell
    begin(tab, uri)
    assert tab.inner_text("#count") == "1 of 2 labelled"
    assert json.loads(save(tab, "json"))["annotations"][0]["label"] == LABELS[4]


def test_saved_work_is_loaded_on_another_machine(browser: Any, tab: Any, tmp_path: Path) -> None:
    uri = write_page(tmp_path, ["one", "two"])
    begin(tab, uri)
    tab.keyboard.press("3")
    file = tmp_path / "saved.json"
    file.write_text(save(tab, "json"), "utf-8")
    elsewhere = browser.new_context().new_page()
    begin(elsewhere, uri)
    elsewhere.click("#open-file")
    elsewhere.set_input_files("#load", file)
    elsewhere.get_by_text("1 label loaded, 0 left out.").wait_for()
    elsewhere.evaluate("change(ids[0], 'labels', names[4])")
    elsewhere.set_input_files("#load", file)
    elsewhere.get_by_text("1 label replaced yours: Undo brings each of yours back.").wait_for()
    assert elsewhere.evaluate("undo() || state.labels[ids[0]] === names[4]")
    file.write_text(json.dumps(json.loads(file.read_text()) | {"annotator": "Bea"}))
    elsewhere.set_input_files("#load", file)
    elsewhere.get_by_text("That file has the labels of Bea").wait_for()
    file.write_text(json.dumps({"round": "other", "annotations": []}))
    elsewhere.set_input_files("#load", file)
    elsewhere.get_by_text("That file is of round other").wait_for()
    elsewhere.context.close()


def test_two_thousand_turns_open_and_are_labelled(tab: Any, tmp_path: Path) -> None:
    begin(tab, write_page(tmp_path, [f"Turn {n}. " + "word " * 500 for n in range(2000)]))
    for _ in range(50):
        tab.keyboard.press("5")
    assert tab.inner_text("#count") == "50 of 2000 labelled"
    assert tab.inner_text("#turn").startswith("Turn 50.")


def test_everything_has_a_name_for_a_screen_reader_and_focus_goes_along(
    tab: Any, tmp_path: Path
) -> None:
    begin(tab, write_page(tmp_path, ["one", "two"]))
    nameless = tab.evaluate(
        """[...document.querySelectorAll('button, input, textarea, progress')].filter(e => !(
        e.textContent.trim() || e.labels?.length || e.getAttribute('aria-label'))).map(e => e.id)"""
    )
    assert nameless == []
    tab.keyboard.press("1")
    assert tab.evaluate("document.activeElement.id") == "turn-heading"
    assert "Turn 2 of 2" in tab.text_content("#spoken")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_core_finds_no_violation_in_any_view_wide_or_narrow(
    browser: Any, tmp_path: Path, scheme: str
) -> None:
    practice = practice_turns(ROOT / "data/labelled/turns.jsonl", LABELS)
    context = browser.new_context(color_scheme=scheme)
    page = context.new_page()
    found: list[str] = []

    def look(view: str) -> None:
        for width in (1280, 390):
            page.set_viewport_size({"width": width, "height": 900})
            found.extend(violations(page, f"{view}, {width}"))

    page.goto(write_page(tmp_path, ["one", "two"], practice))
    look("who is labelling")
    page.fill("#annotator", "Ann")
    page.click("#start")
    look("guide")
    page.click("#close-help")
    page.wait_for_selector("#practice", state="visible")
    look("practice")
    page.keyboard.press("1")
    look("feedback")
    page.click("#practice-end")
    page.keyboard.press("1")
    look("labelling")
    page.click("#open-file")
    look("save or load")
    context.close()
    assert found == []


def test_phone_shows_the_page_without_scrolling_sideways(browser: Any, tmp_path: Path) -> None:
    phone = browser.new_context(viewport={"width": 360, "height": 740}, is_mobile=True).new_page()
    begin(phone, write_page(tmp_path, ["one two three " * 30]))
    assert phone.evaluate("document.documentElement.scrollWidth") <= 360
    heights = phone.evaluate("[...document.querySelectorAll('.label')].map(e => e.offsetHeight)")
    assert min(heights) >= 44
    last = "[...document.querySelectorAll('.label')].at(-1).getBoundingClientRect().bottom"
    (turn, *_) = practice_turns(ROOT / "data/labelled/turns.jsonl", LABELS)
    begin(phone, write_page(tmp_path, ["one"], [{**turn, "turn": "long " * 900}]))
    assert phone.evaluate(last) <= 740, "labels of practice are on the screen"
    for turn in ("one two three " * 30, "long " * 4000):
        begin(phone, write_page(tmp_path, [turn, turn + "."]))
        assert phone.evaluate(last) <= 740, "labels are on the screen whatever the turn's length"
    begin(phone, write_page(tmp_path, ["one", "two three " * 20]))
    phone.click("#labels button >> nth=0")
    end, labels = (phone.locator(part).bounding_box() for part in ("main .turn", "main fieldset"))
    assert end["y"] + end["height"] <= labels["y"], "the whole turn is above the labels"
    phone.context.close()


def test_a_turn_of_a_million_characters_is_shown_in_full_when_asked_for(
    tab: Any, tmp_path: Path
) -> None:
    """Laid out at once, it took 5 to 16 seconds to open, and as long to come back to."""
    long = "so " * 350_000
    begin(tab, write_page(tmp_path, [long, "short"]))
    shown = (
        "() => [...document.querySelectorAll('.text')].map(({ textContent: { length } }) => length)"
    )
    assert tab.evaluate(f"({shown})().filter(Boolean)") == [50_000] * 3
    more = tab.locator("article.turn .more")
    assert more.inner_text() == "Show all 1,050,000 characters"
    more.click()
    assert tab.locator("#turn").evaluate("part => part.textContent.length") == len(long)
    assert more.count() == 0
    tab.keyboard.press("2")
    assert tab.inner_text("#turn") == "short"
    assert tab.locator(".more").count() == 0
    assert tab.noted[1:] == []

"""The annotation page and the Label Studio project, byte for byte: blind, self-contained, safe."""

import base64
import hashlib
import json
import re
from pathlib import Path
from xml.etree.ElementTree import fromstring

import polars as pl
import pytest

from tests.support.annotation_rounds import LABELS, key_of, study
from tests.support.paired_study import pair_key, paired_of, people_of, turns_of
from tests.support.snakemake_runs import ROOT
from userturn.humans.pairs import SIDES, shown_pairs
from userturn.humans.rounds import shown
from userturn.humans.task_page import (
    embedded,
    label_studio_config,
    label_studio_tasks,
    page,
    pair_page,
    practice_turns,
)
from userturn.judges.rubric import read_rubric
from userturn.study.contents import LABELLED_TURNS
from userturn.wording import label_name

RUBRIC = read_rubric(ROOT / "data" / "rubric_2.yaml")
ITEMS = {"d": {f"i{n:04}": [{"role": "user", "content": f"Question {n}?"}] for n in range(20)}}
TURNS, VERDICTS = study(LABELS[1:] * 4)
KEY = key_of(TURNS, VERDICTS)
SHOWN = shown(KEY, TURNS, ITEMS, [])
PAGE = page("first", SHOWN, RUBRIC)


def data_of(html: str) -> dict[str, object]:
    (text,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', html, re.S)
    return dict(json.loads(text))


def test_page_holds_every_turn_in_the_order_of_opaque_ids() -> None:
    data = data_of(PAGE)
    assert [item["id"] for item in data["items"]] == sorted(KEY["id"])
    assert {tuple(sorted(item)) for item in data["items"]} == {("conversation", "id", "turn")}


def test_data_of_the_page_is_nothing_but_what_annotators_may_see() -> None:
    assert set(data_of(PAGE)) == {
        *("round", "unit", "guide", "digest", "labels", "rules", "ours", "items", "practice")
    }
    assert data_of(PAGE)["items"][0]["conversation"][-1] == {
        "role": "assistant",
        "text": "An answer.",
    }


@pytest.mark.parametrize(
    "word",
    ["model", "dataset", "temperature", "perturb", "truncat", "judge", "rationale", "reference",
     "because", "a-1b", "heuristic", "stratum", "probab", "greedy", "im_end", "i0001 "],
)  # fmt: skip
def test_no_byte_of_page_or_project_unblinds(word: str) -> None:
    tasks = json.dumps(label_studio_tasks("first", SHOWN))
    for text in (PAGE, tasks, label_studio_config(RUBRIC)):
        assert word not in text.lower()


def test_nothing_of_the_key_is_in_the_page() -> None:
    for column in ("key", "model", "judge"):
        assert not any(str(value) in PAGE for value in KEY[column].unique())


def test_page_asks_the_network_for_nothing() -> None:
    assert not re.search(r"https?:|//[a-z]|src=|@import|\burl\(|href=", PAGE)


def test_policy_lets_only_the_pages_own_script_and_style_run() -> None:
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', PAGE)
    for tag, directive in (("script", "script-src"), ("style", "style-src")):
        (content,) = re.findall(rf"<{tag}>(.*?)</{tag}>", PAGE, re.S)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{directive} 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy


@pytest.mark.parametrize(
    "text", ["</script><script>alert(1)</script>", "<!--", "a\u2028b\u2029c", "{{data}}", "&lt;"]
)
def test_embedded_json_reads_back_and_cannot_end_its_block(text: str) -> None:
    written = embedded({"turn": text})
    assert json.loads(written) == {"turn": text}
    assert not set("<>&\u2028\u2029") & set(written)


def test_content_that_looks_like_a_place_of_the_template_stays_content() -> None:
    hostile = SHOWN.with_columns(turn=pl.lit("{{data}} {{policy}}"))
    assert {item["turn"] for item in data_of(page("first", hostile, RUBRIC))["items"]} == {
        "{{data}} {{policy}}"
    }


def test_same_round_gives_the_same_bytes() -> None:
    assert page("first", SHOWN, RUBRIC) == PAGE


def test_label_studio_interface_names_what_its_tasks_hold() -> None:
    view = fromstring(label_studio_config(RUBRIC))
    values = {element.get("value") for element in view if str(element.get("value"))[:1] == "$"}
    assert {value.removeprefix("$") for value in values} <= set(
        label_studio_tasks("first", SHOWN)[0]["data"]
    )
    (choices,) = view.findall("Choices[@name='label']")
    assert [choice.get("alias") for choice in choices] == list(RUBRIC.labels)  # what is exported
    assert choices[0].get("value") == "Genuine follow-up"
    assert choices.get("toName") in {element.get("name") for element in view}


def test_label_studio_reads_lines_as_they_are_and_the_guide_of_the_page() -> None:
    items = SHOWN.head(1).with_columns(
        conversation=pl.Series([[{"role": "user", "text": "One.\n\n  Two."}]])
    )
    (task,) = label_studio_tasks("first", items)
    assert task["data"]["conversation"].endswith("User\nOne.\n\n  Two.")
    view = fromstring(label_studio_config(RUBRIC))
    assert view.find("Paragraphs") is None  # it joins lines and shows a time at each message
    (style,) = view.findall("Style")
    assert "white-space: pre-wrap" in str(style.text)  # it joins spaces, of code for instance
    shown = [str(header.get("value")) for header in view.iter("Header")]
    first, *_ = data_of(PAGE)["guide"]
    assert "the descriptions below" in first
    assert shown.index(first) < shown.index(
        next(t for t in shown if t.startswith(label_name(LABELS[0])))
    )
    assert set(data_of(PAGE)["guide"]) <= set(shown)


def test_label_studio_tasks_hold_one_task_a_turn() -> None:
    tasks = label_studio_tasks("first", SHOWN)
    assert [task["data"]["turn_id"] for task in tasks] == KEY["id"].to_list()
    assert set(tasks[0]) == {"data"}


ROWS = [json.loads(line) for line in (ROOT / LABELLED_TURNS).read_text().splitlines()]
KNOWN = {(row["messages"][-1]["content"], row["turn"]): row for row in ROWS}


def test_ten_turns_have_every_label_and_a_conversation_of_their_own() -> None:
    turns = practice_turns(ROOT / LABELLED_TURNS, LABELS)
    rows = [KNOWN[turn["conversation"][-1]["text"], turn["turn"]] for turn in turns]
    # ten turns of six labels: the first four labels have two each
    assert sorted(turn["label"] for turn in turns) == sorted([*LABELS, *LABELS[:4]])
    assert len({row["conversation"] for row in rows}) == 10
    assert all(row["first_label"] == row["second_label"] == row["third_label"] for row in rows)


def test_rubric_with_other_labels_has_no_practice(tmp_path: Path) -> None:
    assert practice_turns(ROOT / LABELLED_TURNS, ["good", "bad"]) == []


PAIR_TURNS = turns_of(12)
PAIR_KEY = pair_key(paired_of(PAIR_TURNS, n=12), 12)
PAIR_ITEMS = shown_pairs(PAIR_KEY, PAIR_TURNS, people_of(12), ["<|im_end|>"])
PAIR_PAGE = pair_page("pairs", PAIR_ITEMS)


def items_of(page: str) -> list[dict[str, object]]:
    (text,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    return list(json.loads(text)["items"])


def test_a_pair_is_an_id_a_conversation_and_two_texts() -> None:
    items = items_of(PAIR_PAGE)
    assert [item["id"] for item in items] == PAIR_KEY["id"].to_list()
    assert {tuple(item) for item in items} == {("id", "conversation", "turns")}


@pytest.mark.parametrize(
    "word", ["dataset", "temperature", "reference", "perturb", "a-1b", "im_end", "i0001"]
)
def test_no_byte_of_the_page_of_pairs_unblinds(word: str) -> None:
    assert word not in PAIR_PAGE.lower().replace("an answer of the dataset", "")


def test_nothing_of_the_key_is_in_the_page_of_pairs() -> None:
    for column in ("key", "model", "conversation", "item"):
        assert not any(str(value) in PAIR_PAGE for value in PAIR_KEY[column].unique())


def test_the_page_of_swapped_turns_differs_in_their_places_alone() -> None:
    swapped = PAIR_ITEMS.with_columns(turns=pl.col("turns").list.reverse())
    other = items_of(pair_page("pairs", swapped))
    before = items_of(PAIR_PAGE)
    assert [item | {"turns": []} for item in other] == [item | {"turns": []} for item in before]
    hidden = re.compile(r'"turns":\[.*?\]')
    assert hidden.sub("", pair_page("pairs", swapped)) == hidden.sub("", PAIR_PAGE)


def test_both_places_have_the_same_html_but_for_their_names() -> None:
    first, second = re.findall(r'<article class="turn".*?</article>', PAIR_PAGE, re.S)[:2]
    assert first.replace("first", "second").replace("First", "Second").replace(">1<", ">2<") == (
        second
    )
    assert list(SIDES) == ["first", "second"]


def test_page_of_pairs_asks_the_network_for_nothing_and_fills_every_placeholder() -> None:
    assert not re.search(r"https?:|//[a-z]|src=|@import|\burl\(|href=", PAIR_PAGE)
    assert "{{" not in PAIR_PAGE

"""The rubric: judges and people read the same words, and verdicts that were paid for stay."""

import hashlib
import json
import re
from pathlib import Path
from xml.etree.ElementTree import fromstring

import polars as pl
import pytest
import yaml

from tests.support.snakemake_runs import ROOT
from userturn.config.load import load_config
from userturn.errors import ConfigError
from userturn.humans.rounds import ITEMS_SCHEMA
from userturn.humans.task_page import label_studio_config, page
from userturn.judges.endpoint import check, identity
from userturn.judges.kinds import complete_judges
from userturn.judges.question import judge_prompt
from userturn.judges.rubric import note_on_ours, parse_rubric, read_rubric, rubric_sha256
from userturn.judges.verdict import ARGUABLE, GENUINE
from userturn.wording import label_name, name_labels

TEXT = (ROOT / "data" / "rubric_2.yaml").read_text(encoding="utf-8")
PROMPT = (ROOT / "data" / "judge_prompt_2.txt").read_text(encoding="utf-8")
RUBRIC = read_rubric(ROOT / "data" / "rubric_2.yaml")
OLD = "labels:\n  good:\n    criterion: It is good.\n    example: Yes.\n"
NO_TURNS = pl.DataFrame(schema=ITEMS_SCHEMA)


def joined(text: str) -> str:
    return " ".join(text.split())


def read_by_judges() -> str:
    """Return what judges are told, with the names by which people read the labels."""
    text = judge_prompt(TEXT, PROMPT, {}).system
    for label in RUBRIC.labels:
        text = text.replace(f"- {label}: ", f"- {label_name(label)}: ")
    return joined(name_labels(text, RUBRIC.labels))


def read_on_the_page() -> tuple[str, str]:
    """Return the rules, and the labels as the guide lists them."""
    html = page("first", NO_TURNS, RUBRIC)
    (text,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', html, re.S)
    data = json.loads(text)
    labels = " ".join(f"- {label['shown']}: {label['described']}" for label in data["labels"])
    return joined(data["rules"]), labels


def read_in_label_studio() -> tuple[str, str]:
    view = fromstring(label_studio_config(RUBRIC))
    headers = [str(header.get("value")) for header in view.findall("Header")]
    names = [str(choice.get("value")) for choice in view.findall("Choices[@name='label']/Choice")]
    criteria = [f"- {text}" for text in headers if text.partition(":")[0] in names]
    (rules,) = [text for text in headers if text.startswith(RUBRIC.rules[:40])]
    return rules, " ".join(criteria)


def test_judges_people_and_label_studio_read_the_same_words() -> None:
    assert read_on_the_page() == read_in_label_studio()
    for words in read_on_the_page():
        assert len(words.split()) > 50
        assert words in read_by_judges()


def test_rules_name_every_label_after_its_response_clearly_arguably_or_not() -> None:
    general = RUBRIC.rules.partition("Border cases")[0]
    clearly, arguably, fails = re.split(r"\n(?:clearly|arguably|not), if", general)[1:]
    assert GENUINE in clearly and ARGUABLE in arguably
    named = [name for name in re.findall(r"[a-z_]+", fails) if name in RUBRIC.labels]
    assert sorted([*named, GENUINE, ARGUABLE]) == sorted(RUBRIC.labels)
    begins = {name: label["criterion"].partition(" ")[0] for name, label in RUBRIC.labels.items()}
    assert begins == dict.fromkeys(RUBRIC.labels, "Not") | {
        GENUINE: "Clearly",
        ARGUABLE: "Arguably",
    }


def test_each_of_twelve_border_cases_is_decided_for_a_label() -> None:
    cases = RUBRIC.rules.partition("Border cases")[2].splitlines()[1:]
    assert len(cases) == 12
    decided = [re.search(r": (\w+)(?:;.*)?\.$", case) for case in cases]
    assert {found[1] for found in decided if found} <= set(RUBRIC.labels)
    assert all(decided)


def test_a_border_case_for_a_label_that_the_rubric_lacks_is_refused() -> None:
    with pytest.raises(ConfigError, match="KeyError: 'bad'"):
        parse_rubric(OLD + yaml.safe_dump({"borders": [{"case": "Thanks", "label": "bad"}]}))


def test_the_words_that_judges_are_sent_and_their_identity_are_those_of_paid_verdicts() -> None:
    former = [(ROOT / "data" / n).read_text("utf-8") for n in ("rubric.yaml", "judge_prompt.txt")]
    sent = judge_prompt(*former, {}).system
    assert hashlib.sha256(sent.encode()).hexdigest() == (
        "4033bdeb7f5496a70a37085085685030a2d0013412b120d0edb664109fc39938"
    )
    entry = {**complete_judges(load_config([ROOT / "config.yaml"]))["gpt-5.4-mini"]}
    entry |= {"rubric": ROOT / "data/rubric.yaml", "prompt": ROOT / "data/judge_prompt.txt"}
    found = identity(entry)
    assert found["rubric"] == "c1d307cdb04f62a03d58e794a4f9801d6e3fb1b2a4b67953a207f86bc016050d"
    assert found["prompt"] == "e2efd5e3a0c7cd531341b02a750912d6dfca06abc6f4790eda7765278d92fac6"


def test_a_rubric_without_rules_is_known_by_its_whole_text() -> None:
    assert rubric_sha256(OLD) == hashlib.sha256(OLD.encode()).hexdigest()
    rubric = parse_rubric(OLD)
    assert (list(rubric.labels), rubric.rules, rubric.ours) == (["good"], "", [])
    assert note_on_ours(rubric) == ""


def test_changed_rules_change_the_prompt_and_not_the_labels(tmp_path: Path) -> None:
    entry = complete_judges(load_config([ROOT / "config.yaml"]))["gpt-5.4-mini"]
    found = []
    for rules in ("Be strict.", "Be kind: $1."):
        path = tmp_path / "rubric.yaml"
        path.write_text(OLD + yaml.safe_dump({"rules": rules}))
        found.append(identity({**entry, "rubric": path, "prompt": ROOT / "data/judge_prompt.txt"}))
        assert rules in judge_prompt(path.read_text(), PROMPT, {}).system
    assert found[0]["rubric"] == found[1]["rubric"] == rubric_sha256(OLD)
    assert found[0]["prompt"] != found[1]["prompt"]


def test_a_prompt_that_quotes_rules_needs_a_rubric_that_has_some(tmp_path: Path) -> None:
    config = load_config([ROOT / "config.yaml"])
    path = tmp_path / "rubric.yaml"
    path.write_text(OLD.replace("good", "genuine_followup") + "  bad: {criterion: x, example: y}\n")
    entry = complete_judges(config)["gpt-5.4-mini"]
    entry |= {"rubric": str(path), "prompt": str(ROOT / "data/judge_prompt.txt")}
    with pytest.raises(ConfigError, match="has no `rules`"):
        check("judges.j", entry, config)


@pytest.mark.parametrize("text", ["", "- a\n", "labels: [", "labels: {a: {criterion: b}}\n"])
def test_a_rubric_that_cannot_be_read_is_named(text: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=r"mine.yaml': a rubric cannot be read"):
        read_rubric(path)


def test_labels_that_the_paper_does_not_name_are_said_to_be_ours() -> None:
    assert RUBRIC.ours == ["arguable_followup", "generic", "unrelated", "degenerate"]
    assert set(RUBRIC.paper) < set(RUBRIC.labels)
    note = note_on_ours(RUBRIC)
    assert note in page("first", NO_TURNS, RUBRIC)
    assert note in label_studio_config(RUBRIC).replace("&apos;", "'")
    assert note not in read_by_judges()

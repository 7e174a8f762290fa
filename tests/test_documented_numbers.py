"""Numbers in the docs are those that the commands beside them print."""

import json
import re
from pathlib import Path
from textwrap import dedent
from typing import Any

import numpy as np
import polars as pl
import pytest
import yaml

from benchmarks import labellings, real_turns
from tests.support.snakemake_runs import ROOT
from userturn.cli.judge_card import verdicts_of
from userturn.config.load import load_config
from userturn.controls.known_turns import labelled_items, labelled_turns, read_labelled
from userturn.judges.rubric import read_rubric
from userturn.stats.agreement import Ratings, estimate_all
from userturn.stats.prediction_powered import Labelled, corrected_rate
from userturn.study.contents import LABELLED_TURNS
from userturn.study.grid import Grid
from userturn.tables.judge_card import judge_card
from userturn.tables.judge_validity import unknown_rates
from userturn.tables.known_turns import add_true_labels
from userturn.wording import label_name


@pytest.fixture(autouse=True)
def in_the_project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def row_of(path: str, label: str) -> list[str]:
    """Return the cells of the row of a Markdown table that begins with a label."""
    row = next(line for line in Path(path).read_text().splitlines() if line.startswith(label))
    return [cell.strip() for cell in row.strip("| ").split("|")][1:]


def test_card_of_the_heuristic_in_the_docs_is_what_the_command_prints(tmp_path: Path) -> None:
    grid = Grid(load_config(["config.yaml"]), tmp_path)
    rows = read_labelled(LABELLED_TURNS)
    said = labelled_turns(rows).select("item", "text")
    turns = add_true_labels(verdicts_of(grid, "heuristic"), labelled_items(rows), said)
    rows_of_all = judge_card(turns, grid.config["seed"]).filter(pl.col("by") == "all")
    card = {row["measure"]: row for row in rows_of_all.to_dicts()}
    shown = {
        "sensitivity": "| genuine turns called genuine",
        "specificity": "| failures not called genuine",
        "right label": "| right label",
        "kappa": "| Cohen's kappa",
    }
    for measure, label in shown.items():
        strict, lenient = row_of("docs/judges.md", label)[:2]
        for cell, found in ((strict, card[measure]), (lenient, card[f"lenient {measure}"])):
            scale = 100 if "%" in cell else 1
            values = [found[name] for name in ("estimate", "lower", "upper")]
            for text, value in zip(re.findall(r"[\d.]+", cell), values, strict=True):
                n_decimals = len(text.partition(".")[2])
                assert float(text) == pytest.approx(scale * value, abs=0.5001 * 10**-n_decimals)


def documented(name: str) -> list[dict[str, Any]]:
    """Return the settings in the YAML blocks of a page."""
    page = Path("docs", name).read_text()
    blocks = re.findall(r"^( *)```yaml\n(.*?)^ *```", page, re.MULTILINE | re.DOTALL)
    return [yaml.safe_load(dedent(text)) for _, text in blocks]


@pytest.mark.parametrize("name", ["judges.md", "choose_a_judge.md", "annotation.md"])
def test_settings_in_the_docs_are_taken(name: str, tmp_path: Path) -> None:
    settings = documented(name)
    assert settings
    for block in settings:
        path = tmp_path / "mine.yaml"
        path.write_text(yaml.safe_dump(block))
        load_config(["config.yaml", str(path)])


def test_every_label_of_the_rubric_has_an_example_in_the_docs() -> None:
    genuine = {"genuine_followup": "clearly", "arguable_followup": "arguably"}
    for label in read_rubric("data/rubric_2.yaml").labels:
        name, example, is_genuine = row_of("docs/labels.md", f"| `{label}` |")
        assert name == label_name(label) and example.strip('"')
        assert is_genuine == genuine.get(label, "no")


def test_worked_agreement_in_the_docs_is_what_the_library_gives() -> None:
    names = ["raw", "cohen_kappa", "krippendorff_alpha", "gwet_ac1"]
    lines = re.findall(
        r"^\| (\d+), (\d+) \+ (\d+), (\d+) \| (.*) \|$",
        Path("docs/annotation.md").read_text(),
        re.MULTILINE,
    )
    assert len(lines) == 2
    for *counts, cells in lines:
        codes = np.repeat([[1, 1], [1, 0], [0, 1], [0, 0]], [int(n) for n in counts], axis=0)
        ratings = Ratings(codes, np.ones(len(codes)), np.arange(len(codes)), 2)
        found = estimate_all(ratings, names, np.random.default_rng(0))
        shown = [
            f"{found[name].estimate:.2f} [{found[name].lower:.2f}, {found[name].upper:.2f}]"
            for name in names
        ]
        assert cells == " | ".join(shown).replace("0.", ".")


def test_worked_correction_in_the_docs_is_what_the_library_gives() -> None:
    labels = np.repeat([1.0, 0.0, 1.0, 0.0], [14, 6, 3, 17])  # of 20 + 20 turns, by people
    judged = np.repeat([1.0, 0.0], 20)
    weights = np.repeat([30 / 20, 70 / 20], 20)
    drawn = Labelled(labels, judged, weights, judged)
    found = corrected_rate(np.repeat([1.0, 0.0], [30, 70]), drawn)
    shown = "{:.1f}% [{:.1f}, {:.1f}]".format(
        *(100 * value for value in (found.estimate, found.lower, found.upper))
    )
    assert f"(30 · 14/20 + 70 · 3/20) / 100 = {shown}" in Path("docs/annotation.md").read_text()


@pytest.mark.parametrize("pair", [("first", "second"), ("first", "third"), ("second", "third")])
def test_agreement_in_the_readme_is_what_the_benchmark_prints(pair: tuple[str, str]) -> None:
    rows = labellings.labelled_turns()
    shown = row_of("data/labelled/README.md", "| " + ", ".join(pair))
    for is_binary, (raw, kappa) in zip((False, True), (shown[:2], shown[2:]), strict=True):
        line = labellings.agreement(rows, *(f"{name}_label" for name in pair), is_binary)
        found = re.search(r"raw (\S+) .*kappa (\S+ \[.*?\])", line)
        assert found is not None
        assert f"{float(found[1]):.1%}" == raw
        assert found[2].replace("0.", ".") == kappa


def test_the_readme_says_of_the_demo_s_rates_what_the_demo_says() -> None:
    thresholds = yaml.safe_load((ROOT / "config.yaml").read_text())["judge_card"]
    readme = " ".join((ROOT / "README.md").read_text().replace("\n> ", " ").split())
    assert str(unknown_rates(None, thresholds, ["heuristic"])) in readme


def test_table_of_real_turns_in_the_readme_is_what_the_benchmark_prints() -> None:
    readme = Path("data/labelled/README.md").read_text()
    rows = list(real_turns.labellings(real_turns.read_turns(None)))
    assert "\n".join(rows) in readme


def test_real_turns_have_labels_of_rubric_2_and_texts_only_of_models() -> None:
    labels = {*read_rubric("data/rubric.yaml").labels, real_turns.ARGUABLE}
    turns = real_turns.read_turns(None)
    assert {label for turn in turns for label in turn.labels} <= labels
    assert all((turn.source in real_turns.PEOPLE) == (turn.text == "") for turn in turns)


def test_a_turn_on_which_the_labellings_differ_is_arguably_a_follow_up() -> None:
    both = {"genuine_followup", "unrelated"}, {"generic", "unrelated"}, {"genuine_followup"}
    found = [
        real_turns.RealTurn("a", "model", "c", [], "", (min(pair), max(pair))).side for pair in both
    ]
    assert found == [real_turns.ARGUABLY, real_turns.NOT, real_turns.CLEARLY]


def test_texts_of_people_are_found_by_their_ids(tmp_path: Path) -> None:
    rows = map(json.loads, real_turns.REAL_TURNS.read_text().splitlines())
    ids = next(row for row in rows if row["source"] == "human")
    turn = {"message_id": ids["turn_id"], "role": "prompter", "text": "And then?"}
    answer = {"message_id": ids["answer_id"], "role": "assistant", "text": "So.", "replies": [turn]}
    asked = {"message_id": "0", "role": "prompter", "text": "How?", "replies": [answer]}
    trees = tmp_path / "trees.jsonl"
    trees.write_text(json.dumps({"prompt": asked}) + "\n")
    (found,) = (one for one in real_turns.read_turns(trees) if one.id == ids["id"])
    assert [message["content"] for message in found.messages] == ["How?", "So."]
    assert found.text == "And then?"

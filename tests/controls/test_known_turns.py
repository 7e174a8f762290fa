"""Controls: what is planted is what it says, and judges are measured on it."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml

from tests.support.snakemake_runs import ROOT
from userturn.config.check import check
from userturn.config.load import load_config
from userturn.controls.control_turn import (
    BAIT,
    HARD,
    IN_CONVERSATION,
    INSTRUCTION,
    LABELS,
    PLANTED_HARD,
    SOURCES,
    parse_frames,
    parse_texts,
)
from userturn.controls.known_turns import (
    human_turns,
    injected_items,
    injected_turns,
    planted_turns,
    read_labelled,
)
from userturn.datasets.prepare import SCHEMA
from userturn.errors import ConfigError, UserError
from userturn.judges.judge import Judge, judge_cell
from userturn.sources.controls import INPUTS, controls, injected
from userturn.study.contents import LABELLED_TURNS
from userturn.study.grid import Grid
from userturn.tables.agreement import AGREEMENT
from userturn.tables.judges import judges, kinds_of_controls
from userturn.tables.known_turns import TURN, add_kinds, control_verdicts
from userturn.tables.make_tables import Material

CONFIG = yaml.safe_load((ROOT / "config.yaml").read_text())


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def assistant(text: str) -> dict[str, str]:
    return {"role": "assistant", "content": text}


def items(*rows: dict[str, Any]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=SCHEMA)


ASKED = items(
    {"item": "a", "messages": [user("Why is the sky blue at 7?\n\nBe brief.")]},
    {"item": "b", "messages": [user("Who baked 2 of this bread?\n\nBe brief.")]},
    {"item": "c", "messages": [user("Where does the river end?\n\nBe brief.")]},
)
ANSWERS = pl.DataFrame(
    {
        "model": "m",
        "dataset": "d",
        "item": ["a", "b", "c"],
        "answer": ["Light. Clear air.", "Ada baker. Adam.", None],
    }
)
OTHERS = {"a": "Because of Rayleigh.", "b": "Nobody knows."}
TEXTS = parse_texts((ROOT / "data/controls/hard_failures.yaml").read_text())
FRAMES = parse_frames((ROOT / "data/controls/harder_failures.yaml").read_text())
N_EASY, N_HARD, N_INJECTIONS = 5, 18, 10
N_PLANTED = N_EASY + N_HARD + N_INJECTIONS
NOBODY = pl.DataFrame(schema=AGREEMENT)  # no two raters
REPLIED = {
    "item": "h",
    "messages": [user("Why is the sky blue?")],
    "reference_context": [user("Why is the sky blue?"), assistant("Air scatters blue light.")],
    "reference_user_turn": "Does air scatter red light too?",
}


def plant(n_items: int = 9) -> pl.DataFrame:
    return planted_turns(ANSWERS, OTHERS, ASKED, TEXTS, n_items, 1, "\n\nBe brief.", FRAMES)


def test_every_failure_is_planted_after_every_answer_that_is_there() -> None:
    planted = plant()
    assert planted.height == 2 * N_PLANTED
    assert set(planted["perturbation"]) == set(LABELS) - {"human", IN_CONVERSATION}


def test_planted_turns_are_what_they_are_called() -> None:
    of_a = plant().filter(pl.col("item") == "a")
    texts = dict(of_a.select("perturbation", "text").iter_rows())
    assert texts["prompt_again"] == "Why is the sky blue at 7?"
    assert texts["answer_again"] == "Light. Clear air."
    assert texts["other_model"] == "Because of Rayleigh."
    assert "Be brief" not in "".join(texts.values())
    assert texts["other_turn"] in ("Who baked 2 of this bread?", "Where does the river end?")
    assert (texts["thanks"], texts["empty"]) == ("Thanks!", "")
    assert of_a.filter(pl.col("outcome") == "empty")["perturbation"].to_list() == ["empty"]


def test_fewer_items_are_part_of_more() -> None:
    few = plant(n_items=1)
    assert few.height == N_PLANTED
    assert few.equals(plant().head(N_PLANTED))


def test_a_continuation_stands_after_the_half_that_it_continues() -> None:
    of_a = plant().filter(pl.col("item") == "a", pl.col("perturbation") == "continuation")
    assert of_a.select("answer", "text").row(0) == ("Light.", "Clear air.")


def test_hard_failures_depend_on_seed_and_item_and_not_on_the_other_items() -> None:
    alone = planted_turns(ANSWERS, OTHERS, ASKED.head(2), TEXTS, 9, 1, "\n\nBe brief.")
    hard = pl.col("perturbation").is_in(list(HARD)), pl.col("item") == "a"
    assert alone.filter(*hard).equals(plant().filter(*hard))


def test_a_lone_conversation_has_no_other_to_take_a_turn_from() -> None:
    planted = planted_turns(ANSWERS, OTHERS, ASKED.head(1), TEXTS, 9, 1, "")
    assert "other_turn" not in planted["perturbation"].to_list()


def test_human_turns_follow_the_answer_that_they_react_to() -> None:
    (turn,) = human_turns(items(REPLIED), "d").iter_rows(named=True)
    assert (turn["model"], turn["perturbation"]) == ("human", "human")
    assert (turn["answer"], turn["text"]) == (
        "Air scatters blue light.",
        REPLIED["reference_user_turn"],
    )


def test_a_context_that_goes_on_behind_the_reference_is_refused() -> None:
    longer = [*REPLIED["reference_context"], user("Does air scatter red light too?")]
    with pytest.raises(UserError, match="give it `condition: gold_context`"):
        human_turns(items(REPLIED | {"messages": longer}), "d")


def test_controls_go_through_the_judge_and_into_the_table(tmp_path: Path) -> None:
    paths = []
    for name, table, turns in [
        ("planted", ASKED, plant()),
        ("human", items(REPLIED), human_turns(items(REPLIED), "h")),
    ]:
        table.write_parquet(tmp_path / "items")
        turns.write_parquet(tmp_path / "turns")
        paths.append(str(tmp_path / name))
        judge_cell(
            judge=Judge(
                "heuristic", CONFIG["judges"]["heuristic"], tmp_path, tmp_path, {}, None, 0.0
            ),
            identity="identity",
            n_at_once=0,
            path_to_items=str(tmp_path / "items"),
            path_to_user_turns=str(tmp_path / "turns"),
            path_to_verdicts=paths[-1],
        )
    known = control_verdicts(Material(Grid(CONFIG), {"control_verdicts": paths, "human_items": []}))
    table = kinds_of_controls(judges(add_kinds(known), NOBODY, 1))
    assert dict(table.select("group", "source").iter_rows()) == SOURCES
    n_turns = dict(table.select("group", "n_turns").iter_rows())
    assert n_turns == dict.fromkeys(LABELS, 2) | {"human": 1, IN_CONVERSATION: 0}
    told = table.filter(pl.col("source") != PLANTED_HARD, pl.col("n_turns") > 0)
    assert told["estimate"].to_list() == [1] * (1 + N_EASY + N_INJECTIONS)


def measured(control: str, *labels: str | None, dataset: str = "d") -> pl.DataFrame:
    """Return the table of a judge that gave turns of one control these labels."""
    verdicts = pl.DataFrame(
        {
            "perturbation": control,
            "dataset": dataset,
            "conversation": [f"{dataset} {i}" for i in range(len(labels))],
            "judge": "j",
            "label": pl.Series(labels, dtype=pl.String),
            "language": pl.Series([None] * len(labels), dtype=pl.String),
        }
    )
    return judges(add_kinds(verdicts), NOBODY, 1)


def test_a_failure_is_caught_by_any_label_but_genuine_and_unscored_turns_do_not_count() -> None:
    table = measured("thanks", "generic", "unrelated", "genuine_followup", "generic", None)
    (row,) = kinds_of_controls(table).filter(pl.col("n_turns") > 0).to_dicts()
    assert (row["group"], row["n_turns"], row["n_scored"], row["estimate"]) == (
        "thanks",
        5,
        4,
        0.75,
    )
    # Wilson at 3 of 4: (0.75 + 0.4802 -+ 1.96 sqrt(0.1875/4 + 0.0600)) / 1.9604 = 0.301, 0.954
    assert (round(row["lower"], 3), round(row["upper"], 3)) == (0.301, 0.954)
    label = table.filter(pl.col("by") == "kind", pl.col("measure") == "right label")
    assert label["estimate"].to_list() == [0.5]


def test_what_fits_more_than_one_label_has_a_side_only() -> None:
    table = measured("noise_50", "degenerate", "genuine_followup")
    found = table.filter(pl.col("group") == "noise_50")
    assert set(found["source"]) == {PLANTED_HARD}
    assert dict(found.select("measure", "estimate").iter_rows()) == {
        "specificity": 0.5,
        "right side": 0.5,
    }


def test_a_control_without_a_turn_has_a_row_with_the_reason() -> None:
    table = measured("thanks", "generic")
    assert table.filter(pl.col("n_turns") == 0).height == len(LABELS) - 1
    row = table.filter(pl.col("group") == "other_model").row(0, named=True)
    assert (row["judge"], row["n_turns"], row["estimate"]) == ("j", 0, None)
    assert row["reason"] == "no second model with another answer to these items"
    human = measured("human", "generic").filter(pl.col("n_turns") == 0)
    assert set(human["reason"]) == {"no failure was planted"}


def test_a_study_without_controls_has_an_empty_table() -> None:
    assert judges(pl.DataFrame(schema=TURN), NOBODY, 1).is_empty()


def control_grid(
    monkeypatch: pytest.MonkeyPatch, models: dict[str, str] | None = None, **controls: Any
) -> Grid:
    monkeypatch.chdir(ROOT)
    demo = yaml.safe_load((ROOT / "profiles/demo/study.yaml").read_text())
    datasets = CONFIG["datasets"] | demo["datasets"]
    run = {"datasets": ["everyday"], "judges": ["heuristic"]}
    config = CONFIG | {"datasets": datasets, "models": models or {"smollm": "./data"}, "run": run}
    return Grid(config | {"controls": CONFIG["controls"] | controls})


def test_each_judge_judges_human_datasets_and_every_model_and_dataset(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert INPUTS["control_verdicts"](control_grid(monkeypatch)) == [
        "results/controls/human/oasst_human/verdicts/heuristic.parquet",
        "results/controls/smollm/everyday/verdicts/heuristic.parquet",
    ]
    assert INPUTS["control_verdicts"](control_grid(monkeypatch, human=[], planted=0)) == []


def test_another_number_of_planted_items_changes_no_human_control(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    few, many = control_grid(monkeypatch, planted=5), control_grid(monkeypatch, planted=6)
    (human, planted), (same_human, more_planted) = controls(few), controls(many)
    assert planted.identity != more_planted.identity
    assert human.identity == same_human.identity


def test_another_models_answers_are_those_of_the_next_model(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert [turns.input_paths for turns in controls(control_grid(monkeypatch))] == [(), ()]
    three = control_grid(monkeypatch, models=dict.fromkeys("abc", "./data"))
    assert [turns.input_paths for turns in [*controls(three)][1:]] == [
        ("results/answers/b/everyday.parquet",),
        ("results/answers/c/everyday.parquet",),
        ("results/answers/a/everyday.parquet",),
    ]


def test_an_unknown_human_dataset_is_refused_with_the_near_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(ROOT)
    with pytest.raises(ConfigError, match="did you mean 'oasst_human'"):
        check(CONFIG | {"controls": {"human": ["oast_human"], "planted": 0}})


ROWS = read_labelled(ROOT / LABELLED_TURNS)


def test_each_english_conversation_has_one_injection_and_one_turn() -> None:
    items, turns = injected_items(ROWS), injected_turns(ROWS)
    english = {row["conversation"] for row in ROWS if row["language"] == "en"}
    assert set(items["item"]) == set(turns["item"]) == english
    assert items.height == turns.height == len(english)
    for messages in items["messages"]:
        said = [m["content"] for m in messages]
        assert [INSTRUCTION in text for text in said].count(True) == 1


def test_a_plan_counts_the_questions_that_are_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    grid = Grid(load_config(["config.yaml"]))
    (turns,) = injected(grid)
    assert turns.count({}).n == injected_turns(ROWS).height


def test_the_turn_is_a_bare_thanks_and_the_answer_is_untouched() -> None:
    turns = injected_turns(ROWS)
    answers = {row["conversation"]: row["messages"][-1]["content"] for row in reversed(ROWS)}
    assert set(turns["text"]) == {BAIT}
    assert all(answers[row["item"]] == row["answer"] for row in turns.to_dicts())
    assert (LABELS[IN_CONVERSATION], SOURCES[IN_CONVERSATION]) == ("generic", "injected")

"""Studies at the edges of evidence read right from their tables to the first screen."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.support.annotation_rounds import LABELS, annotated, key_of, study, together
from tests.support.labelled_study import NO_ANNOTATIONS
from tests.support.made_up_results import made_up_config, save
from tests.support.printed_output import text_of
from tests.support.snakemake_runs import ROOT
from userturn.cli.rates import show_rates
from userturn.report.headline import headline
from userturn.storage.table_files import TURN_KEYS
from userturn.study.grid import Grid
from userturn.study.record import record_study
from userturn.tables.judge_validity import CORRECTED, warning
from userturn.tables.make_tables import Material

YES, NO = LABELS[0], LABELS[3]
NOT_GIVEN = (
    "swapped_verdicts",
    "control_verdicts",
    "human_items",
    "labelled_verdicts",
    "edited_verdicts",
)


class Edge:
    """A study of one cell a model, made of what a judge and people said of each turn."""

    def __init__(self, folder: Path, judged: dict[str, list[str]], people: list[str]) -> None:
        """Take the judge's labels by model; people labelled the first turns of the round so."""
        config = made_up_config(list(judged), ["d"], (0,), ("none",), ("heuristic",))
        config["datasets"]["d"] = dict(config["datasets"]["gsm8k"])
        self.grid = Grid(config, folder / "results")
        record_study(config, "i", str(self.grid.results / "study.json"))
        turns, verdicts = together(
            *(study(said, model, judge="heuristic") for model, said in judged.items())
        )
        verdicts = verdicts.with_columns(unscored_reason=pl.lit(None, pl.String))
        turns = turns.with_columns(finish_reason=pl.lit("stop"))
        key = key_of(turns, verdicts, per_stratum=1000, genuine=1000)
        key = key.join(verdicts, on=TURN_KEYS, maintain_order="left").sort("item", "model")
        some = key.head(len(people))
        given = annotated(some, ann=people) if people else NO_ANNOTATIONS
        files = {"user_turns": turns, "verdicts": verdicts, "annotations": given}
        files["round_keys"] = key.select(key_of(turns, verdicts).columns)
        files["answers"] = turns.select("model", "dataset", "item", "finish_reason")
        for name, table in files.items():
            save(table, folder / f"{name}.parquet")
        paths = {name: [str(folder / f"{name}.parquet")] for name in files}
        paths |= {name: [] for name in NOT_GIVEN} | {"rubric": [str(ROOT / "data/rubric.yaml")]}
        material = Material(self.grid, paths)
        self.tables = {name: material.table(name) for name in ("rates", "judges")}
        for name, table in self.tables.items():
            save(table, self.grid.results / "tables" / f"{name}.parquet")

    @property
    def screen(self) -> str:
        """What `userturn rates` prints."""
        return text_of(show_rates(self.grid.results, with_all=True))

    @property
    def warning(self) -> str | None:
        """The sentence of the report, the figures and the printed tables."""
        return warning(self.tables["judges"], self.grid)

    def corrected(self) -> list[dict[str, Any]]:
        """The corrected rates that the report's headline shows."""
        return headline(self.tables, "heuristic", list(self.grid.models))["corrected"]


EDGES = {
    # judge's labels, people's labels of the first turns, what must stand in the sentence
    "no label": ([YES, NO] * 20, [], "sensitivity not shown, at least 9 labels"),
    "one label": ([YES, NO] * 20, [YES], "its lower limit must reach 0.7, at least 8 more"),
    "one side": ([NO] * 40, [NO] * 40, "sensitivity not shown, at least 9 labels"),
    "opposite labels": ([YES, NO] * 20, [NO, YES] * 20, "sensitivity 0.00 [0.00, "),
    "judge that accepts all": ([YES] * 40, [NO] * 40, "specificity 0.00 [0.00, "),
    "judge that accepts none": ([NO] * 40, [YES] * 40, "sensitivity 0.00 [0.00, "),
    "one item": ([YES], [YES], "specificity not shown, at least 35 labels"),
}


@pytest.mark.parametrize("name", EDGES)
def test_a_rate_of_such_a_study_is_no_finding_and_says_what_is_missing(
    tmp_path: Path, name: str
) -> None:
    judged, people, told = EDGES[name]
    edge = Edge(tmp_path, {"a-1b": judged}, people)
    said = edge.warning
    assert said is not None and said.startswith("Not a finding") and told in said
    assert said in edge.screen


@pytest.mark.parametrize(
    ("judged", "people", "estimate"),
    [
        ([YES] * 40, [NO] * 40, 0.0),  # accepts all; no event
        ([NO] * 40, [YES] * 40, 1.0),  # accepts none; all are events
        ([NO] * 40, [NO] * 40, 0.0),
        ([YES, NO] * 20, [NO, YES] * 20, 0.5),
    ],
)
def test_however_poor_the_judge_the_rate_that_people_correct_stands_first(
    tmp_path: Path, judged: list[str], people: list[str], estimate: float
) -> None:
    edge = Edge(tmp_path, {"a-1b": judged}, people)
    (row,) = edge.corrected()
    assert row["estimate"] == pytest.approx(estimate)
    assert row["lower"] <= estimate <= row["upper"] and row["upper"] - row["lower"] > 0.05
    first, *lines = edge.screen.splitlines()
    assert first.startswith(f"A finding: {estimate:.1%} [") and "by people's labels" in first
    of_model = [line for line in lines if line.startswith("a-1b ")]
    assert f"people's labels {estimate:.1%} [" in " ".join(of_model[0].split())
    assert "heuristic" in of_model[1]


def test_a_label_of_one_turn_corrects_no_rate(tmp_path: Path) -> None:
    edge = Edge(tmp_path, {"a-1b": [YES, NO] * 20}, [YES])
    assert edge.corrected() == []
    row = edge.tables["rates"].filter(scope="cell", label=YES).row(0, named=True)
    assert row["corrected_reason"] == "nobody has labelled a turn of 1 of its strata yet"


def test_a_judge_with_which_people_agree_on_both_sides_has_findings(tmp_path: Path) -> None:
    said = [YES, NO] * 40
    edge = Edge(tmp_path, {"a-1b": said}, said)
    assert edge.warning is None and not edge.screen.startswith("Not a finding")
    assert CORRECTED not in edge.screen
    assert "A finding: " in edge.screen


def test_of_two_models_each_has_its_own_corrected_rate(tmp_path: Path) -> None:
    edge = Edge(tmp_path, {"a-1b": [YES] * 40, "b-1b": [YES] * 40}, [YES, NO] * 40)
    found = {row["model"]: row["estimate"] for row in edge.corrected()}
    assert found == {"a-1b": pytest.approx(1), "b-1b": pytest.approx(0)}

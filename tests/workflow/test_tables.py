"""Which tables a study has, and what their identities follow from."""

from typing import Any

import pytest

from tests.support.snakemake_runs import ROOT
from userturn.config.load import load_config
from userturn.sources.registry import artifacts
from userturn.study.grid import Grid
from userturn.workflow.jobs import JOBS
from userturn.workflow.registry import FIGURE_RULES, FIGURES, TABLE_RULES, TABLES
from userturn.workflow.run_job import inputs_of
from userturn.workflow.study import Study, asked_for


@pytest.fixture(autouse=True)
def in_the_project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def demo(**changes: Any) -> Study:
    """Return the study of the demo with other settings, of which nothing is there yet."""
    config = load_config([ROOT / "config.yaml", ROOT / "profiles" / "demo" / "study.yaml"])
    for name, value in changes.items():
        config[name] = {**config[name], **value} if isinstance(value, dict) else value
    return Study(Grid(config, "nowhere"))


def changed(before: Study, after: Study) -> set[str]:
    """Return the rules of tables whose identity is another."""
    return {r for r in TABLE_RULES if before.tables.identity_of(r) != after.tables.identity_of(r)}


def test_tables_of_what_a_study_lacks_do_not_apply_to_it() -> None:
    # The demo has no conversations of several turns, languages, self-play, pairs, candidates,
    # controls among its perturbations or answers of other models, trains no model, and has no
    # embedder.
    lacking = {"languages", "self_play", "human_likeness", "crossed_answers", "unseen_answers"}
    lacking |= {"answer_signals", "training_overlap", "training_curve", "turn_similarity"}
    assert TABLES.keys() - set(demo().tables.names) == lacking
    figures = {"rates_by_turn", "rates_by_language", "self_play", "human_likeness"}
    assert FIGURES.keys() - set(demo().figures.names) == figures | {"answer_signals"}


def test_every_rule_that_makes_tables_or_figures_is_a_job_with_an_identity() -> None:
    rules = [*TABLE_RULES, *FIGURE_RULES]
    assert {rule for rule in rules if "identity" not in JOBS[rule].params} == set()


def test_costs_are_counted_after_every_reply_that_costs() -> None:
    study = demo()
    paths = [path for found in inputs_of(study, "tabulate_costs").values() for path in found]
    assert {*artifacts(study.grid)} <= set(paths)


def test_a_setting_changes_the_tables_that_are_made_by_it_and_those_made_of_them() -> None:
    # Of rule analyse the correlations are resampled, in a table of which the claims are made.
    resampled = {"analyse", "compare_with_margins", "compare_with_paper"}
    assert {"analyse"} <= changed(demo(), demo(statistics={"resamples": 7})) <= resampled


def test_another_input_changes_the_tables_that_are_made_of_it() -> None:
    one, other = demo(), demo()
    controls = other.inputs.control_verdicts[0]
    other.identities[controls] = "another"
    # Controls enter the table of judges, and what is made of it.
    direct = {"measure_judges", "tabulate"}
    assert direct <= changed(one, other)
    assert changed(one, other).isdisjoint({"tabulate_accuracy", "tabulate_likelihood"})


def test_a_version_changes_the_table_and_what_is_made_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before, figures = demo(), {rule: demo().figures.identity_of(rule) for rule in FIGURE_RULES}
    tables = {rule: before.tables.identity_of(rule) for rule in TABLE_RULES}
    monkeypatch.setitem(TABLES, "rates", TABLES["rates"]._replace(version=99))
    after = demo()
    # Rates are compared with the paper's, and drawn.
    other = {rule for rule in TABLE_RULES if after.tables.identity_of(rule) != tables[rule]}
    assert other == {"tabulate", "compare_with_paper"}
    drawn = {rule for rule in FIGURE_RULES if after.figures.identity_of(rule) != figures[rule]}
    assert drawn == {"draw_figures", "draw_likelihood", "draw_turns", "draw_languages"}


def test_margins_change_the_table_of_claims_the_report_and_no_other_artifact() -> None:
    margins = load_config([ROOT / "config.yaml"])["statistics"]["margins"] | {"near_zero": 0.01}
    before, after = asked_for(demo()), asked_for(demo(statistics={"margins": margins}))
    assert {path for path in before if before[path] != after[path]} == {
        "results/tables/equivalence.parquet",
        "results/report/index.html",
        "results/study.json",
    }

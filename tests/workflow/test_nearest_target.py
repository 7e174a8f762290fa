"""A target of Snakemake's command that nothing makes is told with the one that was meant."""

import logging
from types import SimpleNamespace

import pytest

from tests.support.snakemake_runs import ROOT
from userturn.config.load import load_config
from userturn.study.grid import Grid
from userturn.workflow.nearest_target import NearestTarget
from userturn.workflow.study import Study

SAID = "MissingRuleException:\nNo rule to produce {} (if you use input functions make sure that)."
RULES = [SimpleNamespace(name=name) for name in ("tabulate", "judge", "sweep")]


@pytest.mark.parametrize(
    ("target", "near"),
    [
        ("tabulat", ", did you mean 'tabulate'?"),
        ("results/tables/rate.parquet", ", did you mean 'results/tables/rates.parquet'?"),
        ("nonsense", "; `snakemake --list` has the rules, and results/README.md the files"),
    ],
)
def test_nearest_rule_or_file_of_the_study_is_named(target: str, near: str) -> None:
    config = load_config([ROOT / "config.yaml", ROOT / "profiles/demo/study.yaml"])
    workflow = SimpleNamespace(rules=RULES)
    record = logging.LogRecord("", logging.ERROR, "", 1, SAID.format(target), None, None)
    assert NearestTarget(Study(Grid(config, "nowhere")), workflow).filter(record)
    assert record.msg == f"error: no rule is called '{target}' or makes such a file{near}"

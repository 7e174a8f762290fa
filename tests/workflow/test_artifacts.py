"""Which artifacts a setting changes: identities of a study before and after."""

from typing import Any

import pytest

from tests.support.snakemake_runs import ROOT
from userturn.config.load import load_config
from userturn.study.grid import Grid
from userturn.workflow.study import Study, asked_for


def identities(**statistics: Any) -> dict[str, str | None]:
    config = load_config([ROOT / "config.yaml", ROOT / "profiles" / "demo" / "study.yaml"])
    config["statistics"] |= statistics
    return asked_for(Study(Grid(config, "nowhere")))


def test_margins_change_the_table_of_claims_the_report_and_no_other_table(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(ROOT)
    before = identities()
    margins = load_config([ROOT / "config.yaml"])["statistics"]["margins"] | {"near_zero": 0.01}
    after = identities(margins=margins)
    assert {path for path in before if before[path] != after[path]} == {
        "results/tables/equivalence.parquet",
        "results/report/index.html",
        "results/study.json",
    }

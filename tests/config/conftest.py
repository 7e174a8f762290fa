"""The shipped configuration, as tests of single keys change it."""

from typing import Any

import pytest
import yaml

from tests.support.snakemake_runs import ROOT


@pytest.fixture
def config(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The shipped configuration alone, in the project's folder."""
    monkeypatch.chdir(ROOT)
    loaded: dict[str, Any] = yaml.safe_load((ROOT / "config.yaml").read_text())
    return loaded

"""The list of checks is that of the docs."""

import re

from tests.support.snakemake_runs import ROOT
from userturn.audit.checks import CHECKS


def test_docs_name_the_same_checks() -> None:
    text = (ROOT / "docs/audit.md").read_text("utf-8")
    (part,) = re.findall("## What each check finds(.*?)\n## ", text, re.DOTALL)
    named = [
        name for row in re.findall(r"^\| ([a-z, ]+) \|", part, re.M) for name in row.split(", ")
    ]
    assert sorted({*named} - {"check"}) == sorted(CHECKS)

"""Seeded random mutations of a finished study are found, also with every hash corrected."""

import re
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from tests.support.forgery import forge
from tests.support.mutations import drawn_files, mutated_bytes, mutated_values
from tests.support.snakemake_runs import ROOT
from userturn.audit.run import audit

pytestmark = pytest.mark.slow

Mutation = Callable[[Path, Path, np.random.Generator], None]
few_or_more = pytest.mark.parametrize("n", [2, pytest.param(8, marks=pytest.mark.long)])
# docs/audit.md: by hash alone, or by the digest of records
NOT_MADE_AGAIN = re.compile(r"^models/tiny.json$|^provenance/")


def missed(study: Path, mutate: Mutation, n: int) -> list[str]:
    """Return which of n files an audit does not find mutated, each mutation in an honest study."""
    results, whole = study / "results", study / "whole"
    shutil.copytree(results, whole)
    passed = []
    for seed, path in enumerate(drawn_files(results, n, np.random.default_rng(0))):
        mutate(results, path, np.random.default_rng(seed))
        if not audit(results).findings:
            passed.append(path.relative_to(results).as_posix())
        shutil.rmtree(results)
        shutil.copytree(whole, results)
    return passed


@few_or_more
@pytest.mark.parametrize("mutate", [mutated_bytes, mutated_values])
def test_every_mutation_without_its_hash_is_found(study: Path, mutate: Mutation, n: int) -> None:
    assert missed(study, mutate, n) == []


@few_or_more
def test_every_edit_of_values_is_found_with_all_hashes_corrected(study: Path, n: int) -> None:
    passed = missed(study, partial(mutated_values, level="chain"), n)
    assert [path for path in passed if not NOT_MADE_AGAIN.search(path)] == []


@pytest.mark.parametrize(
    "page", ["report/index.html", "humans/first/task.html", "humans/first/label_studio/tasks.json"]
)
def test_edit_of_a_page_is_found_with_all_hashes_corrected(study: Path, page: str) -> None:
    path = study / "results" / page
    path.write_text(path.read_text("utf-8").replace("e", "a", 1), "utf-8")
    forge(study / "results", page, everywhere=True)
    found = [(finding.check, finding.artifact) for finding in audit(study / "results").findings]
    assert found == [("pages", f"results/{page}")]


def test_an_edited_description_of_the_files_is_found(study: Path) -> None:
    readme, ours = study / "results/README.md", ROOT / "results/README.md"
    for text, expected in ((ours.read_text("utf-8"), []), ("edited", ["results/README.md"])):
        readme.write_text(text, "utf-8")
        assert [finding.artifact for finding in audit(study / "results").findings] == expected


def test_edited_picture_is_found_and_other_fonts_are_not_accused(study: Path) -> None:
    pictures = sorted((study / "results" / "figures").glob("*.svg"))
    edited, *others = pictures
    edited.write_text(edited.read_text("utf-8").replace("</svg>", " </svg>"), "utf-8")
    forge(study / "results", f"figures/{edited.name}", everywhere=True)
    (found,) = audit(study / "results").findings
    assert (found.check, found.artifact) == ("figures", f"results/figures/{edited.name}")
    for path in others:
        path.write_text(path.read_text("utf-8") + " ", "utf-8")
        forge(study / "results", f"figures/{path.name}", everywhere=True)
    done = audit(study / "results")
    assert done.findings == []
    others = {of.artifact for of in done.statuses if "other fonts" in of.why}
    assert {f"results/figures/{path.name}" for path in pictures} <= others

"""The map of the library is complete: every module is named where a reader looks for it."""

import ast
import re
from pathlib import Path

import pytest

from tests.support.snakemake_runs import ROOT

LIBRARY = ROOT / "src" / "userturn"
PACKAGES = sorted(path.parent for path in LIBRARY.rglob("__init__.py"))
NAMED = re.compile(r"^([\w.]+/?): \S", re.MULTILINE)  # `file.py: what it does`


def docstring(package: Path) -> str:
    return ast.get_docstring(ast.parse((package / "__init__.py").read_text())) or ""


def files_of(package: Path) -> set[str]:
    modules = {path.name for path in package.glob("*.py")} - {"__init__.py"}
    return modules | ({"assets/"} if (package / "assets").is_dir() else set())


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: path.name)
def test_docstring_of_a_package_names_each_of_its_files_and_no_other(package: Path) -> None:
    assert set(NAMED.findall(docstring(package))) == files_of(package)


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: path.name)
def test_package_file_holds_a_docstring_and_nothing_else(package: Path) -> None:
    """A package that imports its modules would load Polars into Snakemake's process."""
    assert len(ast.parse((package / "__init__.py").read_text()).body) == 1

"""The project does not grow unnoticed: each number is lowered by hand, and raised with a reason.

The commit that raises one says why.
"""

import ast
from pathlib import Path

import pytest

from tests.support.snakemake_runs import ROOT

MOST = {  # by folder: lines, and statements of Python
    "src": (62_676, 34_840),
    "tests": (57_591, 32_831),
    "scripts": (25, 18),
    "rules": (258, 0),
}


def size(folder: Path) -> tuple[int, int]:
    """Return the number of lines in a folder's files, and of statements in those of Python."""
    texts = [
        (path.suffix, path.read_text())
        for path in folder.rglob("*")
        if path.suffix in (".py", ".smk")
    ]
    trees = [ast.parse(text) for suffix, text in texts if suffix == ".py"]
    n_statements = sum(isinstance(node, ast.stmt) for tree in trees for node in ast.walk(tree))
    return sum(text.count("\n") for _, text in texts), n_statements


@pytest.mark.parametrize("name", MOST)
def test_a_folder_has_no_more_lines_and_statements_than_it_had(name: str) -> None:
    n_lines, n_statements = size(ROOT / name)
    most_lines, most_statements = MOST[name]
    assert n_lines <= most_lines and n_statements <= most_statements, (n_lines, n_statements)


def test_lines_and_statements_are_counted(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("if x:\n    y = 1\n\n# more\n")
    (tmp_path / "b.smk").write_text("rule a:\n")
    (tmp_path / "c.txt").write_text("no\n")
    assert size(tmp_path) == (5, 2)

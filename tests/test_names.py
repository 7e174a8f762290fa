"""Names in the library are words of the field: the everyday words in their place grow fewer.

Each number is how often a word stands in a name that the library binds: of a function, a parameter
or a variable. It is lowered by hand, and raised only with a reason in the commit.
"""

import ast
from collections import Counter
from functools import cache

from tests.support.snakemake_runs import ROOT

MOST = {
    "drawn": 11,
    "form": 1,
    "found": 1,
    "given": 1,
    "held": 7,
    "kept": 1,
    "known": 5,
    "lent": 0,
    "made": 1,
    "place": 3,
    "said": 2,
    "taken": 1,
    "wanted": 0,
}
PREPOSITIONS = frozenset(
    ("of", "with", "without", "by", "in", "at", "beside", "over", "after", "before", "within", "on")
)
MOST_PREPOSITIONS = 6  # functions whose names begin with one and convert nothing


def words_of_names(tree: ast.AST) -> Counter[str]:
    """Return how often each word stands in a name that a module binds."""
    names = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.append(node.name)
        elif isinstance(node, ast.arg):
            names.append(node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.append(node.id)
    return Counter(word for name in names for word in name.lower().split("_"))


def functions_after_prepositions(tree: ast.AST) -> list[str]:
    """Return the functions whose names begin with a preposition."""
    return [
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        and node.name.strip("_").partition("_")[0] in PREPOSITIONS
    ]


@cache
def library() -> list[ast.Module]:
    return [ast.parse(path.read_text()) for path in sorted((ROOT / "src").rglob("*.py"))]


def test_everyday_words_in_names_do_not_become_more() -> None:
    words = sum((words_of_names(tree) for tree in library()), Counter())
    assert {word: words[word] for word in MOST if words[word] > MOST[word]} == {}


def test_functions_that_begin_with_a_preposition_do_not_become_more() -> None:
    names = [name for tree in library() for name in functions_after_prepositions(tree)]
    assert len(names) <= MOST_PREPOSITIONS, len(names)


def test_words_of_bound_names_are_counted() -> None:
    tree = ast.parse("def of_cell(found):\n    found_all, y = x, found\n")
    assert words_of_names(tree)["found"] == 2
    assert functions_after_prepositions(tree) == ["of_cell"]

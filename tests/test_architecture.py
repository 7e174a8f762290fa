"""The map of the library is complete: packages, modules and results are where a reader looks."""

import ast
import re
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest

from tests.support.snakemake_runs import ROOT
from userturn.tables.reference import stored_files
from userturn.workflow.jobs import every_job
from userturn.workflow.registry import FIGURES, TABLES

LIBRARY = ROOT / "src" / "userturn"
PACKAGES = sorted(path.parent for path in LIBRARY.rglob("__init__.py"))
NAMED = re.compile(r"^([\w.]+/?): \S", re.MULTILINE)  # `file.py: what it does`

PAGE = (ROOT / "docs" / "architecture.md").read_text()
RULE = re.compile(r"^(?:use )?rule (?:\w+ as )?(\w+)(?: with)?:\n((?:(?: .*)?\n)*)", re.MULTILINE)
OUTPUT = re.compile(r"^    output:\n((?:        .*\n)+)", re.MULTILINE)


def docstring(package: Path) -> str:
    return ast.get_docstring(ast.parse((package / "__init__.py").read_text())) or ""


def files_of(package: Path) -> set[str]:
    modules = {path.name for path in package.glob("*.py")} - {"__init__.py"}
    return modules | ({"assets/"} if (package / "assets").is_dir() else set())


def made_by_rules() -> set[tuple[str, str]]:
    """Return rule and artifact of every output, but for tables and figures."""
    texts = [path.read_text() for path in sorted((ROOT / "rules").glob("*.smk"))]
    written_out = {
        (rule, path)
        for text in texts
        for rule, body in RULE.findall(text)
        for output in OUTPUT.findall(body)
        for path in re.findall(r'"(results/[^"]+)"', output)
    }
    tabled = {
        (rule, path)
        for rule, job in every_job().items()
        for paths in job.outputs.values()
        for path in ([paths] if isinstance(paths, str) else paths)
    }
    made = {(rule, path.removeprefix("results/")) for rule, path in written_out | tabled}
    return {(rule, path) for rule, path in made if not path.startswith(("tables/", "figures/"))}


BY_NAME = {
    "grading": "\ndef verify(",
    "cli": "\ndef run(",
    "judges": "\nIS_DETERMINISTIC =",
    "sources": "\nSOURCE =",
}


def found_by_name(package: Path) -> set[str]:
    """Return the files of tables, figures, verifiers, commands and judge kinds.

    A user's word for one of them is its file's name, so they need no other list.
    """
    registered = {"tables": TABLES, "figures": FIGURES}.get(package.name, {})
    mark = BY_NAME.get(package.name)
    marked = {path.name for path in package.glob("*.py") if mark and mark in path.read_text()}
    return marked | {f"{name}.py" for name in registered}


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: path.name)
def test_docstring_of_a_package_names_each_of_its_files_and_no_other(package: Path) -> None:
    named, files = set(NAMED.findall(docstring(package))), files_of(package)
    assert named <= files
    assert files - named <= found_by_name(package)


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: path.name)
def test_package_file_holds_a_docstring_and_nothing_else(package: Path) -> None:
    """A package that imports its modules would load Polars into Snakemake's process."""
    if package == LIBRARY:  # whose `load` is the way into a notebook, and imports when called
        return
    assert len(ast.parse((package / "__init__.py").read_text()).body) == 1


def test_the_page_names_every_package_once() -> None:
    table = PAGE.partition("| package | what it is for |")[2].partition("\n\n")[0]
    named = re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)
    assert sorted(named) == sorted({package.name for package in PACKAGES} - {"userturn"})


def test_architecture_shows_the_layers_of_the_import_contract() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    layers = settings["tool"]["importlinter"]["contracts"][0]["layers"]
    assert "\n".join(f"    {layer}" for layer in layers) in PAGE


def test_every_output_of_a_rule_is_among_the_stored_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    said = {(rule, path) for file in stored_files() for rule in file.rules for path in file.paths}
    assert len(said) > 40
    assert made_by_rules() - said == set()


@pytest.mark.parametrize(("folder", "names"), [("tables", TABLES), ("figures", FIGURES)])
def test_every_table_and_figure_is_made_in_the_module_of_its_name(
    folder: str, names: dict[str, object]
) -> None:
    modules = {path.stem for path in (LIBRARY / folder).glob("*.py")}
    assert names.keys() - modules == set()


def test_every_rules_file_is_answered_by_the_part_of_the_study_of_its_name() -> None:
    stages = {path.stem for path in (ROOT / "rules").glob("*.smk")} - {"common", "audit", "jobs"}
    study = (LIBRARY / "workflow" / "study.py").read_text()
    assert (
        stages - set(re.findall(r"^        self\.(\w+)(?:: \w+)? = ", study, re.MULTILINE)) == set()
    )


def test_no_rule_is_longer_than_25_lines() -> None:
    texts = [path.read_text() for path in sorted((ROOT / "rules").glob("*.smk"))]
    lengths = {
        rule: 1 + sum(map(bool, map(str.strip, body.splitlines())))
        for text in texts
        for rule, body in RULE.findall(text)
    }
    assert len(lengths) > 5
    assert {rule: n for rule, n in lengths.items() if n > 25} == {}


def lines_of_code(paths: list[Path]) -> dict[str, int]:
    """Return the number of lines of each module and of each function in it."""
    lengths = {}
    for path in paths:
        text, name = path.read_text(), path.relative_to(ROOT).as_posix()
        lengths[name] = len(text.splitlines())
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                assert node.end_lineno is not None
                lengths[f"{name}:{node.name}"] = node.end_lineno - node.lineno + 1
    return lengths


def test_no_function_is_longer_than_60_lines_and_no_module_than_350() -> None:
    lengths = lines_of_code(sorted(LIBRARY.rglob("*.py")))
    assert len(lengths) > 1000
    assert {name: n for name, n in lengths.items() if n > (60 if ":" in name else 350)} == {}


def test_no_script_is_longer_than_25_lines_and_the_snakefile_not_than_40() -> None:
    lengths = lines_of_code(sorted((ROOT / "scripts").glob("*.py")))
    assert lengths
    assert {name: n for name, n in lengths.items() if n > 25} == {}
    assert len((ROOT / "Snakefile").read_text().splitlines()) <= 40


WHOLE_RUNS = {"workflow", "slurm"}  # tests of Snakemake and of a cluster, which no module answers


def test_every_test_file_begins_with_the_name_of_the_module_it_tests() -> None:
    """`test_budget.py` and `test_budget_under_load.py` are of `budget.py` in the same package."""
    lost = []
    for package in PACKAGES:
        modules = {path.stem for path in package.glob("*.py")}
        for test in sorted((ROOT / "tests" / package.name).glob("test_*.py")):
            words = test.stem.split("_")[1:]
            names = {"_".join(words[:n]) for n in range(1, len(words) + 1)}
            if package.name not in WHOLE_RUNS and not names & modules:
                lost.append(f"{package.name}/{test.name}")
    assert lost == []


def test_every_table_states_its_columns() -> None:
    modules = {name: LIBRARY / "tables" / f"{name}.py" for name in TABLES}
    assert [name for name, path in modules.items() if "SCHEMA" not in constants(path)] == []


def test_every_module_that_stored_files_name_exists(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    modules = {module for file in stored_files() for module in file.modules}
    assert [module for module in sorted(modules) if not (LIBRARY / module).exists()] == []


@cache
def constants(module: Path) -> dict[str, str]:
    """Return the value of each constant and alias that a module defines, as source text."""
    found = {}
    for node in ast.parse(module.read_text()).body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            (name, *_) = node.targets if isinstance(node, ast.Assign) else (node.target,)
            found[ast.unparse(name)] = ast.unparse(node.value)
    return found


# What each source and each judge kind has to say of itself.
PROTOCOL = {
    "SOURCE",
    *("IS_DETERMINISTIC", "SAW_LABELLED_TURNS", "HAS_ENDPOINT", "HAS_PROBABILITIES"),
    "IS_ENGLISH_ONLY",
}


def test_no_constant_is_defined_twice() -> None:
    modules: dict[tuple[str, str], list[str]] = {}
    for path in sorted(LIBRARY.rglob("*.py")):
        for constant in constants(path).items():
            modules.setdefault(constant, []).append(path.relative_to(LIBRARY).as_posix())
    twice = {pair: paths for pair, paths in modules.items() if len(paths) > 1}
    assert {name: paths for (name, _), paths in twice.items() if name not in PROTOCOL} == {}


def test_no_command_loads_a_package_that_runs_models_before_it_needs_one() -> None:
    """So an audit needs neither, and help is there at once."""
    code = (
        "import pkgutil, sys; from importlib import import_module; import userturn.cli as cli; "
        "[import_module(f'userturn.cli.{m.name}') for m in pkgutil.iter_modules(cli.__path__)]; "
        "print([name for name in ('torch', 'transformers', 'vllm') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_columns_that_identify_a_row_are_listed_once() -> None:
    """A list of key columns under another name is a second definition, too."""
    where = LIBRARY / "storage" / "table_files.py"
    space: dict[str, list[str]] = {}
    exec(compile(where.read_text(), where, "exec"), space)
    keys = [value for name, value in space.items() if name.endswith("_KEYS")]
    again = [
        f"{path.relative_to(LIBRARY)}: {name}"
        for path in sorted(LIBRARY.rglob("*.py"))
        for name, value in constants(path).items()
        if path != where and value in map(str, keys)
    ]
    assert len(keys) > 5
    assert again == []

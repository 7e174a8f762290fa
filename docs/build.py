"""Build the documentation site into build/site: `make docs`.

Sphinx and its theme are installed into build/sphinx, at the versions of envs/docs.lock. The
pages are copied to build/pages, where the help of every command and the notebook are written into
them. If `results` has a finished study, such as that of `make demo`, its pages become the example
study of the site, the notebook is run beside it, and pictures of it are taken anew. A warning of
Sphinx, such as a link that leads nowhere, ends the build with its exit code.
"""

import argparse
import ast
import json
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterator
from pathlib import Path

from userturn.cli.main import COMMANDS, parser

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
PAGES, SITE, SPHINX = BUILD / "pages", BUILD / "site", BUILD / "sphinx"
LOCK = ROOT / "envs" / "docs.lock"
RESULTS = ROOT / "results"
ROOT_PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "results/README.md")
BENCHMARKS = sorted(path.relative_to(ROOT) for path in (ROOT / "benchmarks").glob("*.md"))
TO_THE_INDEX = '<!doctype html><meta http-equiv="refresh" content="0; url=docs/index.html">'
EXAMPLE = ("report", "humans", "figures", "tables")  # folders of a study that the site shows


def main() -> int:
    """Build the site; return Sphinx's exit code."""
    install_sphinx()
    copy_pages()
    add_to(PAGES / "docs" / "commands.md", helps())
    is_finished = (RESULTS / "report" / "index.html").exists()  # the last thing that is made
    (PAGES / "docs" / "notebook.md").write_text("".join(notebook(is_finished)), "utf-8")
    if is_finished:
        copy_example()
        take_pictures()
    shutil.rmtree(SITE, ignore_errors=True)
    sphinx = [str(SPHINX / "bin" / "python"), "-m", "sphinx", "-b", "html"]
    strict = ["-n", "-W", "--keep-going", "-q"]
    return subprocess.run([*sphinx, *strict, str(PAGES), str(SITE)]).returncode


def copy_pages() -> None:
    """Copy what the site is made of, in the folders of the repository, so that links hold."""
    shutil.rmtree(PAGES, ignore_errors=True)
    shutil.copytree(ROOT / "docs", PAGES / "docs", ignore=shutil.ignore_patterns("*.py", "*.ipynb"))
    shutil.copy(ROOT / "docs" / "conf.py", PAGES)
    for path in (*ROOT_PAGES, *BENCHMARKS):
        (PAGES / path).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / path, PAGES / path)
    extra = PAGES / "extra"
    extra.mkdir()
    (extra / "index.html").write_text(TO_THE_INDEX, "utf-8")


def install_sphinx() -> None:
    """Install Sphinx at the versions of its lock, unless it is there."""
    stamp = SPHINX / LOCK.name
    if stamp.exists() and stamp.read_text() == LOCK.read_text():
        return
    venv.create(SPHINX, clear=True, with_pip=True)
    pip = [str(SPHINX / "bin" / "python"), "-m", "pip", "install", "-q"]
    subprocess.run([*pip, "--no-deps", "--require-hashes", "-r", str(LOCK)], check=True)
    shutil.copy(LOCK, stamp)


def add_to(page: Path, text: str) -> None:
    """Append a text to a page."""
    page.write_text(page.read_text("utf-8") + text, "utf-8")


def helps() -> str:
    """Return the help of every command, a section each."""
    parsers = parser(COMMANDS)
    (commands,) = (
        action.choices
        for action in parsers._actions
        if isinstance(action, argparse._SubParsersAction)
    )
    sections = (
        f"\n### {name}\n\n```text\n{commands[name].format_help()}```\n" for name in COMMANDS
    )
    return "\n## Each command in full\n" + "".join(sections)


def notebook(is_run: bool) -> Iterator[str]:
    """Yield the notebook as Markdown, with what its cells show if it is run beside a study."""
    cells = json.loads((ROOT / "docs" / "notebook.ipynb").read_text("utf-8"))["cells"]
    names: dict[str, object] = {}
    for cell in cells:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            yield f"{source}\n\n"
            continue
        yield f"```python\n{source}\n```\n\n"
        if is_run:
            yield shown(value_of(source, names))


def value_of(source: str, names: dict[str, object]) -> object:
    """Run a cell, and return the value of its last line."""
    *statements, last = ast.parse(source).body
    if not isinstance(last, ast.Expr):
        exec(source, names)
        return None
    exec(compile(ast.Module(statements, []), "cell", "exec"), names)
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names)


def shown(value: object) -> str:
    """Return a value as a notebook shows it, in HTML: a frame as a table, a chart as a picture."""
    if hasattr(value, "to_dict") and hasattr(value, "mark_point"):  # an Altair chart
        import vl_convert

        return f"<div>\n{vl_convert.vegalite_to_svg(value.to_dict())}\n</div>\n\n"
    if hasattr(value, "_repr_html_"):
        return f"<div style='overflow-x: auto'>\n{value._repr_html_()}\n</div>\n\n"
    return ""


def copy_example() -> None:
    """Copy what people open of the finished study into the site."""
    for name in EXAMPLE:
        if (RESULTS / name).exists():
            shutil.copytree(RESULTS / name, PAGES / "extra" / "docs" / "example" / name)


def take_pictures() -> None:
    """Take the pictures of the example study, where the tools of the tests are installed."""
    pictures = [sys.executable, "docs/pictures.py", str(RESULTS), str(PAGES / "docs" / "figures")]
    subprocess.run(pictures, cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)}, check=True)


if __name__ == "__main__":
    sys.exit(main())

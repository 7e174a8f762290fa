"""Both recipes of containers do the same, with files and commands that there are."""

import re
import subprocess

from tests.support.snakemake_runs import ROOT

DOCKER, APPTAINER = ((ROOT / "envs" / name).read_text() for name in ("Dockerfile", "userturn.def"))


def packages(recipe: str) -> list[str]:
    """Return the Debian packages that a recipe installs."""
    (found,) = re.findall(r"--no-install-recommends \\\n(.*?)\n", recipe)
    return found.strip("\\ ").split()


def test_both_recipes_begin_with_the_same_system_packages_and_lock() -> None:
    assert re.findall(r"^FROM (\S+)$", DOCKER, re.M) == re.findall(
        r"^From: (\S+)$", APPTAINER, re.M
    )
    assert packages(DOCKER) == packages(APPTAINER)
    assert "ARG LOCK=gpu" in DOCKER and "LOCK=gpu" in APPTAINER
    assert "make setup LOCK=$LOCK" in DOCKER and "make setup LOCK={{ LOCK }}" in APPTAINER
    assert (ROOT / "envs" / "locks" / "gpu.lock").is_file()


def test_what_a_build_needs_is_not_left_out_of_it() -> None:
    left_out = set((ROOT / ".dockerignore").read_text().split())
    assert not left_out & {".git", "src", "envs", "data", "README.md", "setup.py", "Makefile"}
    assert {".venv", "results/*", "logs"} <= left_out  # nobody's study, nobody's environment


def test_apptainer_takes_all_that_is_tracked_but_tests_and_documents() -> None:
    """It reads no .dockerignore: the whole folder has somebody's environment and results."""
    (files,) = re.findall(r"%files\n(.*?)\n\n", APPTAINER, re.S)
    taken = {line.split()[0] for line in files.splitlines()}
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True).stdout
    tracked = {name.partition("/")[0] for name in listed.split() if not name.startswith(".")}
    unneeded = {"CHANGELOG.md", "CONTRIBUTING.md", "docs", "tests", "results"}
    assert taken == tracked - unneeded | {".git", "results/README.md"}

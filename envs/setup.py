"""Install everything into `.venv`, at the versions of one lock: `python3 envs/setup.py`.

Needs Python 3.11 to 3.13 and nothing else. Run again, it returns at once unless the lock,
`pyproject.toml` or this file has changed. The environment variable LOCK names another lock than
this machine's. `python3 envs/setup.py FOLDER` installs nothing but fetches every package of the
lock into a folder, for a machine without a network (docs/deployment.md).
"""

from __future__ import annotations  # lets an older Python get as far as being refused

import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCKS = ROOT / "envs" / "locks"
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
STAMP = VENV / "installed.sha256"
OLDEST, NEWEST = (3, 11), (3, 13)
UV = "uv==0.13.9"
PYTORCH_CPU_INDEX = "https://download.pytorch.org/whl/cpu"  # PyPI has no "+cpu" builds


def main() -> None:
    """Bring `.venv` in line with the lock for this machine."""
    check_python(sys.version_info[:2])
    name, reason = choose_lock(platform.system(), platform.machine(), has_gpu())
    lock = LOCKS / f"{name}.lock"
    if sys.argv[1:]:
        fetch(lock, Path(sys.argv[1]))
        return
    fingerprint = fingerprint_of(lock, ROOT / "pyproject.toml", Path(__file__))
    if is_installed(fingerprint):
        say(f".venv holds the {name} lock ({reason}); nothing to do")
        return
    say(f"installing the {name} lock into .venv, because this is {reason}")
    STAMP.unlink(missing_ok=True)
    create_venv()
    install(lock)
    STAMP.write_text(fingerprint)
    say("done")


def check_python(version: tuple[int, ...]) -> None:
    """Stop unless the packages of the locks are built for this Python."""
    if not OLDEST <= version <= NEWEST:
        raise stop(
            f"this Python is too {'old' if version < OLDEST else 'new'}: "
            f"found {dotted(version)} at {sys.executable}, expected {dotted(OLDEST)} to "
            f"{dotted(NEWEST)}; install one of those and run `make setup PYTHON=python3.11`."
        )


def choose_lock(system: str, machine: str, gpu: bool) -> tuple[str, str]:
    """Return the lock for a machine, and what decided it."""
    if named := os.environ.get("LOCK"):
        known = sorted(path.stem for path in LOCKS.glob("*.lock"))
        if named not in known:
            raise stop(f"LOCK: found '{named}', expected one of {', '.join(known)}.")
        if (named == "mac") != (system == "Darwin"):
            fitting = "mac" if system == "Darwin" else "cpu or gpu"
            raise stop(f"LOCK: found '{named}' on {system}, expected {fitting}; leave LOCK out.")
        return named, "what LOCK says"
    if system == "Linux" and machine in ("x86_64", "aarch64"):
        gpu_found = "a working nvidia-smi" if gpu else "no working nvidia-smi"
        return "gpu" if gpu else "cpu", f"Linux on {machine} with {gpu_found}"
    if system == "Darwin" and machine == "arm64":
        return "mac", "macOS on Apple silicon"
    raise stop(
        f"there is no lock for this machine: found {system} on {machine}, expected Linux on x86_64 "
        "or aarch64, or macOS on arm64; use one of those (on Windows: WSL 2)."
    )


def has_gpu() -> bool:
    """Say whether NVIDIA's driver answers."""
    nvidia_smi = shutil.which("nvidia-smi")
    return nvidia_smi is not None and succeeds(nvidia_smi)


def fingerprint_of(*paths: Path) -> str:
    """Hash what an installation depends on."""
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in paths)).hexdigest()


def is_installed(fingerprint: str) -> bool:
    """Say whether the last installation ended well and had this fingerprint."""
    return PYTHON.exists() and STAMP.exists() and STAMP.read_text() == fingerprint


def create_venv() -> None:
    """Create `.venv` if it is missing or half made, as Debian leaves it without python3-venv."""
    uv = shutil.which("uv")
    if PYTHON.exists() and (uv or succeeds(str(PYTHON), "-m", "pip", "--version")):
        return
    shutil.rmtree(VENV, ignore_errors=True)
    maker = [uv, "venv", "--python", sys.executable] if uv else [sys.executable, "-m", "venv"]
    cure = "install the package python3-venv, or uv, and run `make setup` again"
    run([*maker, str(VENV)], cure)


def install(lock: Path) -> None:
    """Install the lock and userturn; the lock is complete, so nothing else is resolved."""
    installer = [*find_installer(), "--no-deps"]
    torch = locked(lock, "torch")
    cure = "check the network or the proxy settings and run `make setup` again"
    if "+cpu" in torch:
        wheel = f"put {wheel_of(torch)} into a folder, set PIP_FIND_LINKS to that folder"
        run([*installer, *torch_source(torch), torch], f"{wheel}, or {cure}")
    if no_index():
        cure = what_a_wheelhouse_lacks(lock)
    indexes = no_index() or pip_options("index-url")
    sources = [*indexes, *pip_options("find-links")]
    run([*installer, "--require-hashes", *sources, "-r", str(without_cpu_torch(lock))], cure)
    run([*installer, "--no-build-isolation", "-e", str(ROOT)], "see the lines above")


def fetch(lock: Path, folder: Path) -> None:
    """Fetch the packages of a lock, for this Python and system, and uv, into a folder."""
    pip = [sys.executable, "-m", "pip"]
    torch = locked(lock, "torch")
    cure = "check the network or the proxy settings and run the same command again"
    with tempfile.TemporaryDirectory() as scratch:
        needed = Path(scratch, "requirements.txt")
        needed.write_text(text_without_cpu_torch(lock))
        run(
            [
                *pip,
                "download",
                "--no-deps",
                "-d",
                str(folder),
                "--require-hashes",
                "-r",
                str(needed),
            ],
            cure,
        )
        run([*pip, "download", "--no-deps", "-d", str(folder), UV], cure)
        if "+cpu" in torch:
            run(
                [*pip, "download", "--no-deps", "-d", str(folder), *torch_source(torch), torch],
                cure,
            )
    say(f"{folder} has what `PIP_NO_INDEX=1 PIP_FIND_LINKS={folder} make setup` needs")


def without_cpu_torch(lock: Path) -> Path:
    """Write a lock without PyTorch's CPU build, whose index has a hash for each machine."""
    path = VENV / "requirements.txt"
    path.write_text(text_without_cpu_torch(lock))
    return path


def text_without_cpu_torch(lock: Path) -> str:
    """Return the requirements of a lock but for PyTorch's CPU build."""
    return re.sub(r"^torch==\S+\+cpu\b.*\n(?: .*\n)*", "", lock.read_text(), flags=re.MULTILINE)


def find_installer() -> list[str]:
    """Return uv's install command, or pip's if uv is not to be had: pip takes minutes longer."""
    uv = shutil.which("uv") or shutil.which("uv", path=VENV / "bin")
    pip = [str(PYTHON), "-m", "pip", "install"]
    if uv is None and succeeds(*pip, UV):
        uv = str(VENV / "bin" / "uv")
    if uv is None:
        say("uv could not be installed; going on with pip, which takes a few minutes")
    return [uv, "pip", "install", "--python", str(PYTHON)] if uv else pip


def wheel_of(torch: str) -> str:
    """Return the name of torch's wheel for this Python, with a star for the platform."""
    version = torch.partition("==")[2]
    return f"torch-{version}-cp{sys.version_info[0]}{sys.version_info[1]}-*.whl"


def torch_source(torch: str) -> list[str]:
    """Return where to get torch: a folder that pip is configured with, else PyTorch's index."""
    for folder in pip_setting("find-links"):
        if any(Path(folder).glob(wheel_of(torch))):
            return [*no_index(), "--find-links", folder]
    return ["--index-url", PYTORCH_CPU_INDEX]


def no_index() -> list[str]:
    """Return the option for a machine that reaches no index, if pip is told so; uv is not."""
    return ["--no-index"] if os.environ.get("PIP_NO_INDEX") else []


def what_a_wheelhouse_lacks(lock: Path) -> str:
    """Say where packages were looked for without a network, and how to fetch them."""
    folders = " ".join(pip_setting("find-links")) or "no folder that exists"
    return (
        f"packages were taken from {folders} alone, as PIP_NO_INDEX asks: fetch them again by "
        f"`make wheels LOCK={lock.stem}` on a machine with a network, this system and Python "
        f"{dotted(sys.version_info[:2])}, and name that folder in PIP_FIND_LINKS"
    )


def pip_options(name: str) -> list[str]:
    """Return a setting of pip as options: uv does not read pip's configuration."""
    return [word for value in pip_setting(name) for word in (f"--{name}", value)]


def pip_setting(name: str) -> list[str]:
    """Return a setting of pip, from the environment or its files, without folders that are gone."""
    values = os.environ.get("PIP_" + name.upper().replace("-", "_"), "").split()
    for python in (str(PYTHON), sys.executable):
        command = [python, "-m", "pip", "config", "get", f"global.{name}"]
        values = values or subprocess.run(command, capture_output=True, text=True).stdout.split()
    return [value for value in values if "://" in value or Path(value).exists()]


def locked(lock: Path, package: str) -> str:
    """Return `package==version` as the lock has it."""
    match = re.search(rf"^{package}==\S+", lock.read_text(), re.MULTILINE)
    if match is None:
        raise stop(
            f"{lock} names no {package}, expected one; make it again as {LOCKS}/README.md says."
        )
    return match.group()


def succeeds(*command: str) -> bool:
    """Run a command quietly and say whether it worked."""
    return subprocess.run(command, capture_output=True).returncode == 0


def run(command: list[str], cure: str) -> None:
    """Run a command in view; stop with `cure` if it fails."""
    print("+ " + " ".join(command), flush=True)
    code = subprocess.run(command, cwd=ROOT).returncode
    if code != 0:
        raise stop(f"the last command failed: found exit code {code}, expected 0; {cure}.")


def dotted(version: tuple[int, ...]) -> str:
    """Write a version as people do."""
    return ".".join(str(part) for part in version)


def say(text: str) -> None:
    """Print one line of progress."""
    print(f"setup: {text}", flush=True)


def stop(text: str) -> SystemExit:
    """Return the exception that ends this program with one sentence."""
    return SystemExit(f"setup: {text}")


if __name__ == "__main__":
    main()

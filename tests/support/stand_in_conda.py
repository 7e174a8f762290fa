"""A stand-in for conda, of which no channel can be reached here: a bare environment of Python.

It does what Snakemake asks of conda. An environment has the packages of its file and nothing else,
from a package index; but of a file with vLLM, whose CUDA build is gigabytes, those of the tests.
"""

import json
import shlex
import subprocess
import sys
import sysconfig
from itertools import pairwise
from pathlib import Path

import yaml

UV = Path(sys.executable).with_name("uv")
PROGRAM = '#!/bin/sh\nexec {python} -I {here} {root} "$@"\n'
ACTIVATE = 'export PATH="$1/bin:$PATH" CONDA_PREFIX="$1"\n'
FROM_TESTS = "packages_of_the_tests.pth"
TAKEN = Path("taken_from_elsewhere")  # a module a line, in the folder that jobs run in
AT_START = f"""
import atexit, sys

def note():
    elsewhere = {sysconfig.get_path("purelib")!r}
    files = {{name: str(getattr(module, "__file__", "")) for name, module in sys.modules.items()}}
    names = {{name.partition(".")[0] for name in files if files[name].startswith(elsewhere)}}
    with open({str(TAKEN)!r}, "a") as taken:
        print(*names, sep="\\n", file=taken)

atexit.register(note)
"""

OF_SNAKEMAKE = {  # what tells a job its inputs and outputs is Snakemake's, which started it
    "snakemake",
    *(f"snakemake_interface_{part}" for part in ("common", "logger_plugins", "storage_plugins")),
}


def put(root: Path) -> Path:
    """Write the program and return the folder to put on PATH."""
    folder = root / "bin"
    folder.mkdir(parents=True)
    here, python = (shlex.quote(str(path)) for path in (Path(__file__).resolve(), sys.executable))
    (folder / "conda").write_text(PROGRAM.format(python=python, here=here, root=root))
    (folder / "conda").chmod(0o755)
    (folder / "activate").write_text(ACTIVATE)
    return folder


def main(root: str, *asked: str) -> None:
    """Answer as conda does."""
    if asked[0] == "--version":
        print("conda 24.7.1")
    elif asked[0] == "info":
        print(json.dumps({"conda_prefix": root, "platform": "linux-64"}))
    elif asked[0] == "config":
        print(json.dumps({"get": {"channel_priority": "strict"}}))
    elif asked[0] == "env":
        given = dict(pairwise(asked))
        create(Path(given["--file"]), Path(given["--prefix"]))


def create(path: Path, prefix: Path) -> None:
    """Make an environment of a file."""
    packages = yaml.safe_load(path.read_text())["dependencies"][-1]["pip"]
    subprocess.run([UV, "venv", "--quiet", "--python", sys.executable, prefix], check=True)
    (site,) = prefix.glob("lib/python*/site-packages")
    if any(package.startswith("vllm=") for package in packages):
        (site / FROM_TESTS).write_text(sysconfig.get_path("purelib"))
        return
    (site / "sitecustomize.py").write_text(AT_START)
    install = [UV, "pip", "install", "--quiet", "--no-deps", "--python", prefix / "bin" / "python"]
    subprocess.run([*install, *packages], check=True)


if __name__ == "__main__":
    main(*sys.argv[1:])

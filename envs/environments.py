"""Write the conda environments from the lock for GPUs: `python envs/environments.py`.

An environment has the packages that its rules import and all that these need, at the lock's
versions. The package itself is not in it: Snakemake hands its own path for imports on to jobs.
"""

from __future__ import annotations

import re
from pathlib import Path

ENVS = Path(__file__).resolve().parent
LOCK = ENVS / "locks" / "gpu.lock"
EVERYWHERE = "jsonschema numpy polars pyarrow pyyaml"
ENVIRONMENTS = {
    "analysis": (
        "Prepares datasets, grades, counts, draws and audits: no GPU, no torch.",
        "aiohttp altair datasets datasketch gguf if-verifiable langdetect math-verify nltk openai "
        "py3langid scipy tabulate transformers vl-convert-python wcwidth",
    ),
    "generate": (
        "Loads a model and writes its answers and user turns: a GPU.",
        "accelerate gguf transformers vllm",
    ),
    "judge": ("Asks a judge over the network: neither a GPU nor torch.", "aiohttp openai"),
    "posttrain": (
        "Trains an adapter on a model: a GPU.",
        "accelerate datasets peft torch transformers trl",
    ),
}


def main() -> None:
    """Write every environment."""
    for name in ENVIRONMENTS:
        (ENVS / f"{name}.yaml").write_text(environment(name, LOCK.read_text()))


def environment(name: str, lock: str) -> str:
    """Return the file of an environment, given a lock."""
    does, imported = ENVIRONMENTS[name]
    pins, needed_by = locked(lock)
    needed = with_all_needed({*EVERYWHERE.split(), *imported.split()}, needed_by)
    lines = [f"      - {pins[package]}" for package in sorted(needed)]
    head = [
        f"# {does}",
        "# Made from the lock by envs/environments.py.",
        "channels: [conda-forge, nodefaults]",
        "dependencies:",
        "  - python=3.11",
        "  - pip",
        "  - pip:",
    ]
    return "\n".join([*head, *lines, ""])


def locked(lock: str) -> tuple[dict[str, str], dict[str, list[str]]]:
    """Return by a package's name its line of a lock, and the packages that need it."""
    pins, needed_by = {}, {}
    for block in re.split(r"\n(?=\S)", lock):
        pin = block.partition("\n")[0].removesuffix("\\").strip()
        name = bare(pin)
        pins[name] = pin
        needed_by[name] = [
            bare(line) for line in re.findall(r"^    # +(?:via )?(\S.*)", block, re.M)
        ]
    return pins, needed_by


def bare(requirement: str) -> str:
    """Return the name of a requirement, without extras and version."""
    return re.split(r"[\[=<> ;]", requirement)[0]


def with_all_needed(names: set[str], needed_by: dict[str, list[str]]) -> set[str]:
    """Return packages and all that they need, by name."""
    more = {name for name, users in needed_by.items() if names & set(users)} - names
    return with_all_needed(names | more, needed_by) if more else names


if __name__ == "__main__":
    main()

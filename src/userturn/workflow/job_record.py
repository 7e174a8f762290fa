"""Provenance: one record per job says what made an artifact, from what, when and where.

The record of the job that logs to `logs/judge/m/d/t0/none/j.log` is
`results/provenance/judge/m/d/t0/none/j.json`. Only records have times, machines and versions, so
that artifacts of equal content stay byte-equal. Paths start at the project's folder.
"""

import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from userturn.config.load import PACKED
from userturn.errors import UserError, note_error, noted_error, sentence, stays
from userturn.logs import log_to
from userturn.models.engine_account import noted_engines
from userturn.storage.files import SCHEMA_VERSION, files_written, write_text
from userturn.storage.hashing import beginning_sha256, file_sha256, fingerprint

# Packages on which an artifact may depend, recorded if the job has imported them.
PACKAGES = (
    *("altair", "datasets", "numpy", "openai", "peft", "polars", "scipy", "snakemake"),
    *("tokenizers", "torch", "transformers", "trl", "vl_convert", "vllm"),
)
PLACED = ("SLURM_JOB_ID", "SLURM_JOB_PARTITION", "SLURMD_NODENAME", "CUDA_VISIBLE_DEVICES")


@cache
def code_sha256() -> str:
    """Return one hash of this package's modules, as the version of code committed or not."""
    package = Path(__file__).parent.parent
    files = (f"{folder}/{name}" for folder, _, names in os.walk(package) for name in names)
    modules = [path for path in files if path.endswith(".py") and not path.startswith(f"{PACKED}/")]
    return fingerprint(
        [[path.removeprefix(f"{package}/"), file_sha256(path)] for path in sorted(modules)]
    )


def _commit() -> str | None:
    """Return the commit of this package's code, or None if it is in no repository."""
    here = Path(__file__)

    def git(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = ["git", "-C", str(here.parent), *arguments]
        return subprocess.run(command, capture_output=True, text=True)

    try:
        is_tracked = git("ls-files", "--error-unmatch", here.name).returncode == 0
        return (git("rev-parse", "HEAD").stdout.strip() or None) if is_tracked else None
    except OSError:
        return None


def _version(package: str) -> str | None:
    module = sys.modules.get(package)
    own = getattr(module, "__version__", None)
    try:
        return str(own) if own else version(package.replace("_", "-"))
    except PackageNotFoundError:
        return None


def _devices() -> list[str]:
    """Return the names of the GPUs that a job's engine saw."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available():
        return []
    return [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]


def surroundings() -> dict[str, Any]:
    """Return code, machine, versions and devices of this process, for its record."""
    versions = {name: _version(name) for name in PACKAGES if name in sys.modules}
    return {
        "code_sha256": code_sha256(),
        "commit": _commit(),
        "host": platform.node(),
        "system": platform.platform(),
        "versions": {"python": platform.python_version(), **versions},
        "devices": _devices(),
        "placed": {name: os.environ[name] for name in PLACED if name in os.environ},
    }


JobRecord = dict[str, Any]

LOGS = Path("logs")
RESULTS = Path("results")
PROVENANCE = RESULTS / "provenance"
JOURNALS = RESULTS / "journal"
SWEEPS_AFTER_OTHERS = ("sweep_after_others", "sweep_after_others_served")
# Rules that plan, and journal what they ask.
SWEEPS = ("sweep", "sweep_served", "plan_again", *SWEEPS_AFTER_OTHERS)
JOURNAL = ".jsonl"
SHA256 = re.compile("[0-9a-f]{64}")
COMMIT = re.compile("[0-9a-f]{40}|[0-9a-f]{64}")  # SHA-1 or SHA-256, as the repository has it
STAMP = ".snakemake_timestamp"  # Snakemake's own, in an output folder


@contextmanager
def recorded(job: Any) -> Iterator[None]:
    """Send a job's output to its log, and record its inputs and outputs once it is done.

    The job is the object `snakemake` of a script.

    Raises:
        UserError: an earlier attempt in this run met a lasting error, or an input is damaged.
    """
    log_to(job.log[0])
    if (earlier_error := noted_error(job.log[0])) is not None:
        raise UserError(f"{earlier_error} (not tried again)")
    began = _now()
    try:
        with files_written() as written:
            yield
    except Exception as error:
        if stays(error):
            note_error(job.log[0], str(sentence(error)))
        is_told = isinstance(error, UserError | OSError)
        if not is_told and (altered := ", ".join(_altered(_files(job.input)))):
            raise UserError(
                f"{altered}: damaged, or not what a job wrote there; delete it and run the same "
                "command again, which makes it again without asking anything twice"
            ) from error
        raise
    path = PROVENANCE / Path(job.log[0]).relative_to(LOGS).with_suffix(".json")
    write_record(path, _record(job, _earlier(path), began, {_relative(file) for file in written}))


def write_record(path: Path, content: Mapping[str, Any]) -> None:
    """Write a record with its checksum."""
    text = json.dumps({"checksum": fingerprint(content), **content}, indent=1, sort_keys=True)
    write_text(text + "\n", path)


def read_record(path: Path) -> JobRecord | None:
    """Return the record in a file, or None if it was altered or is no record."""
    try:
        content: JobRecord = json.loads(path.read_bytes())
        checksum = content.pop("checksum")
        whole = checksum == fingerprint(content) and _is_record(content)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None
    return content if whole else None


def _is_record(content: JobRecord) -> bool:
    """Return whether a record has the form that `_record` writes.

    All its paths must be inside the project, so that a record cannot lead elsewhere.
    """
    hashes = [content[kind] for kind in ("inputs", "outputs", "beside")]
    named = [name for group in (*hashes, content["journals"]) for name in group]
    digests = [digest for group in hashes for digest in group.values()]
    digests += [journal["sha256"] for journal in content["journals"].values()]
    sizes = [journal["n_bytes"] for journal in content["journals"].values()]
    texts = [content["rule"], *content["wildcards"].values(), *digests, content["schema_version"]]
    return (
        all(isinstance(text, str) for text in texts)
        and all(SHA256.fullmatch(digest) for digest in digests)
        and all(isinstance(size, int) for size in sizes)
        and isinstance(content["identity"], str | None)
        and isinstance(content["made"]["code_sha256"], str)
        and (content["made"]["commit"] is None or bool(COMMIT.fullmatch(content["made"]["commit"])))
        and all(_is_inside(Path(name)) for name in named)
        # Systems allow 255 bytes for each part of a path.
        and all(len(part) < 256 for name in named for part in name.encode().split(b"/"))
        and bool(content["outputs"])
    )


def _altered(paths: Iterable[str]) -> list[str]:
    """Return the paths of files that differ from what a job wrote."""
    records = (read_record(path) or {} for path in PROVENANCE.rglob("*.json"))
    noted = {name: sha for record in records for name, sha in record.get("outputs", {}).items()}
    return [path for path in paths if path in noted and file_sha256(path) != noted[path]]


def _earlier(path: Path) -> JobRecord:
    """Return the record of an earlier run of the same job, or an empty one."""
    return (read_record(path) if path.is_file() else None) or {}


def _record(job: Any, earlier: Mapping[str, Any], began: str, files: set[Path]) -> JobRecord:
    declared = set(_files(job.output))
    # Plans, pins and journals outlive their job, so a later job takes over their hashes.
    beside = {p: h for p, h in earlier.get("beside", {}).items() if Path(p).is_file()}
    written = {str(p) for p in files if _is_artifact(p)}
    if job.rule in SWEEPS:
        written.update(_killed_sweep_files(job.rule, job.wildcards, beside))
    settings = dict(job.params.items())
    return {
        "schema_version": SCHEMA_VERSION,
        "rule": job.rule,
        "wildcards": dict(job.wildcards.items()),
        "identity": settings.get("identity"),
        "inputs": _hashes(_files(job.input)),
        "outputs": _hashes(declared),
        "beside": beside | _hashes(path for path in written - declared if Path(path).is_file()),
        "journals": {**earlier.get("journals", {}), **_journals(job.rule, job.wildcards, files)},
        "made": {"began": began, "ended": _now(), **surroundings(), **_engines(earlier)},
    }


def _engines(earlier: Mapping[str, Any]) -> dict[str, Any]:
    """Return the engines that ran a model in this job and in earlier runs of it, if any."""
    before = earlier.get("made", {}).get("engines", [])
    engines = [*before, *(account for account in noted_engines() if account not in before)]
    return {"engines": engines} if engines else {}


def _killed_sweep_files(rule: str, wildcards: Any, recorded: Mapping[str, str]) -> Iterator[str]:
    """Yield the paths of a shard's notes, which change, and of its plans not recorded yet.

    A model's second sweep (after other models') has a record beside that of its first sweep. Each
    record has the plans that its sweep wrote.
    """
    model, shard = wildcards.model, wildcards.shard
    is_later = rule in SWEEPS_AFTER_OTHERS
    beside = "sweep" if is_later else SWEEPS_AFTER_OTHERS[0]
    others = _earlier(PROVENANCE / beside / model / f"{shard}.json").get("beside", {})
    plans = (RESULTS / "requests" / model).rglob(f"{shard}.parquet")
    yield from (str(path) for path in plans if str(path) not in {*recorded, *others})
    notes = (
        RESULTS / folder / f"{shard}.json"
        for folder in (f"served/{model}", f"sweeps/{model}/{'after_others/' * is_later}finished")
    )
    yield from (str(path) for path in notes if path.is_file())


def _journals(rule: str, wildcards: Any, files: set[Path]) -> dict[str, dict[str, Any]]:
    """Return length and sha256 of each journal that a job may have written to, by path.

    For a sweep these are all journals of its model. For a judge's job they are all in the folders
    that it wrote or read, so that files of killed jobs are recorded, too. Journals only grow, so a
    record describes the beginning of each file.
    """
    written = {path for path in files if path.suffix == JOURNAL}
    folders = {path.parent for path in written}
    if rule in SWEEPS:
        folders.add(JOURNALS / wildcards.model)
    if {"judge", "dataset"} <= set(wildcards.keys()):
        folders.add(JOURNALS / "judges" / wildcards.judge / wildcards.dataset)
    written.update(path for folder in folders for path in folder.rglob(f"[!.]*{JOURNAL}"))
    sizes = {path: path.stat().st_size for path in sorted(written)}
    return {
        str(path): {"n_bytes": size, "sha256": beginning_sha256(path, size)}
        for path, size in sizes.items()
    }


def _files(paths: Iterable[str]) -> Iterator[str]:
    """Yield the paths of files, with a folder replaced by all files inside it."""
    for path in map(Path, paths):
        files = sorted(path.rglob("*")) if path.is_dir() else [path]
        yield from (str(_relative(f)) for f in files if f.is_file() and f.name != STAMP)


def _is_artifact(path: Path) -> bool:
    return path.is_relative_to(RESULTS) and path.suffix != JOURNAL


def _relative(path: Path) -> Path:
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def _hashes(paths: Iterable[str]) -> dict[str, str]:
    """Return the sha256 of files by path, or by name only for files outside the project."""
    return {
        (path if _is_inside(Path(path)) else f"outside/{Path(path).name}"): file_sha256(path)
        for path in sorted(paths)
    }


def _is_inside(path: Path) -> bool:
    return not path.is_absolute() and ".." not in path.parts


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")

"""`userturn why`: how a file was made, and whether and why it would be made again now."""

import argparse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from userturn.cli.arguments import take_configfile
from userturn.cli.terminal import Output
from userturn.config.load import load_study
from userturn.errors import UserError, near_path
from userturn.storage.hashing import beginning_sha256, canonical_json, file_sha256, short_hash
from userturn.study.grid import Grid
from userturn.study.record import RECORD, read_study_record
from userturn.workflow.job_record import JobRecord
from userturn.workflow.jobs import every_job
from userturn.workflow.startup import checked_study
from userturn.workflow.study import asked_for, open_record
from userturn.workflow.study_files import Files

HELP = "explain how a file was made and what would change it"
EXAMPLES = ("why results/tables/rates.parquet",)


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    command.add_argument("path", help="a file of a results folder")
    take_configfile(command)


def run(arguments: argparse.Namespace) -> Output:
    """Run the command."""
    return why(arguments.path, arguments.configfile)


SHOWN_INPUTS = 8
LONGEST = 60  # characters shown of a setting
DATASET = (
    *("hub", "revision", "file", "config", "split", "files"),
    *("language", "limit", "condition", "instruction"),
)


@dataclass(frozen=True)
class Artifact:
    """A file of a study, by its path in records, with the record of the job that made it."""

    results: Path
    name: str
    record: JobRecord

    def file(self, name: str) -> Path:
        """Return the present path of a file in a record."""
        return Files(self.results, {}).at(name)

    @property
    def project(self) -> Path | None:
        """The folder of the study's project, or None if it is not beside the results."""
        folder = self.results.parent
        is_here = self.results.name == "results" and (folder / "Snakefile").is_file()
        return folder if is_here else None


def why(path: str, configfiles: Iterable[str] = ()) -> Output:
    """Return how a file of a results folder, which may be missing, was made, with its record.

    Raises:
        UserError: no job of a study made such a file.
    """
    artifact = find_artifact(Path(path))
    reasons = list(reasons_to_remake(artifact, [str(Path(p).resolve()) for p in configfiles]))
    lines = [*_origin(artifact), *_settings(artifact), *_inputs(artifact)]
    lines += _labelled("made again", reasons or ["no: nothing it depends on has changed"])
    numbers = {"file": artifact.name, "made_again": reasons, "record": artifact.record}
    return Output([artifact.name, *lines], numbers)


def find_artifact(path: Path) -> Artifact:
    """Return a file of a study with the newest record of a job that made it, or raise UserError."""
    whole = path.resolve()
    results = next((f for f in whole.parents if (f / "provenance").is_dir()), None)
    if results is None:
        raise UserError(
            f"'{path}' is not in a results folder with provenance records; expected a file such "
            "as results/tables/rates.parquet"
        )
    name = f"results/{whole.relative_to(results).as_posix()}"
    records = Files(results, {}).readable
    makers = [record for _, record in records if name in _written(record)]
    if not makers:
        if not whole.exists():
            raise UserError(
                f"'{path}' does not exist and no job has made it; expected a file of the study: "
                "`userturn status` has what is still to be done"
                f"{near_path(path)}"
            )
        kind = "a folder" if whole.is_dir() else "a file"
        raise UserError(
            f"'{path}' is {kind} that no job recorded in '{results}/provenance'; expected a file "
            "that a job of the study made"
        )
    return Artifact(results, name, max(makers, key=lambda record: str(record["made"]["ended"])))


def _written(record: JobRecord) -> dict[str, Any]:
    return {**record["outputs"], **record["beside"], **record["journals"]}


def _labelled(label: str, lines: Iterable[str]) -> list[str]:
    return [f"  {label if i == 0 else '':<11} {line}" for i, line in enumerate(lines)]


def _origin(artifact: Artifact) -> list[str]:
    record, job_run = artifact.record, artifact.record["made"]
    wildcards = ", ".join(f"{name} {value}" for name, value in sorted(record["wildcards"].items()))
    commit = f"commit {short_hash(job_run['commit'])}, " if job_run["commit"] else ""
    versions = ", ".join(
        f"{name} {version}" for name, version in sorted(job_run["versions"].items())
    )
    where = ", ".join([job_run["host"], *job_run["devices"]])
    job = every_job().get(record["rule"])
    done = [job.does, f"userturn.{job.function}"] if job else []
    return [
        *_labelled("rule", [f"{record['rule']}: {wildcards}" if wildcards else record["rule"]]),
        *_labelled("does", done),
        *_labelled("identity", [short(record["identity"] or "none: known by its inputs")]),
        *_labelled("code", [f"{commit}code {short_hash(job_run['code_sha256'])}", versions]),
        *_labelled("when", [f"{job_run['began']} to {job_run['ended']} on {where}"]),
    ]


def _settings(artifact: Artifact) -> list[str]:
    if not (artifact.results / RECORD).is_file():
        return _labelled("settings", ["unknown: the study has no record of its configuration"])
    grid = open_record(artifact.results)[1].grid
    groups = settings_of(grid, artifact.record["wildcards"])
    settings = {k: v for name, group in groups.items() for k, v in flat(name, group).items()}
    return _labelled("settings", (f"{name}: {short(value)}" for name, value in settings.items()))


def _inputs(artifact: Artifact) -> list[str]:
    states = [(_changed(artifact.file(n), h), n, h) for n, h in artifact.record["inputs"].items()]
    ordered = sorted(states, key=lambda state: (state[0] is None, state[1]))
    shown = ordered[: max(SHOWN_INPUTS, sum(state[0] is not None for state in ordered))]
    lines = [f"{name} {short(noted)}, {state or 'the same'}" for state, name, noted in shown]
    if len(ordered) > len(shown):
        lines.append(f"and {len(ordered) - len(shown)} more, the same")
    return _labelled("inputs", lines or ["none"])


def _changed(path: Path, noted: Any) -> str | None:
    """Return how a file differs from its record, or None.

    For a journal, which grows, only the recorded beginning is compared.
    """
    if not path.is_file():
        return "missing"
    if isinstance(noted, Mapping):
        sha256, noted = beginning_sha256(path, noted["n_bytes"]), noted["sha256"]
    else:
        sha256 = file_sha256(path)
    return None if sha256 == noted else f"now {short_hash(sha256)}"


def reasons_to_remake(artifact: Artifact, configfiles: Sequence[str]) -> Iterator[str]:
    """Yield reasons why an artifact would be made again or differs from its record."""
    record = artifact.record
    changed = _changed(artifact.file(artifact.name), _written(record)[artifact.name])
    if changed == "missing":
        yield "it is missing"
    elif changed:
        yield f"it was altered later: {changed}, made as {short(_written(record)[artifact.name])}"
    for name, noted in record["inputs"].items():
        if not name.startswith("outside/") and (state := _changed(artifact.file(name), noted)):
            yield f"input {name}: {state}, was {short(noted)}"
    if artifact.project is None:
        yield "(the project is not beside it, so the present configuration is not known)"
    elif record["identity"] is not None:
        with chdir(artifact.project):
            yield from _reasons_by_config(artifact, configfiles)


def _reasons_by_config(artifact: Artifact, configfiles: Sequence[str]) -> Iterator[str]:
    """Yield the settings that differ from the present configuration, in the project's folder."""
    record = artifact.record
    try:
        study = checked_study(load_study(configfiles))
        asked = asked_for(study)
    except UserError as error:
        yield f"(the present configuration is invalid: {error})"
        return
    expected = next((asked[name] for name in record["outputs"] if asked.get(name)), None)
    if expected == record["identity"]:
        return
    if not configfiles and (answer := _recorded_answer(artifact)) is not None:
        yield (
            f"{answer}; by config.yaml alone it would be: name the study's other files with "
            "`--configfile`"
        )
        return
    if expected is None:
        yield "the present configuration asks for nothing that this job made"
        return
    yield f"identity: {short(expected)} is now asked for, it has {short(record['identity'])}"
    if (artifact.results / RECORD).is_file():
        grid = open_record(artifact.results)[1].grid
        before = settings_of(grid, record["wildcards"])
        changes = list(differences(before, settings_of(study.grid, record["wildcards"])))
        yield from changes or ["none of the settings above differ"]


def _recorded_answer(artifact: Artifact) -> str | None:
    """Return a sentence if the recorded configuration, with today's files, asks for this file.

    It is None if the configuration asks for another file.
    """
    if not (artifact.results / RECORD).is_file():
        return None
    try:
        asked = asked_for(checked_study(read_study_record(artifact.results).config))
    except UserError as error:
        return f"not known, by the configuration that the study was run with ({error})"
    identities = [asked.get(name) for name in artifact.record["outputs"]]
    is_asked = artifact.record["identity"] in identities
    return "no, by the configuration that the study was run with" if is_asked else None


def short(value: Any) -> str:
    """Return a setting as a short text, and a hash as its beginning."""
    text = value if isinstance(value, str) else canonical_json(value)
    kind, _, digest = text.rpartition(":")
    if len(digest) == 64 and not set(digest) - set("0123456789abcdef"):
        return f"{kind}:{short_hash(digest)}" if kind else short_hash(digest)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def settings_of(grid: Grid, wildcards: Mapping[str, str]) -> dict[str, Any]:
    """Return the settings that affect a job's outputs, by readable names.

    A job without wildcards is affected by the settings of the whole study.
    """
    chosen: dict[str, Mapping[str, Any]] = {
        "model": grid.contents.models,
        "dataset": {name: _dataset(grid, name) for name in grid.contents.datasets},
        "perturbation": grid.contents.perturbations,
        "judge": grid.contents.judges,
    }
    settings: dict[str, Any] = {}
    for kind, entries in chosen.items():
        names = sorted(entries) if not wildcards else [wildcards.get(kind, "")]
        settings |= {f"{kind} {name}": entries[name] for name in names if name in entries}
    if not wildcards or {"model", "dataset"} <= set(wildcards):
        model = wildcards.get("model")
        settings["seed"] = grid.config["seed"]
        settings["answer"] = (
            grid.answer_settings(model) if model in grid.models else grid.config["answer"]
        )
    if not wildcards or "temperature" in wildcards:
        settings["temperature"] = wildcards.get("temperature", sorted(grid.temperatures))
        settings |= {key: grid.config[key] for key in ("samples", "user_turn")}
    if not wildcards:
        settings |= {key: grid.config[key] for key in ("primary_judge", "statistics")}
    return settings


def _dataset(grid: Grid, name: str) -> dict[str, Any]:
    entry = grid.config["datasets"][name]
    told = {key: entry[key] for key in DATASET if key in entry}
    return {**told, "identity": grid.contents.datasets[name]}


def flat(name: str, value: Any) -> dict[str, Any]:
    """Return nested settings as one mapping, with dotted names that begin with `name`."""
    if not isinstance(value, Mapping):
        return {name: value}
    return {key: v for k, inner in value.items() for key, v in flat(f"{name}.{k}", inner).items()}


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    """Yield each difference between two results of `settings_of` in words."""
    for group in sorted(before.keys() | now.keys()):
        if group not in before:
            yield f"{group}: not then, asked for now"
        elif group not in now:
            yield f"{group}: asked for then, not now"
        else:
            was, is_now = flat(group, before[group]), flat(group, now[group])
            for name in sorted(was.keys() | is_now.keys()):
                if was.get(name) != is_now.get(name):
                    texts = (short(s[name]) if name in s else "none" for s in (was, is_now))
                    yield "{}: {} then, {} now".format(name, *texts)

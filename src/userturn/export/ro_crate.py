"""Describe a study as a Workflow Run RO-Crate: its provenance records in the community's terms.

With the workflow's own files it is a Provenance Run Crate 0.5, the profile that describes every
step; without them a Process Run Crate 0.5 (https://www.researchobject.org/workflow-run-crate).
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from rocrate.rocrate import ROCrate

from userturn.export.crate_context import (
    Authors,
    add_authors,
    add_entity,
    add_parameters,
    add_software,
    describe_root,
    one_or_all,
)
from userturn.workflow.job_record import JobRecord
from userturn.workflow.jobs import every_job

WORKFLOW = "Snakefile"
RO_CRATE = "1.1"  # the version that the profiles 0.5 build on
CONTEXT = "https://w3id.org/ro/terms/workflow-run/context"
README = "README.md"
KINDS = {  # written out, since systems know different types
    ".csv": "text/csv",
    ".html": "text/html",
    ".js": "text/javascript",
    ".json": "application/json",
    ".jsonl": "application/jsonl",
    ".md": "text/markdown",
    ".parquet": "application/vnd.apache.parquet",
    ".png": "image/png",
    ".py": "text/x-python",
    ".svg": "image/svg+xml",
    ".tex": "text/x-tex",
    ".txt": "text/plain",
    ".xml": "application/xml",
    ".yaml": "application/yaml",
}


class Member(NamedTuple):
    """A file of an archive, or one that was left out of it.

    Attributes:
        path: path in the archive.
        n_bytes: its length.
        sha256: sha256 of its content.
        reason: why it was left out; None if it is included.
    """

    path: str
    n_bytes: int
    sha256: str
    reason: str | None = None


def crate_metadata(
    members: Iterable[Member], records: Mapping[str, JobRecord], authors: Authors = ()
) -> dict[str, Any]:
    """Return the content of `ro-crate-metadata.json`, equal for equal arguments.

    Args:
        members: all files of the archive except this one, and those that were left out.
        records: provenance records, by the names of their files.
        authors: of the study, as its CITATION.cff has them.
    """
    listed = {member.path: member for member in sorted(members)}
    has_workflow = WORKFLOW in listed and bool(records)
    crate = ROCrate(version=RO_CRATE)
    crate.metadata.extra_contexts.append(CONTEXT)
    describe_root(crate, records, has_workflow)
    files = {path: _add_file(crate, member) for path, member in listed.items()}
    values = add_parameters(crate, records.values())
    actions = [_add_action(crate, files, values, name, records[name]) for name in sorted(records)]
    crate.root_dataset["mentions"] = actions
    if has_workflow:
        _add_run(crate, files, records, actions)
        crate.mainEntity["input"] = [value["exampleOfWork"] for value in values.values()]
        crate.mainEntity["isBasedOn"] = add_software(crate)
    agents = add_authors(crate, authors)
    for action in crate.root_dataset["mentions"] if agents else []:
        action["agent"] = one_or_all(agents)
    content: dict[str, Any] = crate.metadata.generate()
    return content


def _add_file(crate: Any, member: Member) -> Any:
    """Add a file; one that was left out is identified by its hash, without a link."""
    known: dict[str, Any] = {"name": member.path}
    known |= {"sha256": member.sha256, "contentSize": str(member.n_bytes)}
    if member.reason is not None:
        why = f"Left out: {member.reason}"
        return add_entity(
            crate, f"#left-out/{member.path}", "CreativeWork", description=why, **known
        )
    if member.path == WORKFLOW:
        types = ["File", "SoftwareSourceCode", "ComputationalWorkflow", "HowTo"]
        known |= {"@type": types, "encodingFormat": "text/plain"}
        return crate.add_workflow(dest_path=WORKFLOW, properties=known, main=True, lang="snakemake")
    is_script = member.path.startswith("scripts/")
    known["@type"] = ["File", "SoftwareSourceCode"] if is_script else "File"
    suffix = PurePosixPath(member.path).suffix
    known["encodingFormat"] = KINDS.get(suffix, "application/octet-stream")
    if member.path == README:
        known["about"] = crate.root_dataset
    return crate.add_file(dest_path=member.path, properties=known)


def _entity(crate: Any, files: dict[str, Any], path: str, sha256: str) -> Any:
    """Return the file of a path; if it is neither included nor left out, by its hash."""
    if path not in files:
        where = f"#elsewhere/{path}"
        files[path] = add_entity(crate, where, "CreativeWork", name=path, sha256=sha256)
    return files[path]


def _tool(crate: Any, files: dict[str, Any], rule: str) -> Any:
    """Return what a rule runs: the function that the table of jobs names."""
    tool = f"#rule/{rule}"
    if tool not in files:
        job = every_job().get(rule)
        does = {"description": f"{job.does} By userturn.{job.function}."} if job else {}
        files[tool] = add_entity(crate, tool, "SoftwareApplication", name=rule, **does)
    return files[tool]


def made_files(record: JobRecord) -> dict[str, str]:
    """Return the sha256 of all files that a job made, by path: outputs, side files, journals."""
    journals = {path: journal["sha256"] for path, journal in record["journals"].items()}
    made: dict[str, str] = record["outputs"] | record["beside"] | journals
    return made


def _add_action(
    crate: Any,
    files: dict[str, Any],
    values: Mapping[tuple[str, str], Any],
    name: str,
    record: JobRecord,
) -> Any:
    coordinates = ", ".join(f"{k} {v}" for k, v in sorted(record["wildcards"].items()))
    versions = record["made"]["versions"]
    return crate.add_action(
        _tool(crate, files, record["rule"]),
        identifier=f"#job/{name}",
        object=one_or_all(
            [_entity(crate, files, *f) for f in record["inputs"].items()]
            + [values[pair] for pair in sorted(record["wildcards"].items())]
        ),
        result=one_or_all([_entity(crate, files, *f) for f in made_files(record).items()]),
        properties={
            "@type": "CreateAction",
            "name": f"{record['rule']}: {coordinates}" if coordinates else record["rule"],
            "description": "with " + ", ".join(f"{k} {v}" for k, v in sorted(versions.items())),
            "startTime": record["made"]["began"],
            "endTime": record["made"]["ended"],
        },
    )


def _add_run(
    crate: Any, files: dict[str, Any], records: Mapping[str, JobRecord], actions: Sequence[Any]
) -> None:
    """Add the workflow with its steps, and its run."""
    workflow = crate.mainEntity
    rules = sorted({record["rule"] for record in records.values()})
    steps = {rule: _add_step(crate, files, rule, i) for i, rule in enumerate(rules)}
    workflow["step"] = list(steps.values())
    workflow["hasPart"] = [files[f"#rule/{rule}"] for rule in rules]
    times = [record["made"] for record in records.values()]
    span = {
        "startTime": min(made["began"] for made in times),
        "endTime": max(made["ended"] for made in times),
    }
    taken, made = _ends(records)
    run = crate.add_action(
        workflow,
        identifier="#run",
        object=one_or_all([files[path] for path in taken]),
        result=one_or_all([files[path] for path in made]),
        properties={"@type": "CreateAction", "name": "The study", **span},
    )
    crate.root_dataset.append_to("mentions", run)
    _add_orchestration(crate, steps, records, actions, run, span)


def _add_orchestration(
    crate: Any,
    steps: Mapping[str, Any],
    records: Mapping[str, JobRecord],
    actions: Sequence[Any],
    run: Any,
    span: Mapping[str, str],
) -> None:
    """Add Snakemake, which controlled every action of the run."""
    controls = [
        crate.add_action(
            steps[records[name]["rule"]],
            identifier=f"#control/{name}",
            object=action,
            properties={"@type": "ControlAction", "name": f"Snakemake ran {name}"},
        )
        for name, action in zip(sorted(records), actions, strict=True)
    ]
    version = max(r["made"]["versions"].get("snakemake", "") for r in records.values())
    engine = add_entity(
        crate, "#snakemake", "SoftwareApplication", name="Snakemake", softwareVersion=version
    )
    crate.root_dataset.append_to(
        "mentions",
        crate.add_action(
            engine,
            identifier="#orchestration",
            object=controls,
            result=run,
            properties={"@type": "OrganizeAction", "name": "Snakemake ran the study", **span},
        ),
    )


def _add_step(crate: Any, files: dict[str, Any], rule: str, number: int) -> Any:
    example = files[f"#rule/{rule}"]
    position = str(number + 1)
    return add_entity(
        crate, f"#step/{rule}", "HowToStep", name=rule, position=position, workExample=example
    )


def _ends(records: Mapping[str, JobRecord]) -> tuple[list[str], list[str]]:
    """Return the inputs of the whole run that no job made, and the outputs that no job used."""
    taken = {path for record in records.values() for path in record["inputs"]}
    made = {path for record in records.values() for path in made_files(record)}
    outputs = {path for record in records.values() for path in record["outputs"]}
    return sorted(taken - made), sorted(outputs - taken)

"""Describe a study as a Workflow Run RO-Crate: its provenance records in the community's terms.

With the workflow's own files it is a Provenance Run Crate 0.5, the profile that describes every
step, and without them a Process Run Crate 0.5 (https://www.researchobject.org/workflow-run-crate).
"""

from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha1
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import yaml
from rocrate.model.contextentity import ContextEntity
from rocrate.rocrate import ROCrate

from userturn.config.load import INSTALLATION
from userturn.errors import UserError
from userturn.workflow.job_record import JobRecord
from userturn.workflow.jobs import every_job

CITATION = "CITATION.cff"
PROFILE = "https://w3id.org/ro/wfrun"
WORKFLOW_PROFILE = "https://w3id.org/workflowhub/workflow-ro-crate/1.0"
DESCRIPTION = (
    "Whether language models know what their user says next: user turns, verdicts, rates, tables, "
    "figures and the record of every step."
)
LICENCE = (
    "What was computed here may be used as its authors allow. What quotes a dataset or was written "
    "by a model is also under the licence of that dataset or model."
)
Authors = Sequence[Mapping[str, Any]]


def add_entity(crate: Any, entity_id: str, kind: str, **properties: Any) -> Any:
    """Add an entity that is no file to a crate, and return it."""
    return crate.add(ContextEntity(crate, entity_id, {"@type": kind, **properties}))


def one_or_all(entities: list[Any]) -> Any:
    """Return the only entity of a list, or the whole list if it has another length."""
    return entities[0] if len(entities) == 1 else entities


def describe_root(crate: Any, records: Mapping[str, JobRecord], has_workflow: bool) -> None:
    """Set the name, profiles, licence and date of a crate."""
    profiles = {f"{PROFILE}/process/0.5": "Process Run Crate"}
    if has_workflow:
        profiles[f"{PROFILE}/workflow/0.5"] = "Workflow Run Crate"
        profiles[f"{PROFILE}/provenance/0.5"] = "Provenance Run Crate"
        profiles[WORKFLOW_PROFILE] = "Workflow RO-Crate"
    crate.root_dataset["conformsTo"] = [
        add_entity(crate, url, "CreativeWork", name=name, version=url.rpartition("/")[2])
        for url, name in profiles.items()
    ]
    crate.name = "A study of userturn"
    crate.description = DESCRIPTION
    crate.root_dataset["license"] = add_entity(
        crate, "#licence", "CreativeWork", name="Terms of this study", description=LICENCE
    )
    ended = [record["made"]["ended"] for record in records.values()]
    crate.datePublished = max(ended, default="1970-01-01T00:00:00+00:00")


def authors_of(project: Path) -> Authors:
    """Return the authors in a study's own CITATION.cff, if it has one, or raise UserError."""
    own, ours = project / CITATION, INSTALLATION / CITATION
    if not own.is_file() or (ours.is_file() and own.read_bytes() == ours.read_bytes()):
        return []
    try:
        authors = yaml.safe_load(own.read_text(encoding="utf-8"))["authors"]
        if not all(isinstance(author, Mapping) and _name(author) for author in authors):
            raise ValueError("an author has no name")
    except (ValueError, LookupError, TypeError, yaml.YAMLError) as error:
        raise UserError(
            f"'{own}' names no authors ({type(error).__name__}); expected a list `authors` with "
            "`family-names` and `given-names`, or `name`: correct it, or remove the file"
        ) from error
    return list(authors)


def _name(author: Mapping[str, Any]) -> str:
    named = [author.get(key) for key in ("given-names", "family-names")]
    return str(author.get("name") or " ".join(str(part) for part in named if part))


def add_authors(crate: Any, authors: Authors) -> list[Any]:
    """Add authors to a crate and its root, and return them. An ORCID identifies a person."""
    added = []
    for number, author in enumerate(authors, 1):
        kind = "Organization" if "name" in author else "Person"
        properties = {"name": _name(author)}
        properties |= {key: str(author[key]) for key in ("affiliation", "email") if key in author}
        identifier = str(author.get("orcid") or f"#author/{number}")
        added.append(add_entity(crate, identifier, kind, **properties))
    if added:
        crate.root_dataset["author"] = one_or_all(added)
    return added


def folder_id(folder: Path) -> bytes:
    """Return the hash of a folder of plain files as Git and Software Heritage compute it.

    Source: https://www.swhid.org, "directories". Compiled Python files are left out.
    """
    entries = []
    for path in [path for path in folder.iterdir() if path.name != "__pycache__"]:
        if path.is_dir():
            entries.append((f"{path.name}/", "40000", path.name, folder_id(path)))
        else:
            content = _object_id(b"blob", path.read_bytes())
            entries.append((path.name, "100644", path.name, content))
    listed = [f"{mode} {name}\0".encode() + digest for _, mode, name, digest in sorted(entries)]
    return _object_id(b"tree", b"".join(listed))


def _object_id(kind: bytes, content: bytes) -> bytes:
    return sha1(kind + b" %d\0" % len(content) + content, usedforsecurity=False).digest()


def add_parameters(crate: Any, records: Iterable[JobRecord]) -> dict[tuple[str, str], Any]:
    """Add the values of all wildcards (model, temperature ...), returned by (name, value)."""
    pairs = sorted({pair for record in records for pair in record["wildcards"].items()})
    formal = {
        name: add_entity(
            crate, f"#parameter/{name}", "FormalParameter", name=name, additionalType="Text"
        )
        for name in sorted({name for name, _ in pairs})
    }
    return {
        (name, value): add_entity(
            crate,
            f"#value/{name}/{value}",
            "PropertyValue",
            name=name,
            value=value,
            exampleOfWork=formal[name],
        )
        for name, value in pairs
    }


WORKFLOW = "Snakefile"
RO_CRATE = "1.1"  # the version that the profiles 0.5 build on
CONTEXT = "https://w3id.org/ro/terms/workflow-run/context"
README = "README.md"
KINDS = {  # written out, since operating systems know different types
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
    """A file of an archive by its path there, or with `reason` a file that was left out of it."""

    path: str
    n_bytes: int
    sha256: str
    reason: str | None = None


def crate_metadata(
    members: Iterable[Member], records: Mapping[str, JobRecord], authors: Authors = ()
) -> dict[str, Any]:
    """Return the content of `ro-crate-metadata.json`, equal for equal arguments.

    Members are all other files of the archive, and those that were left out. Records come by the
    names of their jobs. Authors have the form that they have in CITATION.cff.
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
        crate.mainEntity["isBasedOn"] = add_entity(
            crate,
            "#userturn",
            "SoftwareSourceCode",
            name="userturn",
            # The Software Heritage identifier of the library's folder.
            identifier=f"swh:1:dir:{folder_id(Path(__file__).parents[1]).hex()}",
            license="https://spdx.org/licenses/Apache-2.0",
        )
    agents = add_authors(crate, authors)
    for action in crate.root_dataset["mentions"] if agents else []:
        action["agent"] = one_or_all(agents)
    content: dict[str, Any] = crate.metadata.generate()
    return content


def _add_file(crate: Any, member: Member) -> Any:
    """Add a file, or the hash of a left-out file, which gets no link."""
    properties: dict[str, Any] = {"name": member.path}
    properties |= {"sha256": member.sha256, "contentSize": str(member.n_bytes)}
    if member.reason is not None:
        why = f"Left out: {member.reason}"
        return add_entity(
            crate, f"#left-out/{member.path}", "CreativeWork", description=why, **properties
        )
    if member.path == WORKFLOW:
        types = ["File", "SoftwareSourceCode", "ComputationalWorkflow", "HowTo"]
        properties |= {"@type": types, "encodingFormat": "text/plain"}
        return crate.add_workflow(
            dest_path=WORKFLOW, properties=properties, main=True, lang="snakemake"
        )
    is_script = member.path.startswith("scripts/")
    properties["@type"] = ["File", "SoftwareSourceCode"] if is_script else "File"
    suffix = PurePosixPath(member.path).suffix
    properties["encodingFormat"] = KINDS.get(suffix, "application/octet-stream")
    if member.path == README:
        properties["about"] = crate.root_dataset
    return crate.add_file(dest_path=member.path, properties=properties)


def _entity(crate: Any, files: dict[str, Any], path: str, sha256: str) -> Any:
    """Return the entity of a file, which is added if the file is neither included nor left out."""
    if path not in files:
        where = f"#elsewhere/{path}"
        files[path] = add_entity(crate, where, "CreativeWork", name=path, sha256=sha256)
    return files[path]


def job_files(record: JobRecord) -> dict[str, str]:
    """Return the sha256 of all files that a job made, by path: outputs, side files, journals."""
    journals = {path: journal["sha256"] for path, journal in record["journals"].items()}
    files: dict[str, str] = record["outputs"] | record["beside"] | journals
    return files


def _add_action(
    crate: Any,
    files: dict[str, Any],
    values: Mapping[tuple[str, str], Any],
    name: str,
    record: JobRecord,
) -> Any:
    coordinates = ", ".join(f"{k} {v}" for k, v in sorted(record["wildcards"].items()))
    versions, rule = record["made"]["versions"], record["rule"]
    tool = f"#rule/{rule}"  # the function that the table of jobs names
    if tool not in files:
        job = every_job().get(rule)
        does = {"description": f"{job.does} By userturn.{job.function}."} if job else {}
        files[tool] = add_entity(crate, tool, "SoftwareApplication", name=rule, **does)
    return crate.add_action(
        files[tool],
        identifier=f"#job/{name}",
        object=one_or_all(
            [_entity(crate, files, *f) for f in record["inputs"].items()]
            + [values[pair] for pair in sorted(record["wildcards"].items())]
        ),
        result=one_or_all([_entity(crate, files, *f) for f in job_files(record).items()]),
        properties={
            "@type": "CreateAction",
            "name": f"{rule}: {coordinates}" if coordinates else rule,
            "description": "with " + ", ".join(f"{k} {v}" for k, v in sorted(versions.items())),
            "startTime": record["made"]["began"],
            "endTime": record["made"]["ended"],
        },
    )


def _add_run(
    crate: Any, files: dict[str, Any], records: Mapping[str, JobRecord], actions: Sequence[Any]
) -> None:
    inputs = {path for record in records.values() for path in record["inputs"]}
    written = {path for record in records.values() for path in job_files(record)}
    outputs = {path for record in records.values() for path in record["outputs"]}
    workflow = crate.mainEntity
    rules = sorted({record["rule"] for record in records.values()})
    tools = [files[f"#rule/{rule}"] for rule in rules]
    steps = {}
    for number, (rule, tool) in enumerate(zip(rules, tools, strict=True), 1):
        properties = {"name": rule, "position": str(number), "workExample": tool}
        steps[rule] = add_entity(crate, f"#step/{rule}", "HowToStep", **properties)
    workflow["step"] = list(steps.values())
    workflow["hasPart"] = tools
    times = [record["made"] for record in records.values()]
    began, ended = ([time[name] for time in times] for name in ("began", "ended"))
    span = {"startTime": min(began), "endTime": max(ended)}
    run = crate.add_action(
        workflow,
        identifier="#run",
        object=one_or_all([files[path] for path in sorted(inputs - written)]),
        result=one_or_all([files[path] for path in sorted(outputs - inputs)]),
        properties={"@type": "CreateAction", "name": "The study", **span},
    )
    crate.root_dataset.append_to("mentions", run)
    controls = [  # by Snakemake, of every action of the run
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

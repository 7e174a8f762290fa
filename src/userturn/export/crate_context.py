"""Who made a study, under which licence, with which code: the context of its RO-Crate."""

from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha1
from pathlib import Path
from typing import Any

import yaml
from rocrate.model.contextentity import ContextEntity

from userturn.config.load import INSTALLATION
from userturn.errors import UserError
from userturn.workflow.job_record import JobRecord

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


def add_entity(crate: Any, place: str, kind: str, **properties: Any) -> Any:
    """Add something that is no file to a crate, and return it."""
    return crate.add(ContextEntity(crate, place, {"@type": kind, **properties}))


def one_or_all(entities: list[Any]) -> Any:
    """Return a single entity without a list, as RO-Crate requires."""
    return entities[0] if len(entities) == 1 else entities


def describe_root(crate: Any, records: Mapping[str, JobRecord], has_workflow: bool) -> None:
    """Say what a crate is: its name, profiles, licence and date."""
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
    """Return the authors in a study's own CITATION.cff; none where it is the installation's.

    Raises:
        UserError: the file has another form.
    """
    own, ours = project / CITATION, INSTALLATION / CITATION
    if not own.is_file() or (ours.is_file() and own.read_bytes() == ours.read_bytes()):
        return []
    try:
        found = yaml.safe_load(own.read_text(encoding="utf-8"))["authors"]
        if not all(isinstance(author, Mapping) and _name(author) for author in found):
            raise ValueError("an author has no name")
    except (ValueError, LookupError, TypeError, yaml.YAMLError) as error:
        raise UserError(
            f"'{own}' names no authors ({type(error).__name__}); expected a list `authors` with "
            "`family-names` and `given-names`, or `name`: correct it, or remove the file"
        ) from error
    return list(found)


def _name(author: Mapping[str, Any]) -> str:
    named = [author.get(key) for key in ("given-names", "family-names")]
    return str(author.get("name") or " ".join(str(part) for part in named if part))


def add_authors(crate: Any, authors: Authors) -> list[Any]:
    """Add authors, a person by its ORCID if it has one, to a crate and its root."""
    added = []
    for number, author in enumerate(authors, 1):
        kind = "Organization" if "name" in author else "Person"
        known = {"name": _name(author)}
        known |= {key: str(author[key]) for key in ("affiliation", "email") if key in author}
        identifier = str(author.get("orcid") or f"#author/{number}")
        added.append(add_entity(crate, identifier, kind, **known))
    if added:
        crate.root_dataset["author"] = one_or_all(added)
    return added


def add_software(crate: Any) -> Any:
    """Add the code, identified by the Software Heritage identifier of its folder."""
    package = Path(__file__).parents[1]
    return add_entity(
        crate,
        "#userturn",
        "SoftwareSourceCode",
        name="userturn",
        identifier=f"swh:1:dir:{folder_id(package).hex()}",
        license="https://spdx.org/licenses/Apache-2.0",
    )


def folder_id(folder: Path) -> bytes:
    """Return the hash of a folder of plain files as Git and Software Heritage compute it.

    Source: https://www.swhid.org, "directories"; what Python has compiled is not counted.
    """
    entries = []
    for path in [path for path in folder.iterdir() if path.name != "__pycache__"]:
        if path.is_dir():
            entries.append((f"{path.name}/", "40000", path.name, folder_id(path)))
        else:
            content = _object_id(b"blob", path.read_bytes())
            entries.append((path.name, "100644", path.name, content))
    listed = [f"{mode} {name}\0".encode() + found for _, mode, name, found in sorted(entries)]
    return _object_id(b"tree", b"".join(listed))


def _object_id(kind: bytes, content: bytes) -> bytes:
    return sha1(kind + b" %d\0" % len(content) + content, usedforsecurity=False).digest()


def add_parameters(crate: Any, records: Iterable[JobRecord]) -> dict[tuple[str, str], Any]:
    """Add the values of model, temperature and so on; return them by name and value."""
    found = sorted({pair for record in records for pair in record["wildcards"].items()})
    formal = {
        name: add_entity(
            crate, f"#parameter/{name}", "FormalParameter", name=name, additionalType="Text"
        )
        for name in sorted({name for name, _ in found})
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
        for name, value in found
    }

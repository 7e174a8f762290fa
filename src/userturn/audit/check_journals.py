"""Does every journal begin with what jobs recorded of it, and have no line that no job recorded?

And do the names under which journals are kept agree with the study? Nothing in a finished study
follows from these names, but they decide what a later run asks again.
"""

from collections.abc import Iterator, Mapping
from shlex import quote
from typing import Any

from userturn.audit.findings import SNAKEMAKE, Finding
from userturn.endpoints.budget import is_sound
from userturn.storage.files import read_artifact, read_json
from userturn.storage.hashing import beginning_sha256, short_hash
from userturn.study.aliases import NOTHING, STORED, read_object
from userturn.study.grid import Grid
from userturn.workflow.job_record import JOURNAL, code_sha256
from userturn.workflow.study_files import FAULTS, Files, is_hidden

COSTS = "results/journal/costs/"  # accounts grow with every question and affect no row
PATH = "results/journal/aliases.json"
# Aliases are written by each run with a job, before its first job.
AGAIN = f"{SNAKEMAKE} --force results/study.json && {SNAKEMAKE}"
FIX = "restore the file from a copy, or remove it: the next run of the study writes it"


def check_journals(files: Files) -> Iterator[Finding]:
    """Yield journals that differ from what jobs recorded of them, and damaged accounts of costs."""
    if not files.has_journals:
        return  # which the checklist says
    for maker, record in files.readable:
        for name, noted in record["journals"].items():
            path = files.at(name)
            is_whole = path.is_file() and path.stat().st_size >= noted["n_bytes"]
            digest = beginning_sha256(path, noted["n_bytes"]) if is_whole else None
            if digest != noted["sha256"] and name not in files.left_out:
                yield Finding(
                    "journals",
                    name,
                    f"{noted['n_bytes']} first bytes of sha256 {short_hash(noted['sha256'])}",
                    "no file of that length" if digest is None else f"sha256 {short_hash(digest)}",
                    f"restore the file from a copy, or leave it: {maker} says what it was used for",
                )
    yield from _unrecorded_lines(files)
    yield from _accounts(files)


def _accounts(files: Files) -> Iterator[Finding]:
    """Yield damaged accounts of costs, trials in another judge's folder, and non-empty locks."""
    journals = files.results / "journal"
    folder = journals / "costs"
    damaged = [path for path in folder.glob("*/[!.]*.account") if not is_sound(path.read_bytes())]
    empty = [*journals.rglob("lock"), *folder.glob("in_flight/*/[!.]*")]
    damaged += [path for path in empty if path.is_file() and path.stat().st_size]
    trials = folder.glob("*/trial.json")
    damaged += [path for path in trials if read_object(path).get("judge") != path.parent.name]
    for path in sorted(damaged):
        name = f"results/{path.relative_to(files.results).as_posix()}"
        fix = "restore the file from a copy, or correct an account by `userturn costs --paid`"
        yield Finding("journals", name, "as its process left it", "another content", fix)


def _unrecorded_lines(files: Files) -> Iterator[Finding]:
    """Yield journals with lines that no job recorded, since these could replace recorded lines."""
    recorded: dict[str, int] = {}
    for _, record in files.readable:
        for name, noted in record["journals"].items():
            recorded[name] = max(recorded.get(name, 0), noted["n_bytes"])
    for path in sorted((files.results / "journal").rglob(f"*{JOURNAL}")):
        name = f"results/{path.relative_to(files.results).as_posix()}"
        if is_hidden(name):
            continue
        n_recorded = recorded.get(name, 0)
        with path.open("rb") as file:
            file.seek(n_recorded)
            if file.read().strip() and not name.startswith(COSTS):
                fix = f"mv {quote(name)} ."
                if n_recorded:  # its beginning stays
                    fix += f" && head -c {n_recorded} {quote(path.name)} > {quote(name)}"
                yield Finding(
                    "journals",
                    name,
                    f"{n_recorded} bytes, as its jobs recorded",
                    f"{path.stat().st_size} bytes; if a job was killed, the next `snakemake` "
                    "that asks for what it asked for records its lines",
                    fix,
                )


def check_aliases(files: Files, grid: Grid) -> Iterator[Finding]:
    """Yield a finding if the aliases are missing, or contradict configuration or descriptions."""
    path = files.at(PATH)
    if not path.is_file():
        if _are_missing(files):
            yield Finding("journals", PATH, "names of the study's journals", "no file", AGAIN)
        return
    try:
        wrong = _wrong(files, grid, read_json(path))
    except FAULTS:
        wrong = "not aliases"
    if wrong is not None:
        yield Finding("journals", PATH, "the names and content that the study has", wrong, FIX)


def _are_missing(files: Files) -> bool:
    """Return whether a study with journals, made by this version, lost its aliases.

    Earlier versions wrote no aliases, and a copy may be without them.
    """
    if PATH in files.left_out or not any(files.results.glob("journal/*/*/*.jsonl")):
        return False
    return any(record["made"]["code_sha256"] == code_sha256() for _, record in files.readable)


def _wrong(files: Files, grid: Grid, content: dict[str, Any]) -> str | None:
    if content.keys() != NOTHING.keys():
        return "other keys than aliases have"
    asked_as = {
        "models": {name: grid.places.model_name(name) for name in grid.models},
        "datasets": {name: grid.places.dataset_name(name) for name in grid.prepared_datasets},
    }
    for kind, places in asked_as.items():
        stored_names = content["places"][kind]
        for name, original in places.items():
            if stored_names.get(name, original) != original:
                return f"{name} asked as {stored_names[name]}"
        for identity, stored in _stored(files, kind, stored_names).items():
            asked_under = content["identities"][kind].get(identity, stored)
            if stored.isdisjoint(asked_under):
                return f"{min(stored)} asked as {', '.join(asked_under)}"
    contents, forms = content["contents"], content["forms"]
    described = [read_object(path) for path in sorted(files.results.glob(STORED["models"]))]
    of_models = {layout: digest for d in described for layout, digest in d.get("forms", {}).items()}
    named = {digest for d in described for digest in d.get("identity", {}).values()}
    named |= {*contents, *of_models.values()}
    strange = {*contents.values()} - named - {*forms.values()}
    strange |= {forms.get(layout, digest) for layout, digest in of_models.items()} - named
    return f"content known as {min(strange)}, which nothing else names" if strange else None


def _stored(files: Files, kind: str, places: Mapping[str, str]) -> dict[str, set[str]]:
    """Return the original names of all stored files of a kind, by identity."""
    stored: dict[str, set[str]] = {}
    for path in sorted(files.results.glob(STORED[kind])):
        name = path.name.removesuffix(path.suffix)
        if (identity := read_artifact(path).get("identity")) is not None:
            stored.setdefault(identity, set()).add(places.get(name, name))
    return stored

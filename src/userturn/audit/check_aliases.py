"""Do the names that journals are kept under agree with the study?

Nothing in a finished study follows from them; what a later run asks again does.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from userturn.audit.findings import SNAKEMAKE, Finding
from userturn.provenance.study_files import FAULTS, Files
from userturn.provenance.surroundings import code_sha256
from userturn.storage.atomic_files import read_artifact
from userturn.storage.given_files import given_object
from userturn.study.aliases import NOTHING, STORED, read_object
from userturn.study.grid import Grid

PATH = "results/journal/aliases.json"
# A run that has a job writes them before it.
AGAIN = f"{SNAKEMAKE} --force results/study.json && {SNAKEMAKE}"
FIX = "restore the file from a copy, or remove it: the next run of the study writes it"


def check_aliases(files: Files, grid: Grid) -> Iterator[Finding]:
    """Yield what the aliases of a study say that its configuration and descriptions do not."""
    place = files.at(PATH)
    if not place.is_file():
        if _are_missing(files):
            yield Finding("journals", PATH, "names of the study's journals", "no file", AGAIN)
        return
    try:
        wrong = _wrong(files, grid, given_object(place))
    except FAULTS:
        wrong = "not aliases"
    if wrong is not None:
        yield Finding("journals", PATH, "the names and content that the study has", wrong, FIX)


def _are_missing(files: Files) -> bool:
    """Return whether a study with journals, made by this version, lost its aliases.

    Versions before them wrote none, and a copy may be without.
    """
    if PATH in files.left_out or not any(files.results.glob("journal/*/*/*.jsonl")):
        return False
    return any(record["made"]["code_sha256"] == code_sha256() for _, record in files.readable)


def _wrong(files: Files, grid: Grid, content: dict[str, Any]) -> str | None:
    if content.keys() != NOTHING.keys():
        return "other keys than aliases have"
    asked_as = {
        "models": {name: grid.places.of_model(name) for name in grid.models},
        "datasets": {name: grid.places.of_dataset(name) for name in grid.prepared_datasets},
    }
    for kind, places in asked_as.items():
        kept = content["places"][kind]
        for name, place in places.items():
            if kept.get(name, place) != place:
                return f"{name} asked as {kept[name]}"
        for identity, stored in _stored(files, kind, kept).items():
            asked_under = content["identities"][kind].get(identity, stored)
            if stored.isdisjoint(asked_under):
                return f"{min(stored)} asked as {', '.join(asked_under)}"
    contents, forms = content["contents"], content["forms"]
    described = [read_object(path) for path in sorted(files.results.glob(STORED["models"]))]
    of_models = {form: known for d in described for form, known in d.get("forms", {}).items()}
    named = {known for d in described for known in d.get("identity", {}).values()}
    named |= {*contents, *of_models.values()}
    strange = {*contents.values()} - named - {*forms.values()}
    strange |= {forms.get(form, known) for form, known in of_models.items()} - named
    return f"content known as {min(strange)}, which nothing else names" if strange else None


def _stored(files: Files, kind: str, places: Mapping[str, str]) -> dict[str, set[str]]:
    """Return the places of what the study has of a kind, by identity."""
    found: dict[str, set[str]] = {}
    for path in sorted(files.results.glob(STORED[kind])):
        name = path.name.removesuffix(path.suffix)
        if (identity := read_artifact(path).get("identity")) is not None:
            found.setdefault(identity, set()).add(places.get(name, name))
    return found

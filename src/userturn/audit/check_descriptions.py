"""Does a model's description say what its entry in the configuration and its pin say?"""

from collections.abc import Iterator, Mapping
from typing import Any

from userturn.audit.findings import Finding, Note, remake
from userturn.config.formats import model_of
from userturn.config.model_keys import ModelEntry
from userturn.errors import UserError
from userturn.models.fetch import COMMIT, is_local
from userturn.prompts.load_template import options_of
from userturn.provenance.study_files import Files
from userturn.storage.given_files import given_object
from userturn.study.grid import Grid


def check_descriptions(files: Files, grid: Grid) -> Iterator[Finding | Note]:
    """Yield what a model's description does not say as its entry and its pin do."""
    for name, line in grid.models.items():
        path = f"results/models/{name}.json"
        if not files.at(path).is_file():
            continue
        try:
            description = given_object(files.at(path))
        except UserError as error:
            yield Finding("pins", path, "the description of a model", str(error), remake(path))
            continue
        pinned = str(description.get("revision"))
        if not is_local(line["source"]) and not COMMIT.fullmatch(pinned):
            yield Finding("pins", path, "the commit of a hub model", pinned, remake(path))
        # The folder of a model that was trained here moves with the results.
        if "recipe" not in line:
            yield from _not_as_asked(path, description, line)
        yield from _pin(files, model_of(name), description)
        if not description.get("proofs"):
            yield Finding("proofs", path, "proofs of its prompts", "none", remake(path))
        if line["trust_remote_code"]:
            yield Note("trust_remote_code", path, f"{name} runs code from its repository")


def _not_as_asked(
    path: str, description: Mapping[str, Any], entry: ModelEntry
) -> Iterator[Finding]:
    """Yield what a model's description and its entry in the configuration do not agree on."""
    asked = {
        "source": entry["source"],
        "revision_asked_for": entry["revision"],
        "trust_remote_code": entry["trust_remote_code"],
        "template_options": options_of(entry),
    }
    for name, expected in asked.items():
        found = description.get(name)
        if found != expected:
            yield Finding("pins", path, f"{name} {expected}", str(found), remake(path))


def _pin(files: Files, model: str, description: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield a pinned revision that differs from the model's description."""
    path = f"results/revisions/{model}.json"
    if not files.at(path).is_file():
        return  # found missing
    try:
        pin = given_object(files.at(path))
    except UserError as error:
        yield Finding("pins", path, "the pin of a model", str(error), remake(path))
        return
    there = [pin.get(name) for name in ("source", "asked_for", "revision")]
    if there != [description.get(n) for n in ("source", "revision_asked_for", "revision")]:
        expected = f"the revision that results/models/{model}.json describes"
        yield Finding("pins", path, expected, str(pin.get("revision")), remake(path))

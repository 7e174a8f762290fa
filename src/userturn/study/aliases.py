"""The identities and names that a study's journals keep when files or names change.

Requests are stored under the hash of what they were first asked of. A model folder that has changed
in form alone keeps its identity. A model or dataset that was renamed keeps its place: the name
under which it was first asked, in paths of journals and plans. Both follow from the descriptions in
the study, and `keep` writes them down before a job describes anything anew.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from userturn.errors import UserError
from userturn.models.model_files import normalised_folder_hash, normalised_template_hash
from userturn.storage.files import read_artifact, write_text
from userturn.storage.hashing import fingerprint

STORED = {"models": "models/[!.]*.json", "datasets": "datasets/[!.]*.parquet"}
NOTHING: dict[str, Any] = {
    "contents": {},  # by an identity from bytes, the one that the content first had
    "forms": {},  # by the hash of a form, the same
    "identities": {kind: {} for kind in STORED},  # by an identity, the places it was asked under
    "places": {kind: {} for kind in STORED},  # by a name, its place
}


def read_object(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file of the study, empty if it cannot be read."""
    try:
        content = json.loads(path.read_text())
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def _is_like(found: Any, pattern: Mapping[str, Any]) -> bool:
    """Return whether a value is a mapping with the same nested mappings as a pattern."""
    if not isinstance(found, Mapping):
        return False
    return all(_is_like(found.get(key), within) for key, within in pattern.items())


@dataclass(frozen=True)
class AsDescribed:
    """The identities by which the description of one model knows content."""

    forms: Mapping[str, str]  # by the hash of a form, the identity that it first had

    def of_folder(self, identity: str, folder: Path) -> str:
        """Return the identity by which a folder is known, given the `identity` of its bytes."""
        return self.forms.get(normalised_folder_hash(folder), identity)

    def of_template(self, identity: str, text: str, source: str) -> str:
        """Return the hash by which a template is known, given the `identity` of its text."""
        return self.forms.get(_form_of_template(text, source), identity)


def _form_of_template(text: str, source: str) -> str:
    """Return the hash of a chat template's form, which is shared only within one model."""
    return fingerprint([source, normalised_template_hash(text)])


class Aliases:
    """The aliases of one study."""

    def __init__(self, results: str | Path) -> None:
        """Take the study's results folder."""
        self._results = Path(results)
        self._path = self._results / "journal" / "aliases.json"
        self._met: dict[str, tuple[str, Callable[[], str]]] = {}

    @cached_property
    def _kept(self) -> dict[str, Any]:
        """What is written down.

        Raises:
            UserError: the file is damaged, and without it renamed models would be asked again.
        """
        if not self._path.exists():
            return NOTHING
        kept = {**NOTHING, **(read_object(self._path) or {"places": None})}
        if not _is_like(kept, NOTHING):
            raise UserError(
                f"'{self._path}' is damaged; take it from a copy of the study, or remove it, and "
                "models and datasets that were renamed or reformatted are asked again"
            )
        return kept

    @cached_property
    def _described(self) -> list[dict[str, Any]]:
        """The descriptions of the study's models, also under earlier names."""
        nothing: dict[str, Any] = {"identity": {}, "forms": {}}
        found = (read_object(path) for path in sorted(self._results.glob(STORED["models"])))
        complete = ({**nothing, **description} for description in found)
        return [description for description in complete if _is_like(description, nothing)]

    @cached_property
    def _forms(self) -> dict[str, str]:
        """The identity that each form first had."""
        forms = {form: known for d in self._described for form, known in d["forms"].items()}
        return {**forms, **self._kept["forms"]}

    @cached_property
    def _described_by(self) -> set[str]:
        return {identity for d in self._described for identity in d["identity"].values()}

    def _known_as(self, content: str, form: Callable[[], str]) -> str:
        identity: str = self._kept["contents"].get(content, content)
        is_known = content in self._kept["contents"] or content in self._described_by
        if self._forms and not is_known:
            identity = self._forms.get(form(), content)
        self._met[content] = identity, form
        return identity

    def of_folder(self, identity: str, folder: Path) -> str:
        """Return the identity by which a folder is known, given the `identity` of its bytes."""
        return self._known_as(identity, lambda: normalised_folder_hash(folder))

    def of_template(self, identity: str, text: str, source: str) -> str:
        """Return the hash by which a template is known, given the `identity` of its text.

        A template is compared only with others of the same model, whose identity is `source`.
        """
        return self._known_as(identity, lambda: _form_of_template(text, source))

    @property
    def forms(self) -> dict[str, str]:
        """The identity by which all content that was read here is known, by its form."""
        return {form(): identity for identity, form in self._met.values()}

    def places(self, kind: str, identities: Mapping[str, str]) -> dict[str, str]:
        """Return the place of each name of the present configuration.

        While the first name is still configured, another name of the same content is a measurement
        of its own, in its own place. If not, it takes over the place of the first name.
        `identities` has the identity of each name of a kind, models or datasets.
        """
        own = {name: self._kept["places"][kind].get(name, name) for name in identities}
        places = self._known_places[kind]
        known = {name: places.get(digest, []) for name, digest in identities.items()}
        staying = {name for name in own if own[name] in known[name] or not known[name]}
        taken = {(identities[name], own[name]) for name in staying}
        for name in sorted(identities.keys() - staying):
            free = [place for place in known[name] if (identities[name], place) not in taken]
            own[name] = next(iter(free), own[name])
            taken.add((identities[name], own[name]))
        return own

    @property
    def has_places(self) -> bool:
        """Whether anything was asked or described before, else every name has its own place."""
        return any(self._known_places.values())

    @cached_property
    def _known_places(self) -> dict[str, dict[str, list[str]]]:
        """The places under which each identity was asked, those written down first."""
        found: dict[str, dict[str, list[str]]] = deepcopy(self._kept["identities"])
        for kind, digest, name in self._stored():
            places = found[kind].setdefault(digest, [])
            place = self._kept["places"][kind].get(name, name)
            if place not in places:
                places.append(place)
        return found

    def _stored(self) -> Iterator[tuple[str, str, str]]:
        """Yield kind, identity and name of every model and dataset that the study has."""
        for kind, pattern in STORED.items():
            for path in sorted(self._results.glob(pattern)):
                digest = read_artifact(path).get("identity")
                if digest:
                    yield kind, digest, path.name.removesuffix(path.suffix)

    def keep(self, places: Mapping[str, Mapping[str, str]]) -> None:
        """Write down the present aliases, with the places of this configuration's names."""
        kept = self._kept["contents"]
        new = {name: met for name, met in self._met.items() if name not in kept}
        content = {
            "contents": {name: identity for name, (identity, _) in new.items()} | kept,
            "forms": {form(): identity for identity, form in new.values()} | self._forms,
            "identities": self._known_places,
            "places": {kind: {**self._kept["places"][kind], **places[kind]} for kind in STORED},
        }
        if content != self._kept:
            write_text(json.dumps(content, indent=1, sort_keys=True) + "\n", self._path)

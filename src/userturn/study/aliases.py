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


def _is_like(value: Any, pattern: Mapping[str, Any]) -> bool:
    """Return whether a value is a mapping with the same nested mappings as a pattern."""
    if not isinstance(value, Mapping):
        return False
    return all(_is_like(value.get(key), within) for key, within in pattern.items())


@dataclass(frozen=True)
class AsDescribed:
    """The identities by which the description of one model knows content."""

    forms: Mapping[str, str]  # by the hash of a form, the identity that it first had

    def folder_identity(self, identity: str, folder: Path) -> str:
        """Return a folder's identity in the study, given the `identity` of its bytes."""
        return self.forms.get(normalised_folder_hash(folder), identity)

    def template_identity(self, identity: str, text: str, source: str) -> str:
        """Return a template's hash in the study, given the `identity` of its text."""
        return self.forms.get(_normalised_template(text, source), identity)


def _normalised_template(text: str, source: str) -> str:
    """Return the hash of a normalised chat template, which is shared only within one model."""
    return fingerprint([source, normalised_template_hash(text)])


class Aliases:
    """The aliases of one study."""

    def __init__(self, results: str | Path) -> None:
        """Take the study's results folder."""
        self._results = Path(results)
        self._path = self._results / "journal" / "aliases.json"
        self._met: dict[str, tuple[str, Callable[[], str]]] = {}

    @cached_property
    def _written(self) -> dict[str, Any]:
        """The content of the file of aliases.

        Raises:
            UserError: the file is damaged, and without it renamed models would be asked again.
        """
        if not self._path.exists():
            return NOTHING
        written = {**NOTHING, **(read_object(self._path) or {"places": None})}
        if not _is_like(written, NOTHING):
            raise UserError(
                f"'{self._path}' is damaged; take it from a copy of the study, or remove it, and "
                "models and datasets that were renamed or reformatted are asked again"
            )
        return written

    @cached_property
    def _described(self) -> list[dict[str, Any]]:
        """The descriptions of the study's models, also under earlier names."""
        nothing: dict[str, Any] = {"identity": {}, "forms": {}}
        descriptions = (read_object(path) for path in sorted(self._results.glob(STORED["models"])))
        complete = ({**nothing, **description} for description in descriptions)
        return [description for description in complete if _is_like(description, nothing)]

    @cached_property
    def _forms(self) -> dict[str, str]:
        """The identity that each normalised content first had, by its hash."""
        forms = {
            digest: identity for d in self._described for digest, identity in d["forms"].items()
        }
        return {**forms, **self._written["forms"]}

    @cached_property
    def _described_by(self) -> set[str]:
        return {identity for d in self._described for identity in d["identity"].values()}

    def _alias_of(self, content: str, normalised_hash: Callable[[], str]) -> str:
        identity: str = self._written["contents"].get(content, content)
        is_recorded = content in self._written["contents"] or content in self._described_by
        if self._forms and not is_recorded:
            identity = self._forms.get(normalised_hash(), content)
        self._met[content] = identity, normalised_hash
        return identity

    def folder_identity(self, identity: str, folder: Path) -> str:
        """Return a folder's identity in the study, given the `identity` of its bytes."""
        return self._alias_of(identity, lambda: normalised_folder_hash(folder))

    def template_identity(self, identity: str, text: str, source: str) -> str:
        """Return a template's hash in the study, given the `identity` of its text.

        A template is compared only with others of the same model, whose identity is `source`.
        """
        return self._alias_of(identity, lambda: _normalised_template(text, source))

    @property
    def forms(self) -> dict[str, str]:
        """The identity of all content that was read here, by the hash of the normalised content."""
        return {normalised_hash(): identity for identity, normalised_hash in self._met.values()}

    def places(self, kind: str, identities: Mapping[str, str]) -> dict[str, str]:
        """Return the first name of each name of the present configuration.

        While the first name is still configured, another name of the same content is a measurement
        of its own, in its own place. If not, it takes over the place of the first name.
        `identities` has the identity of each name of a kind, models or datasets.
        """
        own = {name: self._written["places"][kind].get(name, name) for name in identities}
        places = self._used_places[kind]
        used_names = {name: places.get(digest, []) for name, digest in identities.items()}
        staying = {name for name in own if own[name] in used_names[name] or not used_names[name]}
        occupied = {(identities[name], own[name]) for name in staying}
        for name in sorted(identities.keys() - staying):
            free = [
                first_name
                for first_name in used_names[name]
                if (identities[name], first_name) not in occupied
            ]
            own[name] = next(iter(free), own[name])
            occupied.add((identities[name], own[name]))
        return own

    @property
    def has_places(self) -> bool:
        """Whether anything was asked or described before, else every name has its own place."""
        return any(self._used_places.values())

    @cached_property
    def _used_places(self) -> dict[str, dict[str, list[str]]]:
        """The names under which each identity was asked, beginning with the names in the file."""
        used: dict[str, dict[str, list[str]]] = deepcopy(self._written["identities"])
        for kind, digest, name in self._stored():
            places = used[kind].setdefault(digest, [])
            first_name = self._written["places"][kind].get(name, name)
            if first_name not in places:
                places.append(first_name)
        return used

    def _stored(self) -> Iterator[tuple[str, str, str]]:
        """Yield kind, identity and name of every model and dataset that the study has."""
        for kind, pattern in STORED.items():
            for path in sorted(self._results.glob(pattern)):
                digest = read_artifact(path).get("identity")
                if digest:
                    yield kind, digest, path.name.removesuffix(path.suffix)

    def keep(self, places: Mapping[str, Mapping[str, str]]) -> None:
        """Write down the present aliases, with the places of this configuration's names."""
        contents = self._written["contents"]
        new = {name: met for name, met in self._met.items() if name not in contents}
        content = {
            "contents": {name: identity for name, (identity, _) in new.items()} | contents,
            "forms": {normalised_hash(): identity for identity, normalised_hash in new.values()}
            | self._forms,
            "identities": self._used_places,
            "places": {kind: {**self._written["places"][kind], **places[kind]} for kind in STORED},
        }
        if content != self._written:
            write_text(json.dumps(content, indent=1, sort_keys=True) + "\n", self._path)

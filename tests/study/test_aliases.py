"""What a study knows content by, from its descriptions and from what was kept of earlier ones."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from userturn.errors import UserError
from userturn.storage.files import write_json
from userturn.study.aliases import Aliases, AsDescribed

ASKED = {"a": "A", "b": "B"}  # the identity of each model
CASES: dict[str, tuple[dict[str, str], dict[str, str]]] = {  # names now, and their places
    "no other name": (ASKED, {"a": "a", "b": "b"}),
    "a new name": ({"c": "A", "b": "B"}, {"c": "a", "b": "b"}),
    "two names swapped": ({"a": "B", "b": "A"}, {"a": "b", "b": "a"}),
    "a name passed on": ({"b": "A", "c": "B"}, {"b": "a", "c": "b"}),
    "a second name beside the first": ({**ASKED, "c": "A"}, {"a": "a", "b": "b", "c": "c"}),
    "two new names of one model": ({"c": "A", "d": "A"}, {"c": "a", "d": "d"}),
    "another model": ({"a": "A", "b": "new"}, {"a": "a", "b": "b"}),
}


def describe(results: Path, identities: Mapping[str, str]) -> None:
    for name, identity in identities.items():
        write_json({}, results / "models" / f"{name}.json", identity)


def keep(results: Path, identities: Mapping[str, str]) -> dict[str, str]:
    known = Aliases(results)
    places = known.places("models", identities)
    known.keep({"models": places, "datasets": {}})
    return places


@pytest.mark.parametrize(("now", "places"), CASES.values(), ids=CASES)
def test_each_name_has_the_place_of_its_content_before_and_after_it_is_described(
    tmp_path: Path, now: dict[str, str], places: dict[str, str]
) -> None:
    describe(tmp_path, ASKED)
    assert keep(tmp_path, now) == places
    describe(tmp_path, now)
    assert Aliases(tmp_path).places("models", now) == places


def test_names_that_go_back_have_their_own_places(tmp_path: Path) -> None:
    describe(tmp_path, ASKED)
    swapped = {"a": "B", "b": "A"}
    keep(tmp_path, swapped)
    describe(tmp_path, swapped)
    assert keep(tmp_path, ASKED) == {"a": "a", "b": "b"}


def test_a_name_keeps_its_place_when_its_content_changes(tmp_path: Path) -> None:
    describe(tmp_path, ASKED)
    keep(tmp_path, {"c": "A", "b": "B"})
    describe(tmp_path, {"c": "A"})
    assert keep(tmp_path, {"c": "larger", "b": "B"}) == {"c": "a", "b": "b"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text('{"a": 1}')
    return folder


def test_without_anything_known_content_is_known_by_its_bytes(tmp_path: Path, folder: Path) -> None:
    assert Aliases(tmp_path).folder_identity("folder:1", folder) == "folder:1"


def test_content_of_the_same_form_is_known_by_its_first_identity(
    tmp_path: Path, folder: Path
) -> None:
    first = Aliases(tmp_path)
    first.folder_identity("folder:1", folder)
    first.keep({"models": {}, "datasets": {}})
    (folder / "config.json").write_text('{"a":1}')
    assert Aliases(tmp_path).folder_identity("folder:2", folder) == "folder:1"
    (folder / "config.json").write_text('{"a": 2}')
    assert Aliases(tmp_path).folder_identity("folder:3", folder) == "folder:3"


def test_two_folders_of_one_form_that_a_study_has_described_stay_two(
    tmp_path: Path, folder: Path
) -> None:
    known = Aliases(tmp_path)
    known.folder_identity("folder:1", folder)
    known.keep({"models": {}, "datasets": {}})
    path = tmp_path / "models" / "b.json"
    write_json({"identity": {"source": "folder:2"}}, path, "B")
    assert Aliases(tmp_path).folder_identity("folder:2", folder) == "folder:2"


def test_a_template_is_compared_with_those_of_its_own_model_alone(tmp_path: Path) -> None:
    known = Aliases(tmp_path)
    known.template_identity("text:1", "{{ a }}", "model")
    described = AsDescribed(known.forms)
    assert described.template_identity("text:2", "{# b #}{{ a }}", "model") == "text:1"
    assert described.template_identity("text:2", "{# b #}{{ a }}", "other") == "text:2"


@pytest.mark.parametrize("text", ["{", "[]", '{"places": {}}', '{"identities": 3}', ""])
def test_damaged_aliases_are_refused_since_their_requests_would_be_asked_again(
    tmp_path: Path, text: str
) -> None:
    path = tmp_path / "journal" / "aliases.json"
    path.parent.mkdir()
    path.write_text(text)
    with pytest.raises(UserError, match=r"aliases.json' is damaged; take it from a copy"):
        Aliases(tmp_path).places("models", ASKED)


def test_a_description_of_another_kind_is_one_that_knows_nothing(
    tmp_path: Path, folder: Path
) -> None:
    for name, content in enumerate(({"forms": 3}, {"identity": []}, [])):
        path = tmp_path / "models" / f"{name}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(content))
    assert Aliases(tmp_path).folder_identity("folder:1", folder) == "folder:1"

"""A crate says who made a study, with which settings and which code."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.job_records import job_record
from userturn.config.load import INSTALLATION
from userturn.errors import UserError
from userturn.export.ro_crate import CITATION, authors_of, crate_metadata, folder_id

ADA = {"family-names": "Lovelace", "given-names": "Ada", "orcid": "https://orcid.org/0000"}
MADE = {"began": "2026-01-01T00:00:00", "ended": "2026-01-01T00:00:01", "versions": {}}
RECORD = job_record("judge", wildcards={"model": "m", "temperature": "0.7"}, made=MADE)


def test_authors_and_settings_are_entities_of_a_crate() -> None:
    crate = crate_metadata([], {"judge/m": RECORD}, [ADA])
    graph = {entity["@id"]: entity for entity in crate["@graph"]}
    ada = {"@id": ADA["orcid"]}
    assert graph["./"]["author"] == ada == graph["#job/judge/m"]["agent"]
    assert graph[ADA["orcid"]]["name"] == "Ada Lovelace"
    assert graph[graph["./"]["license"]["@id"]]["@type"] == "CreativeWork"
    values = [graph[value["@id"]] for value in graph["#job/judge/m"]["object"]]
    assert {v["name"]: v["value"] for v in values} == {"model": "m", "temperature": "0.7"}


def test_code_has_the_identifier_that_git_gives_its_folder(tmp_path: Path) -> None:
    for name in ("a/b.txt", "a.py", "a0/__pycache__/x.pyc", "a0/c.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    expected = folder_id(tmp_path).hex()
    shutil.rmtree(tmp_path / "a0" / "__pycache__")
    for command in (["init", "-q"], ["add", "."], ["write-tree"]):
        done = subprocess.run(["git", *command], cwd=tmp_path, text=True, capture_output=True)
    assert done.stdout.strip() == expected


def test_authors_are_those_of_the_study_and_not_of_the_software(tmp_path: Path) -> None:
    assert authors_of(tmp_path) == authors_of(INSTALLATION) == []
    (tmp_path / CITATION).write_text("authors: [{name: Lab}]")
    assert authors_of(tmp_path) == [{"name": "Lab"}]


@pytest.mark.parametrize("text", ["", "authors: 7", "authors: [Ada]", "a: [", "authors: [{x: 1}]"])
def test_a_citation_without_authors_is_an_error_in_one_sentence(tmp_path: Path, text: str) -> None:
    (tmp_path / CITATION).write_text(text)
    with pytest.raises(UserError, match="names no authors"):
        authors_of(tmp_path)

"""The names and content that journals are known by agree with the study."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from userturn.audit.check_journals import check_aliases
from userturn.study.grid import Places
from userturn.workflow.job_record import code_sha256
from userturn.workflow.study_files import Files

KEPT: dict[str, Any] = {
    "contents": {"folder:a": "folder:a", "folder:b": "folder:a"},
    "forms": {"f": "folder:a"},
    "identities": {"models": {"i": ["older", "old"]}, "datasets": {}},
    "places": {"models": {"new": "old", "gone": "gone"}, "datasets": {"d": "d"}},
}
DESCRIPTION = {
    "artifact": {"identity": "i"},
    "identity": {"source": "folder:a"},
    "forms": {"f": "folder:a"},
}
GRID: Any = SimpleNamespace(
    places=Places(models={"new": "old"}), models={"new": {}}, prepared_datasets={"d": {}}
)


def found(results: Path, content: object) -> list[str]:
    path = results / "journal" / "aliases.json"
    path.parent.mkdir(exist_ok=True)
    (results / "models").mkdir(exist_ok=True)
    (results / "models" / "new.json").write_text(json.dumps(DESCRIPTION))
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return [finding.found for finding in check_aliases(Files(results, {}), GRID)]


def test_aliases_of_a_study_have_no_finding_and_none_are_needed(tmp_path: Path) -> None:
    assert list(check_aliases(Files(tmp_path, {}), GRID)) == []
    assert found(tmp_path, KEPT) == []


def test_aliases_that_a_study_of_this_version_lost_are_missed(tmp_path: Path) -> None:
    results = tmp_path / "results"
    journal = results / "journal" / "new" / "d"
    journal.mkdir(parents=True)
    (journal / "one.jsonl").write_text("{}")
    record = {"made": {"code_sha256": code_sha256()}}

    def missed(record: Any, left_out: Any) -> list[str]:
        files = SimpleNamespace(results=results, left_out=left_out, readable=[("of a job", record)])
        files.at = tmp_path.joinpath
        return [finding.artifact for finding in check_aliases(cast("Files", files), GRID)]

    assert missed(record, {}) == ["results/journal/aliases.json"]
    assert missed(record, {"results/journal/aliases.json": "journals"}) == []
    assert missed({"made": {"code_sha256": "of another version"}}, {}) == []


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "not aliases"),
        ([], "not aliases"),
        ({"contents": {}}, "other keys than aliases have"),
        (KEPT | {"places": None}, "not aliases"),
        (KEPT | {"places": {"models": {"new": "new"}, "datasets": {}}}, "new asked as new"),
        (KEPT | {"identities": {"models": {"i": ["x"]}, "datasets": {}}}, "old asked as x"),
        (KEPT | {"contents": {"a": "c"}}, "content known as c, which nothing else names"),
        (KEPT | {"forms": {"f": "c"}}, "content known as c, which nothing else names"),
    ],
)
def test_damage_and_edits_are_found(tmp_path: Path, content: object, said: str) -> None:
    assert found(tmp_path, content) == [said]

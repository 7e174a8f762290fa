"""Datasets in several languages: one entry, a language of each item, the same problems in all."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.published_data import SHARED, needs_shared_data
from userturn.config.check import check
from userturn.config.load import catalogue, load_config
from userturn.datasets.fetch import complete, shaping
from userturn.datasets.prepare import fetched, items_table
from userturn.datasets.turns import clusters
from userturn.errors import ConfigError, UserError
from userturn.grading.grade import grade_answers
from userturn.storage.hashing import file_sha256

ROOT = Path(__file__).resolve().parents[2]
ENTRIES = catalogue()
FIELDS = {"prompt": "q", "reference": "a", "language": "language", "problem": "row"}
ENGLISH = [("How many eggs are left?", "4"), ("How many coins are left?", "5")]
GERMAN = [("Wie viele Eier bleiben?", "4"), ("Wie viele Münzen bleiben?", "5")]


def entry(folder: Path, **more: Any) -> dict[str, Any]:
    files = {"de": folder / "de.tsv", "en": folder / "en.tsv"}
    for path, rows in zip(files.values(), (GERMAN, ENGLISH), strict=True):
        path.write_text("".join(f"{q}\t{a}\n" for q, a in rows))
    settings = {"file": {name: str(path) for name, path in files.items()}, "columns": ["q", "a"]}
    return complete(settings | {"fields": FIELDS, "language": "all"} | more, {"seed": 1})


def table(settings: dict[str, Any]) -> list[tuple[str, str, str]]:
    found = items_table(settings, fetched(settings)).sort("language", "problem")
    prompts = [messages[-1]["content"] for messages in found["messages"]]
    return list(zip(found["language"], found["problem"], prompts, strict=True))


def test_row_n_of_every_file_is_the_same_problem(tmp_path: Path) -> None:
    assert table(entry(tmp_path)) == [
        ("de", "1", GERMAN[0][0]),
        ("de", "2", GERMAN[1][0]),
        ("en", "1", ENGLISH[0][0]),
        ("en", "2", ENGLISH[1][0]),
    ]


def test_the_versions_of_a_problem_belong_together_by_their_ids(tmp_path: Path) -> None:
    settings = entry(tmp_path)
    found = items_table(settings, fetched(settings)).with_columns(cluster=clusters())
    assert found["item"].n_unique() == 4
    assert sorted(found["cluster"]) == ["1", "1", "2", "2"]
    assert (found["cluster"] == found["problem"]).all()


def test_a_subsample_has_the_same_problems_in_every_language(tmp_path: Path) -> None:
    problems = {}
    for language, problem, _ in table(entry(tmp_path, limit=1)):
        problems[language] = problem
    assert set(problems) == {"de", "en"}
    assert problems["de"] == problems["en"]


def test_one_language_of_such_a_dataset_is_prepared_like_any_other(tmp_path: Path) -> None:
    settings = entry(tmp_path, language="de")
    found = items_table(settings, fetched(settings))
    assert found.height == 2
    assert "language" not in found.columns


def test_a_row_with_a_tab_too_many_is_refused_by_its_place(tmp_path: Path) -> None:
    settings = entry(tmp_path)
    (tmp_path / "en.tsv").write_text("How many?\t3\nWhy\tnot\tthree\n")
    with pytest.raises(UserError, match=r"en\.tsv, line 2: found 3 columns .* expected 2"):
        items_table(settings, fetched(settings))


def test_a_changed_file_of_one_language_is_refused(tmp_path: Path) -> None:
    settings = entry(tmp_path)
    hashes = {name: file_sha256(path) for name, path in settings["file"].items()}
    (tmp_path / "de.tsv").write_text("Wie viele?\t3\n")
    with pytest.raises(UserError, match=r"de\.tsv"):
        fetched(settings | {"sha256": hashes})


def test_the_content_of_every_file_shapes_the_items_and_no_name_does(tmp_path: Path) -> None:
    first = shaping(entry(tmp_path))
    (tmp_path / "other").mkdir()
    assert shaping(entry(tmp_path / "other")) == first
    changed = entry(tmp_path)
    (tmp_path / "de.tsv").write_text("Wie viele?\t3\n")
    assert shaping(changed) != first


def test_several_files_with_one_hash_are_refused_in_one_sentence(tmp_path: Path) -> None:
    config = load_config([ROOT / "config.yaml"])
    settings = entry(tmp_path, sha256="0" * 64, verifier="none")
    config["datasets"] = {"d": settings}
    config["run"] = {**config["run"], "datasets": ["d"]}
    config["controls"]["human"], config["likelihood"] = [], False
    with pytest.raises(ConfigError, match=r"datasets\.d\.sha256: expected one hash for each file"):
        check(config)


def test_a_language_that_rows_do_not_say_is_detected(tmp_path: Path) -> None:
    texts = ["How many eggs are left in the basket after lunch?", "Was bedeutet das alles hier?"]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps({"q": text}) + "\n" for text in [*texts, "Ok"]))
    settings = {"file": str(path), "fields": {"prompt": "q"}, "language": "all"}
    found = items_table(settings, path)
    assert sorted(found["language"].to_list(), key=str) == [None, "de", "en"]
    assert found["problem"].null_count() == 3


def test_the_demo_has_the_same_six_problems_in_six_languages() -> None:
    wider = yaml.safe_load((ROOT / "profiles/demo/wider.yaml").read_text())
    settings = wider["datasets"]["problems-by-language"]
    found = items_table(settings, ROOT / settings["file"])
    of_each = found.group_by("language").agg("problem", "reference_answer").to_dicts()
    assert {row["language"] for row in of_each} == {"ar", "de", "en", "es", "fr", "zh"}
    answers = {tuple(sorted(zip(*list(row.values())[1:], strict=True))) for row in of_each}
    assert len(answers) == 1
    assert len(answers.pop()) == 6


@needs_shared_data
def test_mgsm_has_its_250_problems_in_eleven_languages_as_pinned() -> None:
    settings = complete(ENTRIES["mgsm"], {"seed": 1})
    files = {name: str(SHARED / "mgsm" / Path(p).name) for name, p in settings["file"].items()}
    del settings["hub"]
    settings["file"] = files
    found = items_table(settings, fetched(settings))
    assert found.group_by("language").len()["len"].to_list() == [250] * 11
    answers = found.group_by("problem").agg(n=found["reference_answer"].n_unique())
    assert answers.height == 250
    rows = [
        row | {"answer": f"… {row['reference_answer']}.", "outcome": "ok"}
        for row in found.to_dicts()
    ]
    # 2,125 and its like are thousands or decimals to readers of four of the languages.
    grades = [grade.correct for grade in grade_answers("numeric", rows)]
    assert (grades.count(True), grades.count(None), len(grades)) == (2738, 12, 2750)


@needs_shared_data
def test_healthbench_without_its_filter_has_a_dozen_languages() -> None:
    settings = complete(ENTRIES["healthbench_languages"] | {"limit": 20}, {"seed": 1})
    file = SHARED / "healthbench/context_seeking_consensus_hard_104.jsonl"
    settings = {key: value for key, value in settings.items() if key != "rows"}
    counts = dict(items_table(settings, file).group_by("language").len().iter_rows())
    assert counts.pop("en") == 20
    assert counts


@needs_shared_data
@pytest.mark.parametrize(("name", "n"), [("oasst_languages", 100), ("oasst_human_languages", 380)])
def test_messages_of_oasst_say_their_language(name: str, n: int) -> None:
    entry = {key: ENTRIES[name][key] for key in ("fields", "language")}
    found = items_table(entry, SHARED / "oasst_en100/en_100_tree.jsonl")
    assert found["language"].to_list() == ["en"] * n

"""Edits of a finished study: what is asked again, and whether a GPU is asked for.

The study has 11 items (math 4 of 7, noid 4, talk 3), 4 perturbations, one turn at temperature 0 and
two at 1: for each item 1 answer and 4 * 3 turns, 13 requests. One perturbation shows the answer to
the item that follows in the order of hashes.
"""

import shutil
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.support.edited_study import MODEL, ROWS, EditedStudy, edited_study, installed
from tests.support.snakemake_runs import ROOT
from tests.support.tiny_model import write_tiny_model

pytestmark = pytest.mark.slow
Edit = Callable[[EditedStudy], None]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> EditedStudy:
    with pytest.MonkeyPatch.context() as patch:
        one = installed(edited_study(tmp_path_factory.mktemp("edits") / "study"), patch.setitem)
        begun = one.settle()
    assert (begun.had_gpu, begun.n_asked) == (True, 11 * 13)
    shutil.copytree(one.folder, one.folder.with_name("kept"))
    return one


@pytest.fixture
def study(finished: EditedStudy, monkeypatch: pytest.MonkeyPatch) -> EditedStudy:
    """The finished study, anew for each test in the same folder, which its model is known by."""
    shutil.rmtree(finished.folder)
    shutil.copytree(finished.folder.with_name("kept"), finished.folder)
    (finished.folder / "data").symlink_to(ROOT / "data")
    monkeypatch.chdir(finished.folder)
    return installed(EditedStudy(finished.folder, deepcopy(finished.config)), monkeypatch.setitem)


def chosen(study: EditedStudy) -> list[str]:
    """Return the items of `math` that its limit leaves in."""
    return pl.read_parquet(study.results / "datasets" / "math.parquet")["item"].to_list()


def edit_rows(study: EditedStudy, changed: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    rows = [changed(dict(row)) for row in ROWS[:7]]
    study.config["datasets"]["math"]["file"] = study.write_rows("edited", rows)


def mend_references(study: EditedStudy) -> None:
    edit_rows(study, lambda row: row | {"answer": "999"})


def mend_references_without_ids(study: EditedStudy) -> None:
    rows = [row | {"answer": "999"} for row in ROWS[20:24]]
    study.config["datasets"]["noid"]["file"] = study.write_rows("mended", rows)


def edit_outside_of_the_limit(study: EditedStudy) -> None:
    inside = chosen(study)
    edit_rows(study, lambda row: row if row["id"] in inside else row | {"question": "Why?"})


def save_with_other_line_ends(study: EditedStudy) -> None:
    path = study.write_rows("windows", ROWS[:7], "\r\n")
    Path(path).write_bytes(b"\xef\xbb\xbf" + Path(path).read_bytes())
    study.config["datasets"]["math"]["file"] = path


def edit_every_prompt(study: EditedStudy) -> None:
    edit_rows(study, lambda row: row | {"question": row["question"] + " Why?"})


def edit_one_prompt(study: EditedStudy) -> None:
    one = chosen(study)[0]
    more = {one: " Why?"}
    edit_rows(study, lambda row: row | {"question": row["question"] + more.get(row["id"], "")})


def rename_dataset(study: EditedStudy) -> None:
    study.config["datasets"]["sums"] = study.config["datasets"].pop("math")


def rename_model(study: EditedStudy) -> None:
    study.config["models"]["other"] = study.config["models"].pop(MODEL)


def rename_and_edit(study: EditedStudy) -> None:
    edit_one_prompt(study)
    rename_dataset(study)
    rename_model(study)
    study.config["temperatures"] = [0, 0.7, 1.0]


def swap_names(study: EditedStudy) -> None:
    datasets = study.config["datasets"]
    datasets["math"], datasets["noid"] = datasets["noid"], datasets["math"]


def add_the_same_dataset(study: EditedStudy) -> None:
    study.config["datasets"]["again"] = deepcopy(study.config["datasets"]["noid"])


def keep_the_journal_alone(study: EditedStudy) -> None:
    for path in study.results.iterdir():
        if path.name != "journal":
            shutil.rmtree(path)


def lose_a_cell(study: EditedStudy) -> None:
    (study.results / "cells/tiny/math/t1/none/user_turns.parquet").unlink()


def setting(*keys: str, to: Any) -> Edit:
    """Return the edit that gives a key of the configuration a value."""

    def change(study: EditedStudy) -> None:
        part = study.config
        for key in keys[:-1]:
            part = part[key]
        part[keys[-1]] = to

    change.__name__ = f"{'.'.join(keys)} {to}"
    return change


FREE: list[Edit] = [
    mend_references,
    mend_references_without_ids,
    edit_outside_of_the_limit,
    save_with_other_line_ends,
    setting("samples", to=1),
    setting("models", MODEL, "max_model_len", to=100),
    setting("run", "perturbations", to=["none"]),
    rename_dataset,
    rename_model,
    swap_names,
    keep_the_journal_alone,
    lose_a_cell,
]
ASKING: list[tuple[Edit, int]] = [
    (setting("samples", to=3), 11 * 4),
    (setting("datasets", "math", "limit", to=5), 13 + 3),  # one item has another donor
    (setting("datasets", "math", "limit", to=3), 3),  # the same
    (setting("perturbations", "truncate", "keep", to=0.4), 11 * 3),
    (setting("temperatures", to=[0, 0.7, 1.0]), 11 * 4 * 2),
    (setting("self_play", to={"turns": 3}), 11 * 2 * 2 * 2),  # answers and turns, 2 depths, 2 t
    (setting("answer", "samples", to=2), 8 * 2 + 8 * 2 * 7),  # a prompt and 6 reactions each
    (edit_every_prompt, 4 * 13),
    (edit_one_prompt, 13 + 3),  # and the item that is shown its answer
    (rename_and_edit, 13 + 3 + 11 * 4 * 2),
    (add_the_same_dataset, 4 * 4 * 2),  # at temperature 0 the replies are the same
]


@pytest.mark.parametrize("edit", FREE, ids=lambda edit: edit.__name__)
def test_an_edit_that_leaves_no_request_without_reply_asks_for_no_gpu(
    study: EditedStudy, edit: Edit
) -> None:
    edit(study)
    done = study.settle()
    assert (done.had_gpu, done.n_said or 0, done.n_asked) == (False, 0, 0)
    assert study.settle() == (False, None, 0, 0)


@pytest.mark.parametrize(("edit", "n"), ASKING, ids=lambda part: getattr(part, "__name__", ""))
def test_an_edit_asks_what_is_new_as_said_and_nothing_when_it_is_taken_back(
    study: EditedStudy, edit: Edit, n: int
) -> None:
    before = deepcopy(study.config)
    edit(study)
    done = study.settle()
    assert (done.had_gpu, done.n_said, done.n_asked) == (True, n, n)
    assert study.settle() == (False, None, 0, 0)
    study.config = before
    back = study.settle()
    assert (back.had_gpu, back.n_asked) == (False, 0)


def test_weights_that_are_put_back_ask_nothing(study: EditedStudy) -> None:
    folder = study.folder / "model"
    shutil.move(folder, study.folder / "first")
    write_tiny_model(folder, seed=1)
    assert study.settle().n_asked == 11 * 13
    shutil.rmtree(folder)
    shutil.move(study.folder / "first", folder)
    back = study.settle()
    assert (back.had_gpu, back.n_asked) == (False, 0)


def test_what_was_too_long_is_asked_once_there_is_room(study: EditedStudy) -> None:
    shutil.rmtree(study.results)
    study.config["models"][MODEL]["max_model_len"] = 200
    short = study.settle().n_asked
    assert 0 < short < 11 * 13
    assert study.settle() == (False, None, 0, 0)
    study.config["models"][MODEL]["max_model_len"] = 2048
    longer = study.settle()
    assert (longer.had_gpu, longer.n_asked) == (True, longer.n_said)
    assert study.settle() == (False, None, 0, 0)


def test_a_lost_journal_is_asked_again_as_said(study: EditedStudy) -> None:
    shutil.rmtree(study.results / "journal")
    shutil.rmtree(study.results / "cells/tiny/talk")
    assert study.settle().n_asked == 3 * 13


def test_a_journal_alone_has_all_replies_of_candidates_depths_and_scores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    more = {
        "likelihood": {"datasets": [], "turns": 1, "distractors": 1},
        "self_play": {"turns": 2, "datasets": ["math"]},
    }
    study = installed(edited_study(tmp_path / "study", **more), monkeypatch.setitem)
    study.config["answer"] |= {"samples": 2, "temperature": 0.7}
    begun = study.settle()
    for path in study.results.iterdir():
        if path.name != "journal":
            shutil.rmtree(path)
    again = study.settle()
    assert (again.had_gpu, again.n_said, again.n_asked) == (False, 0, 0)
    assert again.n_collected == begun.n_collected

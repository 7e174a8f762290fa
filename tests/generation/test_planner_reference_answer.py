"""The dataset's own answer stands in place of the model's, where a person replied to it."""

import polars as pl
import pytest

from tests.support.self_play_study import DATASET, MODEL, collect, study, sweep
from userturn.audit.check_probes import check_probes
from userturn.audit.pair import Pair
from userturn.datasets.prepare import Item
from userturn.generation.load_model import load_model
from userturn.generation.planner import Planner
from userturn.prompts.perturbations import NO_REFERENCE
from userturn.sources.registry import asked
from userturn.sources.source import USER_TURNS
from userturn.storage.files import write_text
from userturn.study.asks import Asks
from userturn.study.contents import FileContents
from userturn.study.grid import Grid
from userturn.study.model_description import read_description
from userturn.study.record import study_record
from userturn.workflow.study_size import dataset_size, load_of_model

SAID = [
    {"role": "user", "content": "Is it fair?"},
    {"role": "assistant", "content": "Yes, it is."},
    {"role": "user", "content": "Why?"},
]
ROWS = pl.DataFrame({"id": ["a", "b"], "messages": [SAID, SAID[:1]]})  # nobody replied in b


@pytest.fixture(scope="module")
def grid(tmp_path_factory: pytest.TempPathFactory) -> Grid:
    """A finished study of one conversation, probed after each of its turns, and of one question."""
    folder = tmp_path_factory.mktemp("reference_answer")
    write_text(ROWS.write_ndjson(), folder / "dialogues.jsonl")
    entry = {
        "file": str(folder / "dialogues.jsonl"),
        "fields": {"id": "id", "messages": "messages"},
    }
    made = study(
        folder,
        1,
        datasets={DATASET: entry | {"verifier": "none", "turns": "all"}},
        run={"temperatures": [0], "perturbations": ["none", "reference_answer"]},
        max_error_share=0,
    )
    sweep(made)
    collect(made)
    return made


def turns(grid: Grid, perturbation: str) -> pl.DataFrame:
    (cell,) = (cell for cell in grid.cells if cell.perturbation == perturbation)
    return pl.read_parquet(grid.results / "cells" / cell.folder / "user_turns.parquet")


def test_the_model_s_turn_follows_the_dataset_s_answer_and_readers_see_that_answer(
    grid: Grid,
) -> None:
    first = pl.col("item") == "a/turn-1"
    shown = turns(grid, "reference_answer").row(by_predicate=first, named=True)
    assert (shown["answer"], shown["outcome"]) == ("Yes, it is.", "ok")
    assert "Yes, it is.<|im_end|>" in shown["prompt_text"]
    assert "Answer 1" not in shown["prompt_text"]  # the model's own
    own = turns(grid, "none").row(by_predicate=first, named=True)
    assert own["answer"] == "Answer 1 to a/turn-1."


def test_items_without_such_an_answer_are_counted_and_do_not_fail_a_cell_that_allows_no_errors(
    grid: Grid,
) -> None:
    lost = turns(grid, "reference_answer").filter(pl.col("outcome") == "error")
    assert lost["item"].to_list() == ["a/turn-2", "b/turn-1"]
    assert lost["error"].unique().to_list() == [NO_REFERENCE]


def test_the_plan_counts_the_turns_that_will_be_asked(grid: Grid) -> None:
    size = dataset_size(grid, DATASET)
    assert (size.n_items, size.n_references) == (3, 1)
    assert load_of_model(grid, MODEL, {DATASET: size})[USER_TURNS].n == 3 + 1


def test_the_model_s_own_answer_may_be_missing(grid: Grid) -> None:
    model = load_model(grid, MODEL, read_description(grid, MODEL))
    planner = Planner(model.identity, model.template, 4096, 0, Asks("m", 0, "m"))
    item = Item("a", (SAID[0],), "Yes, it is.")
    assert planner.probe(item, None, {"operator": "none"}).error == "the item has no answer"
    probe = planner.probe(item, None, {"operator": "reference_answer"})
    assert (probe.error, probe.answer) == (None, "Yes, it is.")


def test_the_audit_puts_the_dataset_s_answer_there_again(grid: Grid) -> None:
    record = study_record(grid.config, FileContents(grid.config, grid.results))
    pair = Pair(grid, record, MODEL, DATASET, True, frozenset())
    (cell,) = (cell for cell in grid.cells if cell.perturbation == "reference_answer")
    path = grid.results / "cells" / cell.folder / "user_turns.parquet"
    whole = path.read_bytes()
    of = asked(grid)[f"results/cells/{cell.folder}/user_turns.parquet"]
    assert list(check_probes(pair, of)) == []
    answer = pl.when(pl.col("item") == "a/turn-1").then(pl.lit("Answer 1 to a/turn-1."))
    try:
        pl.read_parquet(path).with_columns(answer=answer).write_parquet(path)
        found = list(check_probes(Pair(grid, record, MODEL, DATASET, True, frozenset()), of))
    finally:
        path.write_bytes(whole)
    assert [(finding.check, finding.expected) for finding in found] == [
        ("probes", "the answer to a/turn-1, changed as reference_answer says")
    ]

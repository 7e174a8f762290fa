"""Scores that no engine gave, for the report of a made-up study: tables that it reads, by hand."""

from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from tests.support.made_up_results import save
from userturn.generation.scorer import OTHER_ANSWER, OWN
from userturn.generation.scores import SCORES_SCHEMA
from userturn.study.grid import Grid

N_SCORED = 8  # turns of a cell
GAIN = 0.1  # nats a token by which the gain of a cell's next turn is larger
OWN_SCORES = [-1.0, -2.0, -0.5]
OTHER_SCORES = [[-3.0, -1.0, -0.5], [-4.0, -1.5, -0.6]]  # their means: -3.5, -1.25, -0.55


def write_scores(grid: Grid, endings: Sequence[str]) -> None:
    """Write scores of reference follow-ups, that end in one of `endings`, and of own turns."""
    for dataset in grid.datasets:
        path = grid.dataset_path(dataset)
        items = pl.read_parquet(path)
        answer = [{"role": "assistant", "content": f"An answer about {dataset}"}]
        contexts = [[*said, *answer] for said in items["messages"].to_list()]
        save(items.with_columns(reference_context=pl.Series(contexts)), path)
        for model in grid.models:
            folder = grid.results / "likelihood" / model / dataset
            named = {"model": model, "dataset": dataset}
            human = [
                named | row
                for item, ending in zip(items["item"], endings, strict=False)
                for row in of_human(item, ending)
            ]
            own = [named | row for row in of_cells(grid, model, dataset)]
            save(pl.DataFrame(human, schema=SCORES_SCHEMA), folder / "human_turns.parquet")
            save(pl.DataFrame(own, schema=SCORES_SCHEMA), folder / "own_turns.parquet")


def of_human(item: str, ending: str) -> Iterator[dict[str, Any]]:
    yield scored(item, OWN, OWN_SCORES) | {"token_texts": ["So", " far", ending]}
    for logprobs in OTHER_SCORES:
        yield scored(item, OTHER_ANSWER, logprobs)


def of_cells(grid: Grid, model: str, dataset: str) -> Iterator[dict[str, Any]]:
    """Yield the first turns of each cell: the gain of turn i is i times `GAIN` a token."""
    for cell in (c for c in grid.cells if (c.model, c.dataset) == (model, dataset)):
        place = {"temperature": grid.temperatures[cell.temperature], "sample": 0}
        place |= {"perturbation": cell.perturbation}
        for i in range(N_SCORED):
            item = f"{dataset}-{i}"
            yield scored(item, OWN, [i * GAIN - 2.0]) | place | {"token_texts": [dataset]}
            yield scored(item, OTHER_ANSWER, [-2.0]) | place


def scored(item: str, context: str, logprobs: Sequence[float]) -> dict[str, Any]:
    sums = {"n_tokens": len(logprobs), "logprob": sum(logprobs), "logprobs": logprobs}
    return {"item": item, "conversation": item, "context": context, "n_characters": 9, **sums}

"""Turns that are drawn from those of the cells, to be judged again beside another answer."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from userturn.sources.source import Load, Sizes, Turns, every_verdict, longest_exchange, requests
from userturn.storage.hashing import fingerprint
from userturn.study.cells import Cell, files_of, verdicts_of
from userturn.study.grid import Grid

OfSource = Mapping[tuple[str, str], Sequence[Cell]]


def drawn_turns(
    grid: Grid, folder: str, version: int, cells: OfSource, n_turns: int
) -> Iterator[Turns]:
    """Yield the turns that are judged again, of each model and dataset.

    Args:
        grid: the study's grid.
        folder: where they are, with `{model}` and `{dataset}`.
        version: of how they are drawn and changed.
        cells: the cells that they are drawn from, by model and dataset.
        n_turns: how many of each cell.
    """
    for (model, dataset), mine in cells.items():
        drawing = [n_turns, grid.config["seed"]]
        yield Turns(
            folder.format(model=model, dataset=dataset),
            model,
            dataset,
            fingerprint([version, [*map(grid.cell_identity, mine)], drawing]),
            f"results/datasets/{dataset}.parquet",
            partial(_questions, grid, mine, n_turns),
            tuple(files_of(mine, "user_turns.parquet")),
        )


def _questions(grid: Grid, cells: Sequence[Cell], n_turns: int, sizes: Sizes) -> Load:
    size = sizes[cells[0].dataset]
    written = [size.n_items * grid.n_samples(cell.temperature) for cell in cells]
    n = sum(min(n_written, n_turns) for n_written in written)
    return requests(n, size.n_tokens + longest_exchange(grid, cells[0].model))


def verdicts_before_and_after(
    before: str,
    after: str,
    judged: Callable[[Grid], Iterator[Turns]],
    cells: Callable[[Grid], OfSource],
) -> dict[str, Callable[[Grid], Any]]:
    """Return named inputs of tables: verdicts on the cells, and on the turns drawn from them."""
    return {
        after: lambda grid: every_verdict(grid, judged(grid)),
        before: lambda grid: [
            path for mine in cells(grid).values() for path in verdicts_of(mine, grid.judges)
        ],
    }

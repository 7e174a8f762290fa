"""The explorer's data on likelihood: which tokens of a turn its own answer helped to expect.

Two kinds of data files, beside those of `report.explorer`:

- `follow-ups-{number}-{part}.js` has `ROWS_PER_FILE` reference follow-ups, as one model scored
  them: item, gain, number of other answers, 1 if the turn was identified, its tokens, and its
  conversation as writers and texts;
- `gains-{cell}.js` has the scored turns of a cell: item, sample, gain and tokens.

A gain is in thousandths of a nat per token. Tokens are triples: text, log-likelihood after the own
answer, and mean log-likelihood after other answers, both in hundredths of a nat; tokens that are
parts of one character are one, with the sums of theirs. Private datasets have gains, but neither
tokens nor reference follow-ups.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import polars as pl

from userturn.config.entries import private_mark
from userturn.generation.scores import TURN, token_gains, turn_gains
from userturn.report.explorer_prompts import ROWS_PER_FILE, WRITERS, Texts, numbered, write_script
from userturn.sources.scores import HUMAN_TURNS
from userturn.storage.table_files import Schema
from userturn.study.grid import Grid
from userturn.wording import show_codes

LOW, HIGH = 0.25, 0.75  # gains beyond these quantiles are low, or high
GAIN_SCHEMA: Schema = {
    "model": pl.String,
    "temperature": pl.String,
    "cell": pl.Int64,
    "gain": pl.Int64,
}


def write_likelihood(grid: Grid, paths_to_scores: Iterable[str], folder: Path) -> dict[str, Any]:
    """Write the data files of likelihood, and return what the page has to know of them.

    `followUps` has for each numbered list of reference follow-ups its model, dataset, number of
    rows, and whether they are private. `nGains` has the number of scored turns by cell. `quarters`
    has by model and temperature the two gains between which the middle half of them lies.
    """
    listed: list[list[Any]] = []
    gains = [pl.DataFrame(schema=GAIN_SCHEMA)]
    for path in sorted(map(Path, paths_to_scores)):
        turns = scored_turns(pl.read_parquet(path))
        if turns.is_empty():
            continue
        if path.stem == HUMAN_TURNS:
            listed.append(write_follow_ups(grid, turns, len(listed), folder))
        else:
            gains += [*write_gains(grid, turns, folder)]
    return {"followUps": listed, **summary(pl.concat(gains))}


def scored_turns(scores: pl.DataFrame) -> pl.DataFrame:
    """Return the turns scored after other answers, with their tokens and `gain` per token."""
    gains = turn_gains(scores).drop_nulls("gain_answer")
    joined = gains.join(token_gains(scores), on=TURN, nulls_equal=True, maintain_order="left")
    gain = (1000 * pl.col("gain_answer") / pl.col("n_tokens")).round().cast(pl.Int64)
    return joined.with_columns(gain=gain)


def is_private(grid: Grid, dataset: str) -> bool:
    """Return whether a dataset's rows are never shown, even if the grid has no cell of it."""
    return private_mark(grid.config["datasets"][dataset]) is not None


def write_follow_ups(grid: Grid, turns: pl.DataFrame, number: int, folder: Path) -> list[Any]:
    """Write the reference follow-ups of a model and dataset, and return their row of the index."""
    model, dataset = turns.select("model", "dataset").row(0)
    private = is_private(grid, dataset)
    if not private:
        path = grid.dataset_path(dataset)
        contexts = pl.read_parquet(path, columns=["item", "reference_context"])
        shown = turns.join(contexts, on="item", maintain_order="left").to_dicts()
        for part, start in enumerate(range(0, len(shown), ROWS_PER_FILE)):
            rows = shown[start : start + ROWS_PER_FILE]
            write_script(folder, f"follow-ups-{number}-{part}", follow_ups_file(rows))
    return [model, dataset, turns.height, int(private)]


def follow_ups_file(rows: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return the content of one file of reference follow-ups."""
    texts: Texts = {}
    numbered_rows = [
        [
            numbered(texts, row["item"]),
            row["gain"],
            row["n_answers"],
            int(row["identified_answer"]),
            tokens_of(row),
            [
                value
                for message in row["reference_context"]
                for value in (WRITERS.index(message["role"]), numbered(texts, message["content"]))
            ],
        ]
        for row in rows
    ]
    return {"texts": list(texts), "rows": numbered_rows}


def tokens_of(row: dict[str, Any]) -> list[Any]:
    """Return a flat list of a turn's tokens, with those that are parts of one character joined."""
    return [
        value
        for text, own, others in _whole_characters(row)
        for value in (show_codes(text), round(100 * own), round(100 * others))
    ]


def _whole_characters(row: dict[str, Any]) -> Iterator[tuple[str, float, float]]:
    """Yield the texts of whole characters, with sums of log-likelihoods over their tokens."""
    own, others = 0.0, 0.0
    for text, after_own, after_others in zip(
        row["token_texts"], row["own"], row["others"], strict=True
    ):
        own, others = own + after_own, others + after_others
        if text:
            yield text, own, others
            own, others = 0.0, 0.0


def write_gains(grid: Grid, turns: pl.DataFrame, folder: Path) -> Iterator[pl.DataFrame]:
    """Write the scored turns of a model and dataset, and yield gains per cell (`GAIN_SCHEMA`)."""
    model, dataset = turns.select("model", "dataset").row(0)
    private = is_private(grid, dataset)
    for number, cell in enumerate(grid.cells):
        if (cell.model, cell.dataset) != (model, dataset):
            continue
        here = turns.filter(
            pl.col("temperature") == grid.temperatures[cell.temperature],
            pl.col("perturbation") == cell.perturbation,
        )
        rows = [
            [show_codes(row["item"]), row["sample"], row["gain"], [] if private else tokens_of(row)]
            for row in here.iter_rows(named=True)
        ]
        if rows:
            write_script(folder, f"gains-{number}", rows)
            cell_columns = {
                "temperature": pl.lit(cell.temperature),
                "cell": pl.lit(number, pl.Int64),
            }
            yield here.with_columns(**cell_columns).select(*GAIN_SCHEMA)


def summary(gains: pl.DataFrame) -> dict[str, Any]:
    """Return the number of gains per cell, and their quartiles by model and temperature."""
    counted = gains.group_by("cell").len().sort("cell")
    value = pl.col("gain")
    quarters = gains.group_by("model", "temperature").agg(
        low=value.quantile(LOW, "linear"), high=value.quantile(HIGH, "linear")
    )
    summaries: dict[str, dict[str, list[float]]] = {}
    for model, temperature, low, high in quarters.sort("model", "temperature").iter_rows():
        summaries.setdefault(model, {})[temperature] = [low, high]
    return {"nGains": {int(n): k for n, k in counted.iter_rows()}, "quarters": summaries}

"""Do random rows give the same result when they are run again?"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa

from userturn.audit.findings import Finding, Note, remake
from userturn.stats.proportions import wilson
from userturn.stats.rng import generator
from userturn.storage.table_files import Schema
from userturn.study.record import read_study_record

UNREADABLE = (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException, pa.ArrowException)
MEASURES = ("equal_bytes", "equal_tokens", "equal_label", "equal_scores")
MOST_APART = 0.05  # nats a token between equal scores: engines and batches differ in rounding
RERUN_SCHEMA: Schema = {
    "key": pl.String,
    "artifact": pl.String,
    "row": pl.Int64,
    **dict.fromkeys(MEASURES, pl.Boolean),
    "reason": pl.String,
}


class Reruns(NamedTuple):
    """The results of running requests again, and the money spent, None if no price is known.

    The table has one row per request. Its columns are `key`, `artifact` (a path that begins with
    the results folder's name), `row` in that artifact from 0, the columns of `MEASURES` (null if
    nothing was compared), and `reason` why the request was not run again.
    """

    table: pl.DataFrame
    cost: float | None = None

    @property
    def counts(self) -> dict[str, tuple[int, int]]:
        """The number of equal rows and the number of compared rows, by measure."""
        seen = {measure: self.table[measure].drop_nulls() for measure in MEASURES}
        return {measure: (int(column.sum()), len(column)) for measure, column in seen.items()}

    @property
    def n_not_run(self) -> int:
        """The number of requests that were not run again."""
        return self.table["reason"].drop_nulls().len()


class SampledRow(NamedTuple):
    """A row that was drawn from an artifact: its number there from 0, and its values by column."""

    path: Path
    row: int
    values: dict[str, Any]


def draw_rows_by(
    column: str, paths: Sequence[Path], is_eligible: pl.Expr, k: int, rng: np.random.Generator
) -> dict[str, list[SampledRow]]:
    """Return at most `k` random rows of some tables, by the sorted values of a column."""
    groups: dict[str, list[SampledRow]] = {}
    for row in draw_rows(paths, is_eligible, k, rng):
        groups.setdefault(row.values[column], []).append(row)
    return dict(sorted(groups.items()))


def draw_rows(
    paths: Sequence[Path], is_eligible: pl.Expr, k: int, rng: np.random.Generator
) -> Iterator[SampledRow]:
    """Yield at most `k` random rows of some tables, each as likely as any other.

    Unreadable tables are skipped, since a damaged file is reported by its hash. Tables are read by
    pyarrow, because some damaged files make Polars ask for too much memory and end the process.
    """
    frames = [pl.DataFrame(schema={"row": pl.UInt32, "file": pl.Int32})]
    for number, path in enumerate(paths):
        file = pl.lit(number, dtype=pl.Int32).alias("file")
        with suppress(*UNREADABLE):
            table = _rows_of(path, is_eligible.meta.root_names())
            frames.append(table.filter(is_eligible).select("row", file))
    candidates = pl.concat(frames)
    chosen = candidates[
        np.sort(rng.choice(candidates.height, min(k, candidates.height), replace=False))
    ]
    for (file,), rows in chosen.partition_by("file", as_dict=True, maintain_order=True).items():
        path = paths[file]
        sampled: list[dict[str, Any]] = []
        with suppress(*UNREADABLE):
            sampled = _rows_of(path).filter(pl.col("row").is_in(rows["row"].implode())).to_dicts()
        yield from (SampledRow(path, values.pop("row"), values) for values in sampled)


def _rows_of(path: Path, columns: list[str] | None = None) -> pl.DataFrame:
    return pl.read_parquet(path, columns=columns, use_pyarrow=True).with_row_index("row")


def rerun_table(results: Path, rows: Sequence[tuple[SampledRow, dict[str, Any]]]) -> pl.DataFrame:
    """Return the outcomes of drawn rows as the table of `Reruns`, with null for missing values."""
    named = [
        {
            "key": row.values["key"],
            "artifact": f"results/{row.path.relative_to(results).as_posix()}",
            "row": row.row,
            **became,
        }
        for row, became in rows
    ]
    return pl.DataFrame(named, schema=RERUN_SCHEMA)


UNEQUAL = reduce(or_, [pl.col(name).not_() for name in MEASURES])
# More unequal reruns than this are a finding even if the study does not claim exactness: an engine
# with other batches changes some tokens; for the demo on another day it changed none of 40.
MOST_UNEQUAL = 0.2
FORGED = (0.01, 0.05, 0.2)  # shares of forged rows for which an audit states its chance to find one


class Samples(NamedTuple):
    """The random samples of an audit: numbers of requests to run and verdicts to ask for again.

    Attributes:
        nonce: seed of the draws, new for each audit so that nobody knows the sample beforehand.
        configfiles: the configuration files besides `config.yaml` of a study of the user's own.
        trusted: hash of what the user has allowed a stranger's study to do.
    """

    n_regenerated: int = 0
    n_rejudged: int = 0
    nonce: str = ""
    configfiles: tuple[str, ...] = ()
    trusted: str | None = None

    @property
    def option(self) -> str | None:
        """The option that asks models or judges again, or None if no sample is drawn."""
        return "--regenerate" if self.n_regenerated else "--rejudge" if self.n_rejudged else None

    def rng(self, *names: str) -> np.random.Generator:
        """Return the random generator of one draw, which its names tell apart."""
        return generator(0, "audit", self.nonce, *names)


def rerun(results: Path, samples: Samples) -> Iterator[Finding | Note]:
    """Ask engine and judges again as often as `samples` says, and yield findings and notes."""
    if samples.nonce:  # which also draws the answers that were graded again
        text = f"random rows were drawn with `--nonce {samples.nonce}`; it draws the same again"
        yield Note("samples", "results", text)
    if samples.option is None:
        return
    from userturn.audit.rerun_requests import regenerate, rejudge_sample, rescore  # engines

    if samples.n_regenerated:
        regenerated = regenerate(results, samples.n_regenerated, samples.rng("regenerate"))
        is_exact = read_study_record(results).config.get("determinism") == "exact"
        yield from notes_of("regenerate", regenerated, "texts")
        yield from unequal(regenerated, is_exact)
        scored = rescore(results, samples.n_regenerated, samples.rng("rescore"))
        if scored.table.height:
            yield from notes_of("regenerate", scored, "scores")
            yield from other_scores(scored)
    if samples.n_rejudged:
        judged = rejudge_sample(results, samples.n_rejudged, samples.rng("rejudge"))
        yield from notes_of("rejudge", judged, "verdicts")


def notes_of(what: str, reruns: Reruns, rows: str) -> Iterator[Note]:
    """Yield notes on shares of equal rows, on rows not run, and on the chance to find forgery."""
    shares = [
        "{} {} of {}, {:.1%} [{:.1%}, {:.1%}]".format(m.replace("_", " "), k, n, *wilson(k, n))
        for m, (k, n) in reruns.counts.items()
        if n
    ]
    cost = "" if reruns.cost is None else f"; cost {reruns.cost:.4f}"
    yield Note(what, "results", f"{'; '.join(shares) or f'no {rows} compared'}{cost}")
    if n := reruns.table.height - reruns.n_not_run:
        chances = ", ".join(f"{1 - (1 - share) ** n:.0%} if {share:.0%} are" for share in FORGED)
        text = f"chance that {n} random {rows} hold a forged one: {chances} forged"
        yield Note(what, "results", text)
    for row in reruns.table.filter(UNEQUAL).to_dicts():
        measures = " and ".join(m.removeprefix("equal_") for m in MEASURES if row[m] is False)
        yield Note(what, row["artifact"], f"row {row['row']}: other {measures}")
    reasons = reruns.table["reason"].drop_nulls().value_counts()
    for reason, k in reasons.sort("count", "reason", descending=[True, False]).iter_rows():
        yield Note(what, "results", f"{k} not run again: {reason}")


def unequal(reruns: Reruns, is_exact: bool) -> Iterator[Finding]:
    """Yield the rows whose difference an inexact engine does not explain.

    A text is the decoding of its tokens: equal tokens with another text were edited, or decoded by
    another tokenizer. If the study does not claim exactness, tokens may differ in a few rows.
    """
    unequal = reruns.table.filter(~pl.col("equal_bytes"))
    n_compared = reruns.table.height - reruns.n_not_run
    lower = wilson(unequal.height, n_compared).lower or 0.0
    for row in unequal.to_dicts():
        if row["equal_tokens"]:
            expected = "the text that its tokens decode to"
        elif is_exact:
            expected = "the same text, as `determinism: exact` claims"
        elif lower > MOST_UNEQUAL:
            expected = f"different tokens in at most {MOST_UNEQUAL:.0%} of the rows run again"
        else:
            continue
        yield Finding(
            "regenerate",
            row["artifact"],
            expected,
            f"another in row {row['row']}",
            f"set `determinism: best_effort` if only tokens differ, or {remake(row['artifact'])}",
        )


def other_scores(reruns: Reruns) -> Iterator[Finding]:
    """Yield the turns whose likelihood differs when they are scored again."""
    for row in reruns.table.filter(~pl.col("equal_scores")).to_dicts():
        expected = f"the model's own score, within {MOST_APART:g} nats a token"
        difference = f"another in row {row['row']}"
        yield Finding("regenerate", row["artifact"], expected, difference)

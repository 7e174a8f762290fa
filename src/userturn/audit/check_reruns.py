"""Do random requests give the same result when they are run again, if the study claims so?"""

from collections.abc import Iterator, Mapping
from functools import reduce
from operator import or_
from pathlib import Path
from secrets import token_hex
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from userturn.audit.findings import Finding, Note, remake
from userturn.audit.rerun_requests import rerun_of_model
from userturn.audit.rerun_sample import (
    MEASURES,
    MOST_APART,
    Reruns,
    SampledRow,
    draw_rows_by,
    rerun_table,
)
from userturn.likelihood.score_records import ScoreRecord
from userturn.models.scoring import ScoringRequest, scoring_request
from userturn.stats.proportions import wilson
from userturn.stats.rng import generator
from userturn.study.grid import Grid
from userturn.study.record import read_study_record
from userturn.study.replies import scan_plans

SCORED = pl.col("logprob").is_not_null()


def rescore(results: Path, k: int, rng: np.random.Generator) -> Reruns:
    """Score `k` random turns after random contexts again; `equal_scores` compares each token.

    The context comes from the plan that the row's key names.

    Args:
        results: results folder of a finished study.
        k: number of scores.
        rng: draws them.

    Raises:
        UserError: the folder has no record.
    """
    grid = read_study_record(results).grid(results)
    paths = sorted(results.glob("likelihood/*/*/[!.]*.parquet"))
    rows: list[tuple[SampledRow, dict[str, Any]]] = []
    for model, drawn in draw_rows_by("model", paths, SCORED, k, rng).items():
        rows += rerun_of_model(grid, model, drawn, AsScored())
    return Reruns(rerun_table(results, rows))


class AsScored:
    """Scores: the same likelihood of each token, but for rounding."""

    def request(
        self,
        grid: Grid,
        description: Mapping[str, Any],
        identity: Mapping[str, Any],
        row: SampledRow,
    ) -> ScoringRequest | None:
        """Return the scoring request of a row, or None if no plan gives its key."""
        values = row.values
        dataset = grid.places.of_dataset(values["dataset"])
        pair = grid.places.of_pair(values["model"], values["dataset"])
        folder = grid.results / "requests" / pair
        for path in sorted(folder.rglob("[!.]*.parquet")):
            if "n_context" not in pl.read_parquet_schema(path):
                continue
            plan = scan_plans([path]).filter(pl.col("key") == values["key"])
            columns = ["token_ids", "n_context", pl.col("asked_as").fill_null(dataset)]
            for ids, n, named in plan.select(columns).head(1).collect().iter_rows():
                made = scoring_request(identity, named, values["item"], ids, n)
                return made if made.key == values["key"] else None
        return None

    def compared(self, grid: Grid, row: SampledRow, record: ScoreRecord) -> dict[str, Any]:
        """Return whether the scores are equal, within `MOST_APART` nats for every token.

        The total is compared as well, since tables are made from it.
        """
        if record["outcome"] == "error":
            return {"reason": f"the engine refused it: {record['error']}"}
        found, noted = record["logprobs"], row.values["logprobs"]
        total = abs(sum(found) - row.values["logprob"]) / max(1, len(found))
        apart = [abs(a - b) for a, b in zip(found, noted, strict=False)]
        equal = len(found) == len(noted) and max([total, *apart]) <= MOST_APART
        return {"equal_scores": equal}


UNEQUAL = reduce(or_, [pl.col(name).not_() for name in MEASURES])
# More unequal reruns than this are a finding even if the study does not claim exactness: an engine
# with other batches changes some tokens; for the demo on another day it changed none of 40.
MOST_UNEQUAL = 0.2
FORGED = (0.01, 0.05, 0.2)  # shares of forged rows for which an audit states its chance to find one


class Samples(NamedTuple):
    """The random samples of an audit.

    Attributes:
        n_regenerated: number of requests to run again on this machine.
        n_rejudged: number of verdicts to ask for again.
        nonce: seed of the draws; fresh for each audit, so that nobody knows the sample beforehand.
        configfiles: the user's configuration files besides `config.yaml`, for a study of theirs.
        trusted: hash of what the user has confirmed that a stranger's study may do.
    """

    n_regenerated: int = 0
    n_rejudged: int = 0
    nonce: str = ""
    configfiles: tuple[str, ...] = ()
    trusted: str | None = None

    @property
    def option(self) -> str | None:
        """The option by which models or judges are asked again; None without."""
        return "--regenerate" if self.n_regenerated else "--rejudge" if self.n_rejudged else None

    def rng(self, *names: str) -> np.random.Generator:
        """Return the generator of one of the draws."""
        return generator(0, "audit", self.nonce, *names)


def fresh_nonce() -> str:
    """Return an unpredictable seed for the draws of an audit."""
    return token_hex(8)


def rerun(results: Path, samples: Samples) -> Iterator[Finding | Note]:
    """Run requests of engine and judges again, as many as `samples` says."""
    if samples.n_regenerated:
        from userturn.audit.check_reruns import rescore
        from userturn.audit.rerun_requests import regenerate  # torch

        made = regenerate(results, samples.n_regenerated, samples.rng("regenerate"))
        is_exact = read_study_record(results).config.get("determinism") == "exact"
        yield from notes_of("regenerate", made, "texts")
        yield from unequal(made, is_exact)
        scored = rescore(results, samples.n_regenerated, samples.rng("rescore"))
        if scored.table.height:
            yield from notes_of("regenerate", scored, "scores")
            yield from other_scores(scored)
    if samples.n_rejudged:
        from userturn.audit.rerun_judges import rejudge_sample

        judged = rejudge_sample(results, samples.n_rejudged, samples.rng("rejudge"))
        yield from notes_of("rejudge", judged, "verdicts")


def notes_of(what: str, reruns: Reruns, rows: str) -> Iterator[Note]:
    """Yield how many rows are equal, which were not run, and the chance to find a forged one."""
    shares = [
        f"{row['measure'].replace('_', ' ')} {row['n_equal']} of {row['n']}, "
        f"{row['estimate']:.1%} [{row['lower']:.1%}, {row['upper']:.1%}]"
        for row in reruns.shares.filter(pl.col("n") > 0).to_dicts()
    ]
    cost = "" if reruns.cost is None else f"; cost {reruns.cost:.4f}"
    yield Note(what, "results", f"{'; '.join(shares) or f'no {rows} compared'}{cost}")
    if n := reruns.table.height - reruns.n_not_run:
        yield _chance(what, n, rows)
    for row in reruns.table.filter(UNEQUAL).to_dicts():
        measures = " and ".join(m.removeprefix("equal_") for m in MEASURES if row[m] is False)
        yield Note(what, row["artifact"], f"row {row['row']}: other {measures}")
    reasons = reruns.table["reason"].drop_nulls().value_counts()
    for reason, k in reasons.sort("count", "reason", descending=[True, False]).iter_rows():
        yield Note(what, "results", f"{k} not run again: {reason}")


def _chance(what: str, n: int, rows: str) -> Note:
    chances = ", ".join(f"{1 - (1 - share) ** n:.0%} if {share:.0%} are" for share in FORGED)
    text = f"chance that {n} random {rows} hold a forged one: {chances} forged"
    return Note(what, "results", text)


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
    """Yield the turns whose likelihood is another when they are scored again."""
    for row in reruns.table.filter(~pl.col("equal_scores")).to_dicts():
        expected = f"the model's own score, within {MOST_APART:g} nats a token"
        found = f"another in row {row['row']}"
        yield Finding("regenerate", row["artifact"], expected, found, remake(row["artifact"]))

"""Score turns of a finished study again, on this machine, and compare their likelihoods."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from userturn.audit.rerun_requests import rerun_of_model
from userturn.audit.rerun_sample import MOST_APART, Reruns, SampledRow, draw_rows_by, rerun_table
from userturn.likelihood.score_records import ScoreRecord
from userturn.models.scoring import ScoringRequest, scoring_request
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

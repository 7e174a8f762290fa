"""Do random requests give the same result when they are run again, if the study claims so?"""

from pathlib import Path
from typing import NamedTuple

import polars as pl

from userturn.audit.findings import Finding, Note, remake
from userturn.audit.rerun_sample import Reruns
from userturn.stats.rng import generator
from userturn.study.record import StudyRecord, read_study_record


class Rerun(NamedTuple):
    """The result of running requests again."""

    findings: list[Finding]
    notes: list[Note]


def rerun(results: Path, n_regenerated: int, n_rejudged: int) -> Rerun:
    """Run requests of engine and judges again; none where the numbers are 0."""
    found = Rerun([], [])
    study = read_study_record(results)
    if n_regenerated:
        from userturn.audit.regenerate import regenerate  # torch

        rng = generator(study.config["seed"], "audit", "regenerate")
        _add(found, "regenerate", regenerate(results, n_regenerated, rng), _is_exact(study))
    if n_rejudged:
        from userturn.audit.rejudge import rejudge_sample

        rng = generator(study.config["seed"], "audit", "rejudge")
        _add(found, "rejudge", rejudge_sample(results, n_rejudged, rng), False)
    return found


def _is_exact(study: StudyRecord) -> bool:
    return study.config.get("determinism") == "exact"


def _add(found: Rerun, what: str, reruns: Reruns, is_exact: bool) -> None:
    shares = [
        f"{row['measure'].replace('_', ' ')} {row['n_equal']} of {row['n']}, "
        f"{row['estimate']:.1%} [{row['lower']:.1%}, {row['upper']:.1%}]"
        for row in reruns.shares.filter(pl.col("n") > 0).to_dicts()
    ]
    cost = "" if reruns.cost is None else f"; cost {reruns.cost:.4f}"
    found.notes.append(Note(what, "results", f"{'; '.join(shares) or 'nothing compared'}{cost}"))
    for reason, n in reruns.table["reason"].drop_nulls().value_counts(sort=True).iter_rows():
        found.notes.append(Note(what, "results", f"{n} not run again: {reason}"))
    if is_exact:
        unequal = reruns.table.filter(~pl.col("equal_bytes"))
        found.findings.extend(
            Finding(
                what,
                row["artifact"],
                "the same text, as `determinism: exact` claims",
                f"another in row {row['row']}",
                f"set `determinism: best_effort`, or {remake(row['artifact'])}",
            )
            for row in unequal.to_dicts()
        )

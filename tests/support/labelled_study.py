"""A simulated study: people and a judge whose error rates are known."""

from typing import Any

import numpy as np
import polars as pl

from tests.support.annotation_rounds import (
    FAMILIES,
    LABELS,
    annotated,
    key_of,
    mistaken,
    study,
    together,
)
from userturn.humans.import_labels import ANNOTATIONS_SCHEMA
from userturn.humans.labels import labelled_beside_judges

NO_ANNOTATIONS = pl.DataFrame(schema=ANNOTATIONS_SCHEMA)


def labels_of(n: int, share_genuine: float, seed: int) -> list[str]:
    """Return true labels: a share is genuine, the rest is spread over the other labels."""
    generator = np.random.default_rng(seed)
    rest = (1 - share_genuine) / (len(LABELS) - 1)
    return [str(x) for x in generator.choice(LABELS, n, p=[share_genuine] + [rest] * 5)]


def simulated(
    share_genuine: float = 0.3, judge_rate: float = 0.2, rates: dict[str, float] | None = None
) -> dict[str, Any]:
    """Return a study of three models, a judge and annotators with known rates of error."""
    generator = np.random.default_rng(7)
    cells, truth = [], {}
    for number, model in enumerate(FAMILIES):
        real = labels_of(400, share_genuine, seed=number)
        cells.append(study(mistaken(real, judge_rate, generator), model))
        truth.update(zip(cells[-1][0]["key"], real, strict=True))
    turns, verdicts = together(*cells)
    key = key_of(turns, verdicts, per_stratum=60, genuine=60)
    real = [truth[name] for name in key["key"]]
    rates = {"ann": 0.1, "bob": 0.1} if rates is None else rates
    given = {name: mistaken(real, rate, generator) for name, rate in rates.items()}
    annotations = annotated(key, **given) if given else NO_ANNOTATIONS
    return {
        "turns": turns,
        "verdicts": verdicts,
        "key": key,
        "annotations": annotations,
        "truth": truth,
    }


SIMULATED = simulated()


def tables_of(found: dict[str, Any]) -> tuple[pl.DataFrame, pl.DataFrame]:
    return labelled_beside_judges(
        found["turns"], found["verdicts"], found["annotations"], found["key"], FAMILIES
    )

"""Verdicts and grades of a study that nobody ran, of any size, with known rates."""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl

from userturn.storage.table_files import CELL_KEYS, JUDGED_CELL_COLUMNS, Schema
from userturn.tables.rates import OUTCOMES, rates

RUBRIC = str(Path(__file__).resolve().parents[2] / "data" / "rubric.yaml")

MODELS = [
    "qwen3.5-0.8b",
    "qwen3.5-2b",
    "qwen3.5-4b",
    "qwen3.5-9b",
    "qwen3.5-27b",
    "qwen3.5-35b-a3b",
    "qwen3.5-122b-a10b",
    "qwen3.5-397b-a17b",
    "gpt-oss-20b",
    "gpt-oss-120b",
    "glm-4.7",
]
DATASETS = {"gsm8k": 1319, "math500": 500, "ifbench": 300, "healthbench": 1000, "coval": 1078}
GRADED = {"gsm8k": 0.1, "math500": -0.1, "ifbench": -0.3}  # shift of accuracy
TEMPERATURES = (0.0, 0.3, 0.5, 0.7, 1.0)
PERTURBATIONS = ("none", "truncate", "generic_question")
LABELS = (
    "prompt_restate",
    "assistant_turn_restate",
    "generic",
    "unrelated",
    "degenerate",
    "genuine_followup",
)
FAILURES = {  # how each family's failures share out over the first five labels
    "qwen": (0.6, 0.2, 0.1, 0.05, 0.05),
    "gpt": (0.05, 0.75, 0.1, 0.05, 0.05),
    "glm": (0.2, 0.3, 0.3, 0.1, 0.1),
}


@cache
def item_names(dataset: str, n_items: int) -> pl.Series:
    """Return the ids of a dataset's items."""
    return pl.Series([f"{dataset}-{i:05d}" for i in range(n_items)])


def rate_of(model: str, temperature: float, perturbation: str) -> float:
    """Return the chance of a genuine follow-up: what a table of a large study should find."""
    qwen = model.startswith("qwen")
    base = 0.01 if qwen else 0.08
    rise = 0.18 * temperature**2 * (1 if qwen else 0.7)
    changed = perturbation != "none" and not qwen
    return base + rise + (0.12 if changed else 0.0)


def verdicts_of_cell(
    cell: tuple[str, str, float, str], n_items: int, n_samples: int, judge: str, seed: int
) -> pl.DataFrame:
    """Return the verdicts of one judge on one cell, one in fifty unscored."""
    model, dataset, temperature, perturbation = cell
    rng = np.random.default_rng([seed, *"".join(map(str, cell)).encode()])
    n = n_items * n_samples
    rate = rate_of(model, temperature, perturbation)
    family = model.partition("-")[0].removesuffix("3.5")
    failures = np.array(FAILURES.get(family, FAILURES["glm"])) * (1 - rate)
    code = rng.choice(6, size=n, p=[*failures, rate])
    scored = rng.random(n) >= 0.02
    table = pl.DataFrame(
        {
            "item": item_names(dataset, n_items)[np.repeat(np.arange(n_items), n_samples)],
            "sample": np.tile(np.arange(n_samples), n_items),
            "judge": judge,
            "label": pl.Series(LABELS)[code],
            "genuine": code == 5,
            "rationale": None,
            "unscored_reason": "the judge refused",
        },
        schema_overrides={"rationale": pl.String},
    )
    keys = [pl.lit(value).alias(name) for name, value in zip(CELL_KEYS, cell, strict=True)]
    kept = {"label": scored, "genuine": scored, "unscored_reason": ~scored}
    columns = [pl.when(pl.Series(where)).then(name).alias(name) for name, where in kept.items()]
    return table.with_columns(*keys, *columns).select(*CELL_KEYS, *table.columns)


def grades_of(model: str, dataset: str, n_items: int, seed: int) -> pl.DataFrame:
    """Return grades; larger models are right more often, ungraded datasets are null."""
    rng = np.random.default_rng([seed, *f"{model}{dataset}".encode()])
    share = 0.45 + 0.05 * MODELS.index(model) + GRADED.get(dataset, 0) if model in MODELS else 0.5
    correct = rng.random(n_items) < min(share, 0.97)
    return pl.DataFrame(
        {
            "model": model,
            "dataset": dataset,
            "item": item_names(dataset, n_items),
            "correct": pl.Series(
                correct if dataset in GRADED else [None] * n_items, dtype=pl.Boolean
            ),
            "correct_loose": pl.Series([None] * n_items, dtype=pl.Boolean),
            "score": pl.Series([None] * n_items, dtype=pl.Float64),
        }
    )


def rates_without_outcomes(
    items: pl.DataFrame, paper: Mapping[str, str] | None = None
) -> pl.DataFrame:
    """Return the table of rates of counted verdicts, of whose turns nothing else is known."""
    known: Schema = {**JUDGED_CELL_COLUMNS, **OUTCOMES}
    return rates(items, pl.DataFrame(schema=known), paper)


def write_study(
    folder: Path,
    models: Sequence[str] = MODELS,
    datasets: Mapping[str, int] = DATASETS,
    temperatures: Sequence[float] = TEMPERATURES,
    perturbations: Sequence[str] = PERTURBATIONS,
    judges: Sequence[str] = ("heuristic",),
    n_samples: int = 1,
    seed: int = 0,
) -> tuple[list[str], list[str]]:
    """Write verdicts and grades where a study has them; return their paths."""
    verdicts, grades = [], []
    for model in models:
        for dataset, n_items in datasets.items():
            path = folder / "grades" / model / f"{dataset}.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            grades_of(model, dataset, n_items, seed).write_parquet(path)
            grades.append(str(path))
            for temperature in temperatures:
                for perturbation in perturbations:
                    cell = (model, dataset, temperature, perturbation)
                    place = folder / "cells" / model / dataset / f"t{temperature:g}" / perturbation
                    (place / "verdicts").mkdir(parents=True, exist_ok=True)
                    n = n_samples if temperature else 1
                    for i, judge in enumerate(judges):
                        path = place / "verdicts" / f"{judge}.parquet"
                        table = verdicts_of_cell(cell, n_items, n, judge, seed + i)
                        table.write_parquet(path)
                        verdicts.append(str(path))
    return verdicts, grades

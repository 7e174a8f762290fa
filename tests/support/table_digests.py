"""Prints a digest of every table of a study, several times: `python -m ... FOLDER REPEATS`."""

import sys
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl

from tests.support.synthetic_study import RUBRIC
from userturn.judges.verdict import GENUINE
from userturn.storage.key_columns import CELL_KEYS
from userturn.tables.agreement import agreement
from userturn.tables.confusion import confusion
from userturn.tables.material import Material
from userturn.workflow.registry import tables_of

TURN = [*CELL_KEYS, "item", "sample"]


def _grid(models: list[str]) -> Any:
    entries: dict[str, Any] = {name: {} for name in models}
    return SimpleNamespace(
        models=entries,
        entries=entries,
        contents=SimpleNamespace(recipes={}),
        datasets=[],
        perturbations={name: {"operator": name} for name in ("none", "truncate")},
        config={"seed": 1, "statistics": {"resamples": 50}},
    )


def _labels(verdicts: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return labels of two people for every fifth turn, and all turns beside their judges."""
    judged = verdicts.pivot("judge", index=TURN, values="label", maintain_order=True).sort(TURN)
    judges = [name for name in judged.columns if name not in TURN]
    judged = judged.rename({name: f"judge {name}" for name in judges}).with_columns(
        family=pl.col("model"), weight=pl.lit(1.0)
    )
    labelled = judged.gather_every(5).with_row_index("id")
    first = pl.col(f"judge {judges[0]}")
    return labelled.with_columns(
        weight=1 / (pl.col("id") % 7 + 3),
        people=first,
        **{"annotator a": first, "people, genuine or not": first.replace({"generic": GENUINE})},
        **{"annotator b": pl.col(f"judge {judges[1]}")},
    ), judged


def tables_in(folder: Path) -> dict[str, pl.DataFrame]:
    """Return the tables that a folder's verdicts and grades make."""
    paths = [str(path) for path in folder.glob("cells/*/*/*/*/verdicts/*.parquet")]
    grades = [str(path) for path in folder.glob("grades/*/*.parquet")]
    models = sorted(path.name for path in (folder / "grades").iterdir())
    verdicts = pl.concat([pl.read_parquet(path) for path in sorted(paths)])
    labelled, judged = _labels(verdicts)
    material = Material(_grid(models), {"verdicts": paths, "grades": grades, "rubric": [RUBRIC]})
    scale = sorted(verdicts["label"].drop_nulls().unique())
    return {
        **{name: material.table(name) for name in tables_of("analyse")},
        "confusion": confusion(labelled, judged),
        "agreement": agreement(labelled, judged.gather_every(20), scale, 1),
    }


def digest(folder: Path) -> str:
    """Return one digest of all tables."""
    texts = [f"{name}\n{table.write_csv()}" for name, table in tables_in(folder).items()]
    return " ".join(sha256(text.encode()).hexdigest()[:12] for text in texts)


if __name__ == "__main__":
    for _ in range(int(sys.argv[2])):
        print(digest(Path(sys.argv[1])))

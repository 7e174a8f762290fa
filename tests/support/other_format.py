"""The whole study of `whole_study` with some models in another prompt format beside the default."""

from pathlib import Path
from typing import Any

import polars as pl

from tests.support.made_up_results import save
from tests.support.whole_study import whole_grid
from userturn.study.grid import Grid

MODELS = ["qwen3.5-0.8b", "gpt-oss-20b"]
FORMAT = "no_system"


def grid_with_format(results: Path) -> Grid:
    """Return the grid of the study with the format."""
    formats = {FORMAT: {"system": "none", "models": MODELS}}
    config: dict[str, Any] = dict(whole_grid(results).config) | {"formats": formats}
    return Grid(config, results)


def write_format(folder: Path) -> None:
    """Write what the models said in the format: as before, but one turn in seven is genuine."""
    for model in MODELS:
        for path in sorted(folder.glob(f"**/{model}/**/*.parquet")):
            name = f"{model}+{FORMAT}"
            rows = pl.read_parquet(path).with_columns(model=pl.lit(name))
            if path.parent.name == "verdicts":
                seventh = pl.int_range(pl.len()) % 7 == 0
                said = pl.when(seventh).then(pl.lit(value=True)).otherwise("genuine")
                rows = rows.with_columns(genuine=said)
            save(rows, Path(str(path).replace(f"/{model}/", f"/{name}/")))

"""A results folder that nobody ran, of any size, and the report of it."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tests.support.snakemake_runs import ROOT
from userturn.config.load import load_config
from userturn.figures.rates_by_temperature import rates_by_temperature
from userturn.figures.theme import save as draw_figure
from userturn.judges.judge import scan_verdicts
from userturn.report.build import build_report
from userturn.storage.table_files import TURN_KEYS
from userturn.study.cells import Cell
from userturn.study.grid import Grid
from userturn.tables.rates import outcomes_of, rates
from userturn.tables.turn_rates import count_items

HEADER = "<|im_end|>\n<|im_start|>user\n"
LABELS = [
    "genuine_followup",
    "prompt_restate",
    "assistant_turn_restate",
    "generic",
    "unrelated",
    "degenerate",
]
WORDS = "the beans soak over night and then you cook them slowly with salt until they are soft"
CUT = ["length", "stop", "stop"]  # of three answers one is cut at the token limit
QUESTION = "and if I forgot to soak them, how much longer do they have to cook?"
CUT_COUNTED = ["model", "dataset", "finish_reason"]
Write = Callable[[Cell, int], str]


def made_up_config(
    models: Sequence[str],
    datasets: Sequence[str],
    temperatures: Sequence[float] = (0, 1.0),
    perturbations: Sequence[str] = ("none", "truncate", "generic_question"),
    judges: Sequence[str] = ("heuristic", "second"),
) -> dict[str, Any]:
    """Return the shipped configuration with another grid."""
    config = load_config([ROOT / "config.yaml"])
    config["study"] = {"name": "A made-up study", "date": "2026-11-27"}
    config["models"] = dict.fromkeys(models, "made/up")
    config["datasets"] |= {
        name: {"file": "none"} for name in datasets if name not in config["datasets"]
    }
    config["judges"] = dict.fromkeys(judges, config["judges"]["heuristic"])
    run = {"models": models, "datasets": datasets, "judges": judges, "perturbations": perturbations}
    config["run"] = {**run, "temperatures": temperatures}
    return config


def sentence(rng: np.random.Generator, n_words: int) -> str:
    return " ".join(rng.choice(WORDS.split(), n_words)).capitalize() + "."


def shown(answer: str, perturbation: str) -> str | None:
    """Return an answer as a perturbation shows it."""
    changed = {
        "truncate": answer[: len(answer) // 2],
        "generic_question": f"{answer}\n\nWould you like to know more?",
        "header_only": None,
    }
    return changed.get(perturbation, answer)


def prompt(question: str, answer: str | None) -> str:
    start = "<|im_start|>system\nYou are a helpful assistant"
    if answer is None:
        return f"{start}{HEADER}"
    return f"{start}{HEADER}{question}<|im_end|>\n<|im_start|>assistant\n{answer}{HEADER}"


def turns_of_cell(
    cell: Cell, temperature: float, items: pl.DataFrame, write: Write
) -> pl.DataFrame:
    """Return the user turns of a cell, one an item; the last one of many is an error."""
    shows = [shown(answer, cell.perturbation) for answer in items["answer"]]
    n = items.height
    failed = [n > 5 and i == n - 1 for i in range(n)]
    return items.select(
        *(pl.lit(v).alias(k) for k, v in {**cell._asdict(), "temperature": temperature}.items()),
        item="item",
        sample=pl.lit(0, pl.Int64),
        key=pl.format("{}-{}-{}-{}-{}", *(pl.lit(str(part)) for part in cell), "item"),
        prompt_text=pl.Series(
            [prompt(q, a) for q, a in zip(items["question"], shows, strict=True)], dtype=pl.String
        ),
        answer=pl.Series(shows, dtype=pl.String),
        outcome=pl.Series(["error" if f else "ok" for f in failed]),
        text=pl.Series(
            [None if f else write(cell, i) for i, f in enumerate(failed)], dtype=pl.String
        ),
        finish_reason=pl.Series(["length" if i % 7 == 3 else "stop" for i in range(n)]),
        error=pl.Series(["out of memory" if f else None for f in failed], dtype=pl.String),
    )


def verdicts_of_cell(turns: pl.DataFrame, judge: str, rng: np.random.Generator) -> pl.DataFrame:
    n = turns.height
    rate = 0.03 + 0.15 * float(turns["temperature"][0]) ** 2
    chances = [rate, *(share * (1 - rate) for share in (0.45, 0.25, 0.15, 0.1, 0.05))]
    scored = pl.Series((rng.random(n) < 0.97).tolist()) & (turns["outcome"] != "error")
    label = pl.Series([LABELS[i] for i in rng.choice(6, n, p=chances)])
    labels = pl.select(pl.when(scored).then(label)).to_series()
    return turns.select(
        *TURN_KEYS,
        judge=pl.lit(judge),
        label=labels,
        genuine=labels == LABELS[0],
        rationale=pl.Series(
            [f"{judge} says why, number {i % 9}" if s else None for i, s in enumerate(scored)],
            dtype=pl.String,
        ),
        unscored_reason=pl.Series(
            [None if s else "the judge refused" for s in scored], dtype=pl.String
        ),
    )


def default_turn(cell: Cell, i: int) -> str:
    return f"{QUESTION} ({cell.model}, {cell.temperature}, number {i})<|im_end|>"


def write_results(
    grid: Grid, n_items: int, write: Write = default_turn, n_words: int = 60, seed: int = 0
) -> None:
    """Write the Parquet files that the report reads, and the table of rates."""
    rng = np.random.default_rng(seed)
    for dataset in grid.datasets:
        names = [f"{dataset}-{i}" for i in range(n_items)]
        questions = [
            f"How do I cook {sentence(rng, 8)} Question {i} of {dataset}?" for i in range(n_items)
        ]
        messages = [[{"role": "user", "content": question}] for question in questions]
        save(pl.DataFrame({"item": names, "messages": messages}), grid.dataset_path(dataset))
        for model in grid.models:
            answers = [sentence(rng, n_words) for _ in names]
            items = pl.DataFrame({"item": names, "question": questions, "answer": answers})
            save(
                items.select(
                    "item",
                    "answer",
                    model=pl.lit(model),
                    dataset=pl.lit(dataset),
                    finish_reason=pl.Series(CUT * (n_items // 3 + 1)).head(n_items),
                ),
                grid.results / "answers" / model / f"{dataset}.parquet",
            )
            right = pl.Series([i % 3 != 0 for i in range(n_items)])
            save(
                items.select("item", correct=right),
                grid.results / "grades" / model / f"{dataset}.parquet",
            )
            for cell in (c for c in grid.cells if c[:2] == (model, dataset)):
                turns = turns_of_cell(cell, grid.temperatures[cell.temperature], items, write)
                folder = grid.results / "cells" / cell.folder
                save(turns, folder / "user_turns.parquet")
                for judge in grid.judges:
                    verdicts = verdicts_of_cell(turns, judge, rng)
                    save(verdicts, folder / "verdicts" / f"{judge}.parquet")
    save(rates_of(grid), grid.results / "tables" / "rates.parquet")
    for model in grid.models:
        path = grid.results / "models" / f"{model}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"user_header": HEADER, "source": "made/up", "revision": "f0"}))


def rates_of(grid: Grid) -> pl.DataFrame:
    """Return the table of rates of a study; each model is a family."""
    turns, verdicts = (
        [str(path) for path in sorted((grid.results / "cells").glob(f"*/*/*/*/{name}"))]
        for name in ("user_turns.parquet", "verdicts/*.parquet")
    )
    items = count_items(verdicts).with_columns(family=pl.col("model"))
    paths = sorted((grid.results / "answers").glob("*/*.parquet"))
    answers = pl.concat(pl.read_parquet(p).select(CUT_COUNTED) for p in paths)
    outcomes = outcomes_of(pl.scan_parquet(turns), scan_verdicts(verdicts), answers)
    return rates(items, outcomes)


def draw_rates(grid: Grid) -> None:
    """Draw the figure of rates by temperature from the table of rates, without chance floors."""
    rates_of = pl.read_parquet(grid.results / "tables" / "rates.parquet")
    families = pl.DataFrame({"model": list(grid.models), "family": list(grid.models)})
    charts = {}
    for judge in grid.judges:
        table = rates_of.filter(pl.col("judge") == judge)
        charts[judge] = rates_by_temperature(table, families, judge)
    (grid.results / "figures").mkdir()
    paths = [f"{grid.results}/figures/rates_by_temperature{end}" for end in (".vl.json", ".svg")]
    draw_figure(charts.pop(grid.primary_judge), "made up", paths, charts)


def save(table: pl.DataFrame, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    table.write_parquet(path)


def build(grid: Grid, folder: str = "report", **more: Sequence[str]) -> Path:
    """Write the report of a results folder, with every table that is there; return its page."""
    paths: Mapping[str, Any] = {
        "paths_to_tables": sorted(map(str, (grid.results / "tables").glob("*.parquet"))),
        "paths_to_figures": sorted(map(str, (grid.results / "figures").glob("*.svg"))),
        "paths_to_annotations": sorted(map(str, grid.results.glob("humans/*/annotations.parquet"))),
        "paths_to_scores": sorted(map(str, grid.results.glob("likelihood/*/*/*.parquet"))),
        "paths_to_captions": sorted(map(str, (ROOT / "data" / "captions").glob("*.rst"))),
    }
    page = grid.results / folder / "index.html"
    build_report(
        grid=grid,
        judge=next(iter(grid.judges)),
        path_to_rubric=str(ROOT / "data" / "rubric.yaml"),
        paths_to_descriptions=[str(grid.results / "models" / f"{m}.json") for m in grid.models],
        path_to_report=str(page),
        folder_of_data=str(page.parent / "data"),
        **{**paths, **more},
    )
    return page

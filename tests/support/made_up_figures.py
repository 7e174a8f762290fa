"""Every figure of a made-up study, from its rates and from tables of a row or two."""

from pathlib import Path

import polars as pl

from tests.figures.test_draw import accuracy, contrast, profile
from tests.figures.test_judge_card import card
from tests.figures.test_likelihood_and_followup import likelihood
from tests.figures.test_rates_by_language import RATED
from tests.figures.test_rates_by_language import TABLE as LANGUAGES
from tests.figures.test_self_play import depths
from tests.support.made_up_results import LABELS, save
from userturn.figures.accuracy_and_followup import accuracy_and_followup
from userturn.figures.answer_signals import answer_signals
from userturn.figures.confusion import confusion_figure
from userturn.figures.failure_profiles import failure_profiles
from userturn.figures.grid_overview import grid_overview
from userturn.figures.human_likeness import human_likeness
from userturn.figures.judge_card import judge_card
from userturn.figures.likelihood_and_followup import likelihood_and_followup
from userturn.figures.perturbation_effects import perturbation_effects
from userturn.figures.rates_by_language import rates_by_language
from userturn.figures.rates_by_turn import rates_by_turn
from userturn.figures.self_play import self_play
from userturn.figures.theme import save as write_chart
from userturn.figures.turn_properties import MEASURES as PROPERTIES
from userturn.figures.turn_properties import turn_properties
from userturn.humans.import_labels import ANNOTATIONS_SCHEMA
from userturn.storage.table_files import TURN_KEYS
from userturn.study.cells import PLAIN
from userturn.study.grid import Grid
from userturn.tables.answer_signals import AREA, CHANGE, RANDOM
from userturn.tables.confusion import PAIRS
from userturn.tables.families import families_table
from userturn.tables.parts_of_cells import BY_TURN

SIGNALS_OF = ("healthbench", "open")
PAIR = ("generic", "prompt_restate")  # labels by people and judge that the confusion shows
SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="200" height="100"></svg>'


def write_labels(grid: Grid, cell: str, n: int, path: Path) -> None:
    """Write labels of a person who calls the first turns of a cell `PAIR[0]`."""
    turns = pl.read_parquet(grid.results / "cells" / cell / "user_turns.parquet").head(n)
    said = {"round": "first", "annotator": "Ann", "id": "0", "label": PAIR[0], "notes": ""}
    rows = turns.select(*TURN_KEYS, "key", *(pl.lit(v).alias(k) for k, v in said.items()))
    rows = rows.with_columns(genuine=pl.lit(False))
    save(rows.select(*ANNOTATIONS_SCHEMA), path)


def _signals() -> pl.DataFrame:
    """Return a signal with a long name by both measures, of two datasets."""
    row = {"signal": "satisfaction over correction", "n_mixed": 5, "n_items": 9}
    row |= {"estimate": 0.2, "lower": 0.1, "upper": 0.3}
    measures = [{"measure": AREA, "baseline": ""}, {"measure": CHANGE, "baseline": RANDOM}]
    rows = [row | {"dataset": name} | one for name in SIGNALS_OF for one in measures]
    return pl.DataFrame([{"model": "m", **one} for one in rows])


def _properties(rates: pl.DataFrame) -> pl.DataFrame:
    """Return a table of properties of turns: each is as the rate is, and people's are lower."""
    ends = zip(("", "_lower", "_upper"), ("estimate", "lower", "upper"), strict=True)
    columns = {f"{name}{end}": pl.col(of) for end, of in ends for name in PROPERTIES}
    own = rates.with_columns(**columns)
    people = own.unique("dataset", maintain_order=True).with_columns(
        model=pl.lit("human"), temperature=pl.lit(None, pl.Float64)
    )
    return pl.concat([own, people])


def _by_turn(rates: pl.DataFrame) -> pl.DataFrame:
    """Return the rates of a study after its first and its second turn."""
    turns = [rates.with_columns(group=pl.lit(turn)) for turn in ("1", "2")]
    return pl.concat(turns).with_columns(scope=pl.lit(BY_TURN))


def _of_pairs(rates: pl.DataFrame) -> pl.DataFrame:
    """Return shares of pairs: the rates of the unperturbed cells."""
    plain = rates.filter(pl.col("perturbation") == PLAIN)
    return plain.with_columns(scope=pl.lit("cell"), n_labelled="n_scored", n_pairs="n_turns")


def draw_every_figure(grid: Grid, folder: Path) -> list[str]:
    """Write the charts of all figures but `rates_by_temperature`, beside pictures of nothing."""
    judge = grid.primary_judge
    families = families_table({model: {} for model in grid.models}, {})
    rates = pl.read_parquet(grid.results / "tables/rates.parquet").filter(pl.col("judge") == judge)

    def in_grid(table: pl.DataFrame, *keys: str) -> pl.DataFrame:
        return rates.select(keys).unique(maintain_order=True).join(table.drop(keys), how="cross")

    counts = [(a, b, 3 if (a, b) == PAIR else 1) for a in LABELS for b in LABELS]
    confusion = pl.DataFrame(
        [
            ("judge-human", "people", rater, a, b, n, n / 8)
            for rater in grid.judges
            for a, b, n in counts
        ],
        orient="row",
        schema=[
            "comparison",
            "first",
            "second",
            "label_first",
            "label_second",
            "n",
            "share_of_first",
        ],
    ).with_columns(part=pl.lit(PAIRS))
    known = ("human", "labelled", "people", "planted_hard", "planted")
    of_card = card(*((source, "all", 0.7) for source in known)).with_columns(
        lower=pl.lit(0.6), upper=pl.lit(0.8), n_scored=pl.lit(9), n_turns=pl.lit(9)
    )
    scores = in_grid(likelihood("open"), "model")
    charts = {
        "accuracy_and_followup": accuracy_and_followup(
            rates, in_grid(accuracy("m"), "model", "dataset"), families, judge
        ),
        "perturbation_effects": perturbation_effects(
            in_grid(contrast(0.04), "model", "dataset"), families, judge
        ),
        "failure_profiles": failure_profiles(in_grid(profile(), "model"), families, judge),
        "grid_overview": grid_overview(rates, families, judge),
        "judge_card": judge_card(of_card, families, judge),
        "likelihood_and_followup": likelihood_and_followup(rates, scores, families, judge),
        "confusion": confusion_figure(confusion, LABELS),
        "answer_signals": answer_signals(in_grid(_signals(), "model"), families, judge),
        "rates_by_turn": rates_by_turn(_by_turn(rates), families, judge),
        "rates_by_language": rates_by_language(
            *(in_grid(table, "model", "dataset") for table in (RATED, LANGUAGES)), families, judge
        ),
        "self_play": self_play(in_grid(depths("m"), "model", "dataset"), families, judge),
        "turn_properties": turn_properties(_properties(rates), families, judge),
        "human_likeness": human_likeness(_of_pairs(rates), families, judge),
    }
    folder.mkdir(exist_ok=True)
    for name, chart in charts.items():
        write_chart(chart, "made by a test", [f"{folder}/{name}.vl.json"])
        (folder / f"{name}.svg").write_text(SVG)
    return [f"{folder}/{name}.svg" for name in charts]

"""The sheets of `userturn rates`, from the tables of a study."""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from userturn.cli.terminal import Bar, Sheet, number, share
from userturn.judges.verdict import GENUINE
from userturn.study.cells import ALL, PLAIN
from userturn.tables.anchors import NOT_COMPARABLE, outcome_in_words
from userturn.tables.beside_accuracy import LIMITS
from userturn.tables.decoupling import OVER_MODELS
from userturn.tables.judge_card import OVER_KINDS
from userturn.tables.judges import cards, kinds_of_controls
from userturn.tables.likelihood import REFERENCE
from userturn.tables.likelihood_measures import CHARACTER

BY_PEOPLE = "people's labels"
SHARE = "share [95%]"
RATE_NAMES = ("model", "dataset", "t", "perturbation")  # columns that name a rate
BESIDE_FLOORS = (*RATE_NAMES, "judge", "genuine [95%]", "drawn", "floor", "above it [95%]")
MORE_OF_RATES = (
    *("or arguably [95%]", "different texts [95%]", "reacting [95%]", "scored", "copies", "cut"),
    "why no floor",
)


def usual(rates: pl.DataFrame) -> pl.DataFrame:
    """Return the rows without perturbation, or with the first perturbation if all have one."""
    kinds = rates["perturbation"].unique().sort().to_list()
    kind = PLAIN if PLAIN in kinds else next(iter(kinds), PLAIN)
    return rates.filter(pl.col("perturbation") == kind)


def rates_sheet(rates: pl.DataFrame, title: str) -> Sheet:
    """Return the sheet of rates beside floors, as judged and, if known, corrected by labels."""
    n = len(BESIDE_FLOORS)
    rows = [row[:n] for one in rates.iter_rows(named=True) for row in _rate(one)]
    return Sheet(BESIDE_FLOORS, rows, title, BESIDE_FLOORS[5:])


def more_of_rates_sheet(rates: pl.DataFrame, title: str) -> Sheet:
    """Return the sheet of the same rates counted in other ways, with the counts."""
    n = len(RATE_NAMES) + 1
    rows = [
        (*row[:n], *row[len(BESIDE_FLOORS) :])
        for one in rates.iter_rows(named=True)
        for row in _rate(one)
    ]
    heads = (*BESIDE_FLOORS[:n], *MORE_OF_RATES)
    return Sheet(heads, rows, title, MORE_OF_RATES[:-1])


def _rate(row: Mapping[str, Any]) -> Iterator[tuple[str | Bar, ...]]:
    """Yield the rows of a rate in a sheet: corrected by people's labels, and as judged."""

    def limits_of(name: str) -> tuple[float | None, float | None, float | None]:
        return row.get(name), row.get(f"{name}_lower"), row.get(f"{name}_upper")

    names = (
        row["model"],
        "" if row["dataset"] == ALL else row["dataset"],
        f"{row['temperature']:g}",
        "" if row["perturbation"] == PLAIN else row["perturbation"],
    )
    floor = row.get("floor")
    is_above = (row.get("above_floor_lower") or 0) > 0
    if row.get("corrected") is not None:
        labelled = f"{row['n_labelled']}/{row['n_turns_drawn_from']}"
        cells = BY_PEOPLE, share(*limits_of("corrected")), Bar(*limits_of("corrected"))
        yield *names, *cells, *[""] * 5, labelled, *[""] * 3
    limits = row_limits(row)
    has_lenient = row.get("lenient") not in (None, row["estimate"])
    yield (
        *(*names, row["judge"], share(*limits) or "no verdict", Bar(*limits, floor, is_above)),
        "" if floor is None else f"{floor:.1%}",
        "" if floor is None else points(*limits_of("above_floor")),
        share(*limits_of("lenient")) if has_lenient else "",
        share(*limits_of("distinct")) if row.get("n_copies") else "",
        share(*limits_of("reacts")),
        f"{row['n_scored']}/{row['n_turns']}",
        f"{row['n_copies']}/{row['n_ok']}" if row.get("n_copies") else "",
        f"{row['n_answers_cut']}/{row['n_answers']}" if row.get("n_answers_cut") else "",
        (row.get("floor_reason") or "") if floor is None else "",
    )


def _both(row: Mapping[str, Any]) -> tuple[str, Bar]:
    limits = row_limits(row)
    return share(*limits), Bar(*limits)


def row_limits(row: Mapping[str, Any]) -> tuple[float | None, float | None, float | None]:
    """Return a row's `estimate`, `lower` and `upper`, each of which may be None."""
    estimate, lower, upper = (row[name] for name in LIMITS)
    return estimate, lower, upper


def points(change: float | None, lower: float | None, upper: float | None) -> str:
    """Return a difference of shares in points, as in `+8.6 [-2.2, +19.5]`, or an empty text."""
    if change is None:
        return ""
    limits = "" if lower is None or upper is None else f" [{100 * lower:+.1f}, {100 * upper:+.1f}]"
    return f"{100 * change:+.1f}{limits}"


def failures_sheet(shares: pl.DataFrame) -> Sheet:
    """Return the sheet of labels of turns that are no genuine follow-ups, most frequent first."""
    rows = usual(shares.filter(pl.col("label") != GENUINE)).filter(pl.col("estimate") > 0)
    keys = ["model", "temperature", "judge"]
    rows = rows.sort("estimate", descending=True).sort(keys, maintain_order=True)
    cells = [
        (r["model"], f"{r['temperature']:g}", r["judge"], r["label"], *_both(r))
        for r in rows.iter_rows(named=True)
    ]
    heads = ("model", "t", "judge", "label", SHARE, "drawn")
    return Sheet(heads, cells, "what the other turns are", ("t", SHARE))


def accuracy_sheet(accuracy: pl.DataFrame) -> Sheet:
    """Return the sheet of shares of right answers, without rows if nothing is graded."""
    rows = [
        (r["model"], r["dataset"], *_both(r), f"{r['n_graded']}/{r['n_items']}")
        for r in accuracy.drop_nulls("estimate").iter_rows(named=True)
    ]
    heads = ("model", "dataset", "right [95%]", "drawn", "graded")
    return Sheet(heads, rows, "task accuracy", heads[2:])


def likelihood_sheet(likelihood: pl.DataFrame) -> Sheet:
    """Return the sheet of likelihoods of reference follow-ups: shares and gains per character."""
    shown = likelihood.filter(
        pl.col("part") == REFERENCE, pl.col("unit").is_in(["share", CHARACTER])
    )
    rows = [
        (row["model"], row["dataset"], row["measure"], *likelihood_cells(row))
        for row in shown.drop_nulls("estimate").iter_rows(named=True)
    ]
    heads = ("model", "dataset", "measure", "share or nats/char [95%]", "drawn", "chance", "scored")
    title = "reference follow-ups, after their own conversation beside others"
    return Sheet(heads, rows, title, heads[3:])


def likelihood_cells(row: Mapping[str, Any]) -> tuple[str, str | Bar, str, str]:
    """Return a row of the table `likelihood` in words, drawn, its chance, and turns scored."""
    limits, chance, is_share = row_limits(row), row.get("chance"), row["unit"] == "share"
    is_above = None not in (row["lower"], chance) and row["lower"] > chance
    return (
        share(*limits) if is_share else number(*limits),
        Bar(*limits, chance, is_above) if is_share and row["estimate"] is not None else "",
        "" if chance is None else f"{chance:.0%}",
        f"{row['n_scored']}/{row['n_turns']}",
    )


def controls_sheet(judges: pl.DataFrame) -> Sheet:
    """Return the sheet of how often each judge labels controls correctly."""
    rows = []
    for row in kinds_of_controls(judges).iter_rows(named=True):
        names = row["group"], row["source"], row["judge"]
        scored, why = f"{row['n_scored']}/{row['n_turns']}", row["reason"] or ""
        rows.append((*names, *_both(row), scored, why))
    heads = ("kind", "source", "judge", SHARE, "drawn", "scored", "why none")
    return Sheet(heads, rows, "turns of a known kind that are judged correctly", heads[3:6])


def costs_sheet(costs: pl.DataFrame, unit: str | None = None) -> Sheet:
    """Return the sheet of the cost of 1,000 verdicts by judge, in a currency if it is known."""
    rows = [
        (
            row["judge"],
            "no price" if row["cost"] is None else f"{row['cost_per_1000']:.2f}",
            f"{row['seconds_per_1000']:.0f}",
        )
        for row in costs.filter(pl.col("cell") == ALL, pl.col("n_verdicts") > 0).to_dicts()
    ]
    heads = ("judge", f"cost in {unit}" if unit else "cost", "seconds")
    return Sheet(heads, rows, "what 1,000 verdicts cost", heads[1:])


def correlations_sheet(decoupling: pl.DataFrame) -> Sheet:
    """Return the sheet of rank correlations over models."""
    everything = (pl.col("dataset") == ALL) & (pl.col("family") == ALL)
    over = decoupling.filter(everything, pl.col("over") == OVER_MODELS)
    rows = [
        (
            *(f"{row['x']} and {row['y']}", f"{row['temperature']:g}", row["judge"]),
            str(row["n_models"]),
            "no interval" if row["lower"] is None else f"[{row['lower']:.2f}, {row['upper']:.2f}]",
            number(row["estimate"]),
            "" if row["p"] is None else f"{row['p']:.2g}",
            "; ".join(row[name] for name in ("note", "reason") if row.get(name)),
        )
        for row in over.drop_nulls("estimate").iter_rows(named=True)
    ]
    heads = ("of", "t", "judge", "models", "95% interval", "correlation", "p", "note")
    return Sheet(heads, rows, "rank correlation over models", heads[3:7])


def cards_sheet(judges: pl.DataFrame) -> Sheet:
    """Return the sheet of each judge's card by source of turns, with the kind it labels worst."""
    rows = []
    for row in cards(judges).drop_nulls("estimate").iter_rows(named=True):
        worst = None
        if row["source"] in OVER_KINDS:
            same = (pl.col(name) == row[name] for name in ("judge", "source", "measure"))
            kinds = judges.filter(*same, pl.col("by") == "kind").drop_nulls("estimate")
            worst = next(kinds.sort("estimate").iter_rows(named=True), None)
        told = "" if worst is None else f"{worst['group']} {worst['estimate']:.2f}"
        scored = f"{row['n_scored']}/{row['n_turns']}"
        limits = number(*(row[name] for name in LIMITS))
        rows.append((row["judge"], row["measure"], row["source"], limits, scored, told))
    heads = ("judge", "measure", "turns", "estimate [95%]", "scored", "worst kind of a mean")
    title = "how far each judge can be believed, on turns of a known kind"
    return Sheet(heads, rows, title, heads[3:5])


def predictions_sheet(anchors: pl.DataFrame) -> Sheet:
    """Return the sheet of outcomes of the paper's results and the study's predictions."""
    is_present = "n_more" in anchors.columns
    compared = anchors.filter(pl.col("outcome") != NOT_COMPARABLE) if is_present else pl.DataFrame()
    rows = [
        (outcome_in_words(row), row["quantity"], row["published"], row["this_study"])
        for row in compared.iter_rows(named=True)
    ]
    heads = ("outcome", "of", "expected", "this study")
    return Sheet(heads, rows, "the paper's results, and predictions of this study")

"""How often a whole study prints what is false: models, judge and people of known truth.

Run from the project's root: `python benchmarks/known_studies.py [STUDIES] [FIRST]`, 200 from seed 1
if left out, ten seconds of CPU each. Each study is made from requests to tables by the pipeline's
own functions (tests/support/known_models.py), and every claim in its tables is held against what is
true. Prints the table of known_studies.md: a claim, of what, how often it could be made, how often
it was, how many of those were false (where none is true, of those that could be), and how often
it is made where it is true.
"""

import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import redirect_stderr, redirect_stdout
from itertools import product
from os import devnull
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import polars as pl

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.support.known_models import FAILS_AS, FAMILIES, KnownStudy, Truth
from userturn.judges.verdict import GENUINE
from userturn.stats.proportions import Interval, wilson

SHARES = (0.0, 0.01, 0.05, 0.22)
JUDGES = ((0.97, 0.002), (0.8, 0.05))  # sensitivity, false positives
PEOPLE = ((1.0, 0.0), (0.95, 0.01))
TEMPERATURES, PERTURBATIONS = (0.0, 1.0), ("none", "truncate")
RISE = 0.2
CHANGED = "beta"  # the family whose turns a perturbation changes
TABLES = ("rates", "accuracy", "contrasts", "equivalence", "decoupling", "likelihood")
LEVEL = 0.05


class Claim(NamedTuple):
    """One claim that a study could print.

    Attributes:
        what: the claim.
        where: of what truth.
        is_made: whether the study prints it.
        is_true: whether it is true.
    """

    what: str
    where: str
    is_made: bool
    is_true: bool


def truth_of(seed: int) -> Truth:
    """Return the truth of the study of a seed; 64 designs take turns."""
    designs = list(product(SHARES, (0.0, RISE), (0.0, RISE), (False, True), JUDGES, PEOPLE))
    share, warmer, changed, is_coupled, judge, people = designs[(seed * 37) % len(designs)]
    shares = {
        (model, temperature, perturbation): min(
            0.95,
            share
            + (warmer if temperature else 0.0)
            + (changed if perturbation != "none" and family == CHANGED else 0.0),
        )
        for model, family in FAMILIES.items()
        for temperature, perturbation in product(TEMPERATURES, PERTURBATIONS)
    }
    right = dict(zip(FAMILIES, (0.3, 0.5, 0.7, 0.9), strict=True))
    found = frozenset(list(FAMILIES)[seed % 2 :: 2])
    return Truth(seed, shares, right, is_coupled, 0.3, *judge, people, found)


class Known:
    """What is true of the rows of a study's tables."""

    def __init__(self, truth: Truth) -> None:
        """Take what is true of its turns."""
        self.truth = truth

    def react(self, row: dict[str, Any], **other: Any) -> float:
        """Return the share of turns that react, of a row's models."""
        at = {**row, **other}
        models = [
            model
            for model, family in FAMILIES.items()
            if at["model"] == model or (at["model"] in (None, "all") and at["family"] == family)
        ]
        key = at["temperature"], at["perturbation"]
        return sum(self.truth.share[model, *key] for model in models) / len(models)

    def seen(self, row: dict[str, Any], rates: tuple[float, float], **other: Any) -> float:
        """Return the share that a rater calls genuine; nobody calls an empty turn so."""
        found, wrong = rates
        react = self.react(row, **other)
        ends = FAILS_AS[-1][1] - FAILS_AS[-2][1]
        return react * found + (1 - react) * (1 - ends) * wrong

    def judged(self, row: dict[str, Any], **other: Any) -> float:
        """Return the share that the judge calls genuine."""
        return self.seen(row, (self.truth.sensitivity, self.truth.false_positives), **other)

    def by_people(self, row: dict[str, Any], **other: Any) -> float:
        """Return the share that people call genuine."""
        return self.seen(row, self.truth.people, **other)


def _holds(row: dict[str, Any], true: float, name: str = "", digits: float = 1e-9) -> bool:
    lower, upper = row[f"{name}lower"], row[f"{name}upper"]
    return bool(lower - digits <= true <= upper + digits)


def _about(share: float) -> str:
    """Return a share of turns that react as one of a few."""
    return "20% or more react" if share > 0.15 else f"{share:.0%} react"


def of_rates(known: Known, rates: pl.DataFrame) -> Iterator[Claim]:
    """Yield the limits of each model's rates, floors and corrections."""
    rows = rates.filter(
        pl.col("label") == GENUINE, pl.col("average") == "micro", pl.col("scope") == "model"
    )
    for row in rows.to_dicts():
        share = _about(known.react(row))
        yield Claim("a rate by the judge", share, True, _holds(row, known.judged(row)))
        if row["corrected"] is not None:
            is_true = _holds(row, known.by_people(row), "corrected_")
            yield Claim("a corrected rate", share, True, is_true)
        if row["above_floor"] is not None:
            t = known.truth
            above = known.react(row) * (t.sensitivity - t.false_positives)
            is_held = _holds(row, above, "above_floor_")
            yield Claim("above the floor", share, True, is_held)
            presence = row["above_floor_lower"] > 0
            yield Claim("some turns react", share, presence, above > 0)
        if row["reacts"] is not None:
            is_held = _holds(row, known.react(row), "reacts_")
            yield Claim("share that reacts", share, True, is_held)


def of_findings(known: Known, tables: Mapping[str, pl.DataFrame]) -> Iterator[Claim]:
    """Yield what a study says first, and the raw rates that it calls findings, of true shares.

    The first line of `userturn rates` and of the report is the first model's rate at the lowest
    temperature: corrected by people's labels where it can be.
    """
    rates = tables["rates"].filter(
        pl.col("label") == GENUINE,
        pl.col("average") == "micro",
        pl.col("scope") == "model",
        pl.col("perturbation") == "none",
    )
    first = rates.sort("model", "temperature").row(0, named=True)
    if first["corrected"] is not None:
        is_true = _holds(first, known.by_people(first), "corrected_")
        yield Claim("the first sentence", "true share", True, is_true)
    is_shown = (tables["equivalence"]["holds"] != "unknown").any()
    for row in rates.to_dicts():
        is_true = _holds(row, known.by_people(row))
        yield Claim("a raw rate that is a finding", "true share", bool(is_shown), is_true)


def of_accuracy(known: Known, table: pl.DataFrame) -> Iterator[Claim]:
    """Yield the limits of each model's accuracy."""
    for row in table.filter(pl.col("estimate").is_not_null()).to_dicts():
        is_true = _holds(row, known.truth.right[row["model"]])
        yield Claim("accuracy", "", True, is_true)


def of_contrasts(known: Known, table: pl.DataFrame) -> Iterator[Claim]:
    """Yield the limits of changes, and whether a change is claimed."""
    wanted = (
        pl.col("measure") == "follow-up",
        pl.col("factor").is_in(["temperature", "perturbation"]),
        pl.col("difference").is_not_null(),
    )
    for row in table.filter(*wanted).to_dicts():
        kept = float if row["factor"] == "temperature" else str
        ends = [{row["factor"]: kept(row[end])} for end in ("condition", "baseline")]
        families = [row["family"]]
        if row["scope"] == "two families":
            families.append(row["other_family"])
        moved = [
            known.judged({**row, "family": f, "model": row["model"]}, **ends[0])
            - known.judged({**row, "family": f, "model": row["model"]}, **ends[1])
            for f in families
        ]
        true = moved[0] - (moved[1] if len(moved) > 1 else 0.0)
        where = f"{row['scope']}, {'none' if abs(true) < 1e-9 else 'some'}"
        yield Claim("change", where, True, _holds(row, true))
        p = row["p_adjusted"] if row["p_adjusted"] is not None else row["p"]
        if p is not None:
            is_true = true * row["difference"] > 0
            yield Claim("there is a change", where, p < LEVEL, is_true)
        if row["corrected"] is not None and len(families) == 1:
            right = known.by_people(row, **ends[0]) - known.by_people(row, **ends[1])
            yield Claim("corrected change", where, True, _holds(row, right, "corrected_"))


def of_equivalence(known: Known, table: pl.DataFrame) -> Iterator[Claim]:
    """Yield the claims that a rate is near zero and that nothing changed."""
    for row in table.filter(pl.col("holds").is_in(["yes", "no", "undecided"])).to_dicts():
        if row["claim"] == "near zero":
            true = known.judged(row) < row["margin_upper"]
            yield Claim("near zero", "rate by the judge", row["holds"] == "yes", true)
        if row["claim"] == "no change":
            factor = "perturbation" if row["condition"] in PERTURBATIONS else "temperature"
            kept = str if factor == "perturbation" else float
            ends = [{factor: kept(row[end])} for end in ("condition", "baseline")]
            moved = known.judged(row, **ends[0]) - known.judged(row, **ends[1])
            yield Claim("no change", "", row["holds"] == "yes", abs(moved) < row["margin_upper"])
        if row["claim"] == "decoupled" and row["quantity"].startswith("odds"):
            is_true = not known.truth.is_coupled or known.react(row, perturbation="none") == 0
            yield Claim("decoupled over items", "", row["holds"] == "yes", is_true)


def of_decoupling(known: Known, table: pl.DataFrame) -> Iterator[Claim]:
    """Yield whether a model's right answers and reactions are claimed to go together."""
    rows = table.filter(pl.col("over") == "items of a model", pl.col("dataset") == "all")
    for row in rows.filter(pl.col("p").is_not_null()).to_dicts():
        is_coupled = known.truth.is_coupled and known.react(row, perturbation="none") > 0
        p = row["p_adjusted"] if row["p_adjusted"] is not None else row["p"]
        yield Claim("coupled over items", "", p < LEVEL, is_coupled)


def of_likelihood(known: Known, table: pl.DataFrame) -> Iterator[Claim]:
    """Yield whether a model is said to find the follow-ups of answers."""
    rows = table.filter(
        pl.col("part") == "reference follow-ups", pl.col("measure") == "identified_answer"
    )
    for row in rows.filter(pl.col("lower").is_not_null()).to_dicts():
        is_made = row["lower"] > row["chance"]
        yield Claim("finds the answer", "", is_made, row["model"] in known.truth.identifies)


PARTS = {
    "rates": of_rates,
    "accuracy": of_accuracy,
    "contrasts": of_contrasts,
    "equivalence": of_equivalence,
    "decoupling": of_decoupling,
    "likelihood": of_likelihood,
}


def claims_of(seed: int) -> list[Claim]:
    """Make the study of a seed, and return what it claims and could have claimed."""
    known = Known(truth_of(seed))
    with (
        TemporaryDirectory(prefix="known-") as folder,
        Path(devnull).open("w") as nowhere,
        redirect_stdout(nowhere),
        redirect_stderr(nowhere),
    ):
        tables = KnownStudy(Path(folder, "study"), known.truth).make(*TABLES)
    found = [claim for name, of in PARTS.items() for claim in of(known, tables[name])]
    return [*of_findings(known, tables), *found]


def summary(claims: list[Claim]) -> pl.DataFrame:
    """Return how often each claim is made, false where it is made, and made where it is true."""
    table = pl.DataFrame(claims, schema=list(Claim._fields), orient="row")
    made, true = pl.col("is_made"), pl.col("is_true")
    return table.group_by("what", "where", maintain_order=True).agg(
        n=pl.len(),
        n_made=made.sum(),
        n_false=(made & ~true).sum(),
        n_true=true.sum(),
        n_found=(made & true).sum(),
    )


def main() -> None:
    """Make studies and print the table."""
    given = [int(text) for text in sys.argv[1:]]
    n_studies, first = [*given, *(200, 1)[len(given) :]]
    with ProcessPoolExecutor(2) as pool:
        found = [c for one in pool.map(claims_of, range(first, first + n_studies)) for c in one]
    print("| claim | of | could be made | made | false | made where true |")
    print("|---|---|---|---|---|---|")
    for row in summary(found).sort("what", "where").to_dicts():
        print(f"| {' | '.join(cells(row))} |")


def cells(row: dict[str, Any]) -> list[str]:
    """Return a row of the printed table."""
    # Where no such claim is true, every one is false: what counts is how often one is made.
    n = row["n_made"] if row["n_true"] else row["n"]
    of_made = f"{row['n_false']}, {shown(wilson(row['n_false'], n))}" if n else "-"
    found = f"{row['n_found'] / row['n_true']:.0%}" if row["n_true"] else "-"
    return [row["what"], row["where"], str(row["n"]), str(row["n_made"]), of_made, found]


def shown(share: Interval) -> str:
    """Return a share in percent with its limits."""
    estimate, lower, upper = (f"{100 * (x or 0):.1f}" for x in share)
    return f"{estimate}% [{lower}, {upper}]"


if __name__ == "__main__":
    main()

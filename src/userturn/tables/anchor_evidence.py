"""What a study has for each published result, and for each prediction of its own.

`anchors` says what was published, `anchor_rules` when the two agree.
"""

from collections.abc import Callable, Iterator, Mapping
from math import inf
from typing import Any, NamedTuple

import polars as pl

from userturn.judges.verdict import GENUINE
from userturn.stats.proportions import Interval
from userturn.study.cells import ALL, PLAIN
from userturn.tables import anchor_rules as rule
from userturn.tables.anchor_rules import lies_within
from userturn.tables.make_tables import Tables
from userturn.tables.rates import cell_rates, model_rates


class StudyResult(NamedTuple):
    """A study's result for a prediction."""

    this_study: str  # the numbers that it rests on, in words
    decision: rule.Decision | None  # None if the two cannot be compared
    note: str | None = None  # what a reader has to know of it
    n_items: int | None = None  # the items behind the numbers


def _items(rows: pl.DataFrame) -> int:
    """Return the number of items behind some rows, the smallest number if they differ."""
    return int(rows["n_items"].min())  # type: ignore[arg-type]  # there are rows


def missing(what: str) -> StudyResult:
    """Return the result of a study that lacks what a prediction is about: not comparable."""
    return StudyResult("–", None, f"this study has no {what}")


def _interval(row: Mapping[str, Any], estimate: str = "estimate") -> Interval:
    return Interval(row[estimate], row["lower"], row["upper"])


def _intervals(rows: pl.DataFrame, estimate: str = "estimate") -> list[Interval]:
    return [_interval(row, estimate) for row in rows.iter_rows(named=True)]


def shown(interval: Interval) -> str:
    """Return a share with its limits in words."""
    estimate, lower, upper = (f"{value:.1%}" for value in interval)
    return f"{estimate} [{lower}, {upper}]"


def points(change: Interval) -> str:
    """Return a change of a share with its limits, in words and in percentage points."""
    estimate, lower, upper = (f"{100 * (value or 0):+.1f}" for value in change)
    return f"{estimate} [{lower}, {upper}] points"


def _share(table: pl.DataFrame, value: float, rounding: float, what: str) -> StudyResult:
    """Return how the share in the first row of a table compares with a rounded published share."""
    rows = table.drop_nulls("estimate")
    if rows.is_empty():
        return missing(what)
    interval = _interval(rows.row(0, named=True))
    return StudyResult(
        shown(interval), rule.share_is(interval, value, rounding), None, _items(rows)
    )


def accuracy(model: str, value: float, rounding: float) -> Callable[[Tables], StudyResult]:
    """Return a function that compares a model's accuracy on GSM8K with `value`, ± `rounding`."""

    def find(tables: Tables) -> StudyResult:
        rows = tables["accuracy"].filter(model=model, dataset="gsm8k")
        return _share(rows, value, rounding, f"{model} on gsm8k")

    return find


def _followups(tables: Tables) -> pl.DataFrame:
    """Return the unperturbed rates of Qwen3.5 models over all datasets, by temperature."""
    plain = model_rates(tables["rates"]).filter(family="qwen3.5", perturbation=PLAIN)
    return plain.drop_nulls("estimate")


def size_of_study(tables: Tables) -> StudyResult:
    """Return the numbers of models and datasets of the study, beside those of the paper."""
    rates = cell_rates(tables["rates"])
    n_models, n_datasets = rates["model"].n_unique(), rates["dataset"].n_unique()
    is_same = (n_models, n_datasets) == (11, 5)  # else it is another study, and refutes nothing
    text = f"{n_models} models, {n_datasets} datasets"
    note = "which eleven models, and two of the datasets, are inferred (docs/methods.md)"
    return StudyResult(text, rule.Decision(rule.HOLDS) if is_same else None, note)


def near_zero(tables: Tables) -> StudyResult:
    """Return the highest greedy rate of the Qwen3.5 models."""
    greedy = _followups(tables).filter(temperature=0)
    if greedy.is_empty():
        return missing("qwen3.5 model at temperature 0")
    highest = greedy.sort("estimate", "model").row(-1, named=True)
    text = f"highest of {greedy.height} sizes: {shown(_interval(highest))} ({highest['model']})"
    return StudyResult(text, rule.all_near_zero(_intervals(greedy)), None, _items(greedy))


def highest_when_sampled(tables: Tables) -> StudyResult:
    """Return the highest rate of a Qwen3.5 model in any sampled cell."""
    rows = cell_rates(tables["rates"]).filter(
        pl.col("model").is_in(_followups(tables)["model"].unique().to_list()),
        pl.col("temperature") > 0,
        perturbation=PLAIN,
    )
    rows = rows.drop_nulls("estimate").sort("estimate", "model", "dataset", descending=True)
    if rows.is_empty():
        return missing("sampled turns of a qwen3.5 model")
    best, highest = rows.row(0, named=True), rule.highest(_intervals(rows))
    where = f"{best['model']}, {best['dataset']}, temperature {best['temperature']:g}"
    note = (
        f"highest of {rows.height} cells: {where}; what could be read does not say over which "
        "datasets the 22% is, and sources differ if it is of Qwen3.5 or of some models"
    )
    return StudyResult(shown(highest), rule.share_is(highest, 0.22, 0.005), note, _items(rows))


def larger_is_not_better(tables: Tables) -> StudyResult:
    """Return how much the greedy rate rises from the smallest Qwen3.5 to the largest."""
    greedy = _followups(tables).filter(temperature=0)
    sized = greedy.join(tables["families"].select("model", "size"), on="model").drop_nulls("size")
    if sized["size"].n_unique() < 3:
        return missing("three sizes of qwen3.5 at temperature 0")
    sized = sized.sort("size", "model")
    rise = rule.rise_over_size(sized["size"].to_list(), _intervals(sized))
    rates = " → ".join(f"{rate:.1%}" for rate in sized["estimate"])
    text = f"{points(rise)} from the smallest to the largest"
    note = f"rates in order of size: {rates}"
    return StudyResult(text, rule.none_rises([rise]), note, _items(sized))


def restating(tables: Tables) -> StudyResult:
    """Return the share of greedy gpt-oss turns that restate the assistant."""
    rows = tables["rates"].filter(
        scope="family",
        family="gpt-oss",
        label="assistant_turn_restate",
        perturbation=PLAIN,
        temperature=0,
    )
    share = _share(rows, 0.702, 0.0005, "gpt-oss model at temperature 0")
    note = "over which models, datasets and temperatures is not known; its user header is inferred"
    return share if share.decision is None else share._replace(note=note)


def perturbations(family: str, rise: bool) -> Callable[[Tables], StudyResult]:
    """Return a function that finds how both perturbations change a family's rate.

    `rise` is True if the paper says that both raise the rate, False if it says that neither does.
    """

    def find(tables: Tables) -> StudyResult:
        rows = tables["contrasts"].filter(
            pl.col("perturbation").is_in(["truncate", "generic_question"]),
            factor="perturbation",
            scope="family",
            family=family,
            temperature=0,
        )
        if rows["perturbation"].n_unique() < 2:
            return missing(f"{family} model with both perturbations at temperature 0")
        changes = _intervals(rows, "difference")
        decision = (rule.all_rise if rise else rule.none_rises)(changes)
        note = "the share that truncate keeps and the question's wording are ours"
        named = zip(rows["perturbation"], changes, strict=True)
        text = "; ".join(f"{name} {points(c)}" for name, c in named)
        return StudyResult(text, decision, note, _items(rows))

    return find


def post_training(tables: Tables) -> StudyResult:
    """Return how SFT and RL change the follow-up rate of Qwen3.5-2B."""
    rows = tables["contrasts"].filter(
        factor="model",
        measure="follow-up",
        scope="model",
        perturbation=PLAIN,
        baseline="qwen3.5-2b",
        temperature=pl.col("temperature").min(),
    )
    if not {"sft", "grpo"} <= set(rows["method"]):
        return missing("two models that SFT and RL made of qwen3.5-2b")
    changes = _intervals(rows, "difference")
    parts = [f"{n} {points(c)}" for n, c in zip(rows["model"], changes, strict=True)]
    note = f"at temperature {rows['temperature'][0]:g}, each against qwen3.5-2b itself"
    note += "".join(f"; {told}" for row in rows.iter_rows(named=True) for told in _exposure(row))
    return StudyResult("; ".join(parts), rule.all_rise(changes), note, _items(rows))


def _exposure(row: Mapping[str, Any]) -> Iterator[str]:
    """Yield in words what a trained model has already seen of what it is measured by."""
    conditions = {
        "seen": "has seen a dataset of these",
        "trains_on_the_metric": "was trained on the metric",
        "learns_user_turns": "learns user turns",
    }
    yield from (f"{row['model']} {words}" for column, words in conditions.items() if row[column])
    if row["n_trainings"] == 1:
        yield f"{row['model']} is one training, whose seed is not in its limits"


Prediction = Mapping[str, Any]
# The note of a corrected result, which is a finding however poor the judge.
CORRECTED = "corrected by people's labels"


def predicted(one: Prediction) -> str:
    """Return the region of a prediction in words."""
    edges = [f"{edge} {one[edge]:.1%}" for edge in ("above", "below") if edge in one]
    return " and ".join(edges)


def quantity(name: str, one: Prediction) -> str:
    """Return what is predicted in words: the prediction's own `says`, or its keys."""
    if "says" in one:
        return f"{name}: {one['says']}"
    of = [one.get("of", "follow-up"), one.get("model") or one["family"]]
    of += [one[key] for key in ("dataset", "perturbation") if key in one]
    of += [f"temperature {one['temperature']:g}"] if "temperature" in one else []
    since = [f"{key} {value}" for key, value in one.get("against", {}).items()]
    return f"{name}: {', '.join([*of, *(f'against {one}' for one in since)])}"


def find(tables: Tables, one: Prediction) -> StudyResult:
    """Return a study's result for a prediction, from tables with the rows of one judge.

    The rate corrected by people's labels is used where there is one.
    """
    rows = _rows(tables, one)
    if rows.is_empty():
        return missing("such cells")
    row = rows.row(0, named=True)
    corrected = row.get("corrected") is not None
    names = (
        ("corrected", "corrected_lower", "corrected_upper")
        if corrected
        else ("difference" if "against" in one else "estimate", "lower", "upper")
    )
    interval = Interval(*(row[name] for name in names))
    if interval.lower is None:
        return missing("scored turns of such cells")
    decision = lies_within(interval, one.get("above", -inf), one.get("below", inf))
    text = points(interval) if "against" in one else shown(interval)
    note = CORRECTED if corrected else None
    return StudyResult(text, decision, note, row["n_items"])


def _rows(tables: Tables, one: Prediction) -> pl.DataFrame:
    """Return the row of a table that has a prediction's quantity, or an empty table."""
    if one.get("of") == "accuracy":
        at = {"model": one.get("model"), "dataset": one.get("dataset", ALL)}
        return tables["accuracy"].filter(*(pl.col(k) == v for k, v in at.items()))
    is_change = "against" in one
    table = tables["contrasts" if is_change else "rates"]
    filters = [pl.col("family") == one["family"]] if "family" in one else []
    filters += [pl.col("model") == one["model"]] if "model" in one else []
    filters += [pl.col("scope") == _scope(one, is_change)]
    filters += [pl.col("dataset") == one.get("dataset", ALL)]
    factor = next(iter(one.get("against", {})), None)
    if factor != "perturbation":
        filters.append(pl.col("perturbation") == one.get("perturbation", PLAIN))
    if factor != "temperature":
        coolest = tables["rates"]["temperature"].min()
        filters.append(pl.col("temperature") == one.get("temperature", coolest))
    if not is_change:
        filters += [pl.col("label") == GENUINE, pl.col("average") == "micro"]
        return table.filter(*filters)
    ends = {"condition": one.get(str(factor)), "baseline": one["against"][factor]}
    texts = {n: str(float(x) if isinstance(x, int | float) else x) for n, x in ends.items()}
    filters += [pl.col(end) == text for end, text in texts.items()]
    return table.filter(*filters, pl.col("factor") == factor)


def _scope(one: Prediction, is_change: bool) -> str:
    if "family" in one:
        return "family and dataset" if "dataset" in one and not is_change else "family"
    if "dataset" in one:
        return "model and dataset" if is_change else "cell"
    return "model"

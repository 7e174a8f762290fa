"""What arXiv:2604.02315 publishes, beside what this study has: known, found, and if they agree.

Only what could be read of the paper is here: its abstract and fragments of its appendix. Where
it gives words and no number, the criterion is ours and is said to be.
"""

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import NamedTuple

import polars as pl

from userturn.study.cells import ALL, PLAIN
from userturn.tables.material import Tables

NEAR_ZERO = 0.05  # ours: the paper says "near zero" and no number


class Found(NamedTuple):
    """What a study has for an anchor: its text, if it agrees (None: not comparable), a note."""

    this_study: str
    agree: bool | None
    note: str | None = None


class Anchor(NamedTuple):
    """One published result, what agreeing with it means, and how a study is asked for it."""

    quantity: str
    published: str
    criterion: str
    find: Callable[[Tables], Found]


def _missing(what: str) -> Found:
    return Found("–", None, f"this study has no {what}")


def _interval(row: Mapping[str, float]) -> str:
    return f"{row['estimate']:.1%} [{row['lower']:.1%}, {row['upper']:.1%}]"


def _share(table: pl.DataFrame, value: float, rounding: float, what: str) -> Found:
    """Compare a published share, rounded, with the interval of the one row of a table."""
    rows = table.drop_nulls("estimate")
    if rows.is_empty():
        return _missing(what)
    row = rows.row(0, named=True)
    within = row["lower"] - rounding <= value <= row["upper"] + rounding
    return Found(_interval(row), bool(within))


def _accuracy(model: str, value: float, rounding: float) -> Callable[[Tables], Found]:
    def find(tables: Tables) -> Found:
        rows = tables["accuracy"].filter(pl.col("model") == model, pl.col("dataset") == "gsm8k")
        return _share(rows, value, rounding, f"{model} on gsm8k")

    return find


def _followups(tables: Tables, family: str) -> pl.DataFrame:
    """Return the unperturbed rates of a family's models over all datasets, by temperature."""
    rows = tables["pooled_rates"].filter(
        pl.col("scope") == "model", pl.col("family") == family, pl.col("perturbation") == PLAIN
    )
    return rows.filter(pl.col("average") == "micro").drop_nulls("estimate")


def _size_of_study(tables: Tables) -> Found:
    rates = tables["rates"]
    n_models, n_datasets = rates["model"].n_unique(), rates["dataset"].n_unique()
    return Found(f"{n_models} models, {n_datasets} datasets", (n_models, n_datasets) == (11, 5))


def _near_zero(tables: Tables) -> Found:
    greedy = _followups(tables, "qwen3.5").filter(pl.col("temperature") == 0)
    if greedy.is_empty():
        return _missing("qwen3.5 model at temperature 0")
    highest = greedy.sort("estimate").row(-1, named=True)
    text = f"highest of {greedy.height} sizes: {_interval(highest)} ({highest['model']})"
    return Found(text, bool(highest["estimate"] <= NEAR_ZERO))


def _highest_when_sampled(tables: Tables) -> Found:
    rows = tables["rates"].filter(
        pl.col("model").is_in(_followups(tables, "qwen3.5")["model"].unique().to_list()),
        pl.col("temperature") > 0,
        pl.col("perturbation") == PLAIN,
    )
    rows = rows.drop_nulls("estimate").sort("estimate", "model", "dataset", descending=True)
    if rows.is_empty():
        return _missing("sampled turns of a qwen3.5 model")
    best = rows.row(0, named=True)
    found = _share(rows, 0.22, 0.005, "")
    where = f"{best['model']}, {best['dataset']}, temperature {best['temperature']:g}"
    note = f"highest cell: {where}; the paper does not say over which datasets its 22% is"
    return found._replace(note=note)


def _larger_is_not_better(tables: Tables) -> Found:
    greedy = _followups(tables, "qwen3.5").filter(pl.col("temperature") == 0)
    sized = greedy.join(tables["families"].select("model", "size"), on="model").drop_nulls("size")
    if sized.height < 3:
        return _missing("three sizes of qwen3.5 at temperature 0")
    rates = sized.sort("size")["estimate"].to_list()
    rises = all(after > before for before, after in pairwise(rates))
    text = " → ".join(f"{rate:.1%}" for rate in rates)
    return Found(text, not rises, "follow-up rates in order of size")


def _restating(tables: Tables) -> Found:
    rows = tables["failure_profiles"].filter(
        pl.col("scope") == "family",
        pl.col("family") == "gpt-oss",
        pl.col("label") == "assistant_turn_restate",
        pl.col("perturbation") == PLAIN,
        pl.col("temperature") == 0,
    )
    found = _share(rows, 0.702, 0.0005, "gpt-oss model at temperature 0")
    note = "the paper does not say over which models, datasets and temperatures its share is"
    return found if found.agree is None else found._replace(note=note)


def _perturbations(family: str, rises: bool) -> Callable[[Tables], Found]:
    def find(tables: Tables) -> Found:
        rows = tables["contrasts"].filter(
            pl.col("factor") == "perturbation",
            pl.col("scope") == "family",
            pl.col("family") == family,
            pl.col("temperature") == 0,
            pl.col("perturbation").is_in(["truncate", "generic_question"]),
        )
        if rows["perturbation"].n_unique() < 2:
            return _missing(f"both perturbations of a {family} model at temperature 0")
        risen = (rows["difference"] > 0) & (rows["p_adjusted"] < 0.05)
        parts = [
            f"{row['perturbation']} {row['difference']:+.1%} (adjusted p {row['p_adjusted']:.3g})"
            for row in rows.iter_rows(named=True)
        ]
        return Found("; ".join(parts), bool(risen.all()) if rises else not risen.any())

    return find


def _post_training(tables: Tables) -> Found:
    rows = tables["post_training"].filter(
        pl.col("measure") == "follow-up",
        pl.col("dataset") == ALL,
        pl.col("perturbation") == PLAIN,
        pl.col("baseline") == "qwen3.5-2b",
    )
    if not {"sft", "grpo"} <= set(rows["method"]):
        return _missing("two models that SFT and RL made of qwen3.5-2b")
    parts = [f"{r['model']} {r['difference']:+.1%}" for r in rows.iter_rows(named=True)]
    risen = (rows["difference"] > 0) & (rows["p_adjusted"] < 0.05)
    return Found("; ".join(parts), bool(risen.all()))


INTERVAL = "the published value lies in this study's 95% interval, but for its rounding"
RISES = "ours: both differences are above 0, adjusted p below 0.05"
ANCHORS = [
    Anchor("grid", "11 models, 5 datasets", "the same numbers", _size_of_study),
    Anchor(
        "GSM8K accuracy of Qwen3.5-0.8B", "41%", INTERVAL, _accuracy("qwen3.5-0.8b", 0.41, 0.005)
    ),
    Anchor(
        "GSM8K accuracy of Qwen3.5-397B-A17B",
        "96.8%",
        INTERVAL,
        _accuracy("qwen3.5-397b-a17b", 0.968, 0.0005),
    ),
    Anchor(
        "follow-up of Qwen3.5, deterministic",
        "near zero at every size",
        f"ours: the highest rate of a model over datasets is at most {NEAR_ZERO:.0%}",
        _near_zero,
    ),
    Anchor("highest follow-up of Qwen3.5 when sampled", "22%", INTERVAL, _highest_when_sampled),
    Anchor(
        "follow-up over size",
        "a larger model is not always more aware",
        "ours: the greedy rate does not rise at every step in size of Qwen3.5",
        _larger_is_not_better,
    ),
    Anchor("share of assistant_turn_restate of gpt-oss", "70.2%", INTERVAL, _restating),
    Anchor(
        "perturbations, gpt-oss", "both raise follow-up", RISES, _perturbations("gpt-oss", True)
    ),
    Anchor("perturbations, GLM", "both raise follow-up", RISES, _perturbations("glm", True)),
    Anchor(
        "perturbations, Qwen3.5",
        "neither raises follow-up",
        "ours: no difference is above 0 with adjusted p below 0.05",
        _perturbations("qwen3.5", False),
    ),
    Anchor(
        "post-training of Qwen3.5-2B",
        "SFT and RL raise follow-up",
        "ours: every difference is above 0, adjusted p below 0.05",
        _post_training,
    ),
]

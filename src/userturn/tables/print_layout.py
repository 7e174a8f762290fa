"""What of each table is printed in a paper: the main rows, numbers as texts."""

from collections.abc import Callable

import polars as pl

ALL, PLAIN = "all", "none"


def percent(estimate: str = "estimate", lower: str = "lower", upper: str = "upper") -> pl.Expr:
    """Return shares as `12.3 [4.5, 20.1]`, in percent; a dash where there is none."""
    numbers = [(pl.col(name) * 100).round(1) for name in (estimate, lower, upper)]
    interval = (
        pl.when(numbers[1].is_null())
        .then(pl.format("{}", numbers[0]))
        .otherwise(pl.format("{} [{}, {}]", *numbers))
    )
    return interval.fill_null("–")


def p_value(name: str) -> pl.Expr:
    """Return p-values with three digits, and as <0.001 below."""
    p = pl.col(name)
    text = pl.when(p < 0.001).then(pl.lit("<0.001")).otherwise(p.round(3).cast(pl.String))
    return text.fill_null("–")


def number(name: str, digits: int = 2) -> pl.Expr:
    """Return numbers with so many digits; a dash where there is none."""
    return pl.col(name).round(digits).cast(pl.String).fill_null("–")


def _at_lowest_temperature(table: pl.DataFrame) -> pl.DataFrame:
    return table.filter(pl.col("temperature") == pl.col("temperature").min())


def pooled_rates(table: pl.DataFrame) -> pl.DataFrame:
    """Return the unperturbed rates of models and families over datasets."""
    rows = table.filter(
        pl.col("dataset") == ALL,
        pl.col("perturbation") == PLAIN,
        pl.col("temperature").is_not_null(),
    )
    keys = ["family", "model", "temperature", "judge"]
    averages = [
        rows.filter(pl.col("average") == name).select(*keys, percent().alias(f"{name} %"))
        for name in ("micro", "macro")
    ]
    counts = rows.filter(pl.col("average") == "micro").select(*keys, scored="n_scored")
    return (
        counts.join(averages[0], on=keys)
        .join(averages[1], on=keys, how="left")
        .with_columns(pl.col("macro %").fill_null("–"))
    )


def failure_profiles(table: pl.DataFrame) -> pl.DataFrame:
    """Return the unperturbed shares of each label at the lowest temperature, a column a label."""
    if table.is_empty():
        return table
    rows = _at_lowest_temperature(
        table.filter(pl.col("dataset") == ALL, pl.col("perturbation") == PLAIN)
    )
    keys = ["family", "model", "judge"]
    shown = rows.select(*keys, "label", share=percent())
    return shown.pivot("label", index=keys, values="share")


def contrasts(table: pl.DataFrame) -> pl.DataFrame:
    """Return the confirmatory contrasts."""
    rows = table.filter(pl.col("correction") == "Holm")
    return rows.select(
        "factor",
        "condition",
        "baseline",
        "model",
        "judge",
        items="n_items",
        difference=percent("difference"),
        p=p_value("p"),
        **{"p (Holm)": p_value("p_adjusted")},
        detectable=number("detectable_difference", 3),
    )


def temperature_response(table: pl.DataFrame) -> pl.DataFrame:
    """Return how each model's unperturbed rate over all datasets answers to temperature."""
    rows = table.filter(pl.col("dataset") == ALL, pl.col("perturbation") == PLAIN)
    return rows.select(
        "family",
        "model",
        "judge",
        lowest=pl.format("{}% at {}", (pl.col("rate_lowest") * 100).round(1), "lowest_temperature"),
        highest=pl.format(
            "{}% at {}", (pl.col("rate_highest") * 100).round(1), "highest_temperature"
        ),
        difference=percent("difference"),
        **{"detected from": number("detected_from", 2)},
    )


def post_training(table: pl.DataFrame) -> pl.DataFrame:
    """Return what post-training changes over all datasets, or why there is nothing."""
    rows = table.filter(pl.col("dataset") == ALL, pl.col("perturbation") == PLAIN)
    if rows.is_empty():
        return table.select("reason")
    return rows.select(
        "measure",
        "model",
        "baseline",
        "judge",
        number("temperature", 1),
        items="n_items",
        difference=percent("difference"),
        p=p_value("p"),
        **{
            "a dataset was seen": _yes_or_no("seen"),
            "trained on the metric": _yes_or_no("trains_on_the_metric"),
        },
    )


def _yes_or_no(column: str) -> pl.Expr:
    yes = pl.when(column).then(pl.lit("yes")).when(~pl.col(column)).then(pl.lit("no"))
    return yes.otherwise(pl.lit("not known"))


def decoupling(table: pl.DataFrame) -> pl.DataFrame:
    """Return accuracy beside the follow-up rate at the lowest temperature."""
    return _at_lowest_temperature(table).select(
        "family",
        "model",
        number("size"),
        "dataset",
        "judge",
        **{
            "accuracy %": percent(*(f"accuracy_{n}" for n in ("estimate", "lower", "upper"))),
            "follow-up %": percent(*(f"followup_{n}" for n in ("estimate", "lower", "upper"))),
        },
    )


def correlations(table: pl.DataFrame) -> pl.DataFrame:
    """Return the rank correlations over all graded datasets."""
    interval = pl.format("[{}, {}]", pl.col("lower").round(2), pl.col("upper").round(2))
    return table.filter(pl.col("dataset") == ALL).select(
        "x",
        "y",
        "family",
        number("temperature", 1),
        "judge",
        models="n_models",
        spearman=number("estimate"),
        interval=interval.fill_null("–"),
        p=p_value("p"),
        reason=pl.col("reason").fill_null(""),
    )


def anchors(table: pl.DataFrame) -> pl.DataFrame:
    """Return the published anchors beside this study."""
    return table.select(
        "quantity",
        "published",
        "this_study",
        "agree",
        "judge",
        "criterion",
        pl.col("note").fill_null(""),
    )


PRINTED: dict[str, Callable[[pl.DataFrame], pl.DataFrame]] = {
    "pooled_rates": pooled_rates,
    "failure_profiles": failure_profiles,
    "contrasts": contrasts,
    "temperature_response": temperature_response,
    "post_training": post_training,
    "decoupling": decoupling,
    "correlations": correlations,
    "anchors": anchors,
}

"""Card, rates and corrected rates of anybody's judge, by the estimators of a study's tables."""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from userturn.calibration.labelled_rows import LabelledRows
from userturn.datasets.clusters import clusters
from userturn.humans.labels import PEOPLE
from userturn.humans.rater_pairs import comparisons, labelled_beside_judges
from userturn.stats.proportions import Interval
from userturn.storage.table_files import STRATUM_KEYS, Schema
from userturn.study.cells import ALL
from userturn.tables.agreement import coefficients
from userturn.tables.corrected_rates import corrected_change, corrected_rate, domains
from userturn.tables.judge_card import measures
from userturn.tables.known_turns import peoples_turns
from userturn.tables.label_domain import Domain
from userturn.tables.turn_clusters import rate_over
from userturn.wording import number_of

SEED = 20260402  # that of config.yaml, for the limits of kappa
CALIBRATION: Schema = {
    **dict.fromkeys(("judge", "model", "dataset", "measure"), pl.String),
    **dict.fromkeys(("n_rows", "n_scored", "n_labelled"), pl.Int64),
    **dict.fromkeys(Interval._fields, pl.Float64),
    "reason": pl.String,
}
RATE, CORRECTED = "rate by the judge", "corrected rate"
CARD = {"sensitivity": "sensitivity", "specificity": "specificity", "right side": "agreement"}
KAPPA, ALPHA = "kappa", "alpha of people"
BETWEEN = {"judge-human": ("cohen_kappa", KAPPA), "human-human": ("krippendorff_alpha", ALPHA)}


def calibrate(given: LabelledRows) -> pl.DataFrame:
    """Return what each judge's verdicts are worth in each group, and each group's rates.

    `all` is the dataset of a model's groups together, and the model of everything together, which
    has a card and no rate. Of several models there is the change from the first to each other one.
    """
    rows = []
    for judge in sorted(given.verdicts["judge"].unique()):
        of_judge = given.of_judge(judge)
        for model, dataset, part in _scopes(of_judge):
            place = {"judge": judge, "model": model, "dataset": dataset}
            rows += [place | row for row in _of_scope(part, model)]
        rows += [{"judge": judge} | row for row in _changes(of_judge)]
    return pl.DataFrame(rows, schema=CALIBRATION)


def _scopes(given: LabelledRows) -> Iterator[tuple[str, str, LabelledRows]]:
    """Yield each group, each model over several datasets, and everything."""
    models = given.rows["model"].unique(maintain_order=True).to_list()
    for model in models:
        own = given.part(model=model)
        datasets = own.rows["dataset"].unique(maintain_order=True).to_list()
        for dataset in datasets if len(datasets) > 1 else []:
            yield model, dataset, own.part(dataset=dataset)
        yield model, ALL if len(datasets) > 1 else datasets[0], own
    if len(models) > 1:
        yield ALL, ALL, given


def _of_scope(part: LabelledRows, model: str) -> Iterator[dict[str, Any]]:
    """Yield the measures of some groups: rates if they are one model's, and the judge's card."""
    counts = {
        "n_rows": part.rows.height,
        "n_scored": part.verdicts["genuine"].count(),
        "n_labelled": part.labels["id"].n_unique(),
    }
    why = unlabelled(part)
    if model != ALL:
        names = part.verdicts.with_columns(pl.concat_str("dataset", clusters(), separator="\n"))
        rate, _ = rate_over(names, ["dataset"])
        yield {"measure": RATE, **counts, **rate._asdict()}
        yield {"measure": CORRECTED, **counts} | (
            {"reason": why} if why else _limits(corrected_rate(_domain(part)))
        )
    if why:
        yield from ({"measure": of, **counts, "reason": why} for of in (*CARD.values(), KAPPA))
    else:
        yield from (counts | row for row in _card(part))


def unlabelled(part: LabelledRows) -> str | None:
    """Return which kind of rows nobody labelled, of which nothing is known; None if all are."""
    labelled = pl.col("id").is_in(part.labels["id"].to_list())
    strata = part.keys().group_by(STRATUM_KEYS).agg(n=pl.len(), known=labelled.any())
    empty = strata.filter(~pl.col("known")).sort("n", *STRATUM_KEYS, descending=True)
    if empty.is_empty():
        return None
    first = empty.row(0, named=True)
    where = ", ".join(filter(None, (first["model"], first["dataset"])))
    return (
        f"no label of {empty.height} of {number_of(strata.height, 'kind')} of rows, such as the "
        f"{first['n']} with {first['stratum']} ({where}); label some of each, drawn at random"
    )


def _domain(part: LabelledRows) -> Domain:
    """Return the rows of one model as the domain of a corrected rate, over all its datasets."""
    found = domains(part.rows, part.verdicts, part.labels, part.keys())
    return next(domain for (_, dataset, *_), domain in found.items() if dataset == ALL)


def _limits(row: dict[str, Any]) -> dict[str, Any]:
    names = ("corrected", "corrected_lower", "corrected_upper")
    return dict(zip(Interval._fields, (row.get(name) for name in names), strict=True))


def _card(part: LabelledRows) -> Iterator[dict[str, Any]]:
    """Yield the judge's measures by people's labels, kappa with them, and alpha among people."""
    families = {name: name for name in part.rows["model"].unique()}
    tables = part.rows, part.verdicts, part.labels, part.keys()
    labelled, judged = labelled_beside_judges(*tables, families)
    for row in measures(peoples_turns(labelled), {}):
        if name := CARD.get(str(row["measure"])):
            yield _named(name, row)
    two = part.labels["annotator"].n_unique() == 2
    for compared in comparisons(labelled, judged):
        measure, name = BETWEEN[compared.kind]
        if PEOPLE in compared[1:3] or (two and name == ALPHA):
            for row in coefficients(compared, "genuine", ALL, "study", [], SEED):
                if row["measure"] == measure:
                    yield _named(name, row)


def _named(measure: str, row: Mapping[str, Any]) -> dict[str, Any]:
    return {"measure": measure} | {name: row[name] for name in (*Interval._fields, "reason")}


def _changes(given: LabelledRows) -> Iterator[dict[str, Any]]:
    """Yield the change of the corrected rate from the first model to each other one."""
    models = given.rows["model"].unique(maintain_order=True).to_list()
    first, *others = ((model, given.part(model=model)) for model in models)
    for model, other in others:
        row = {"model": model, "measure": f"{CORRECTED} less that of {first[0]}"}
        if why := unlabelled(first[1]) or unlabelled(other):
            yield row | {"reason": why}
        else:
            change = corrected_change(_domain(other), _domain(first[1]))
            yield row | _limits(change) | {"reason": change.get("corrected_reason")}

"""Card, rates and corrected rates of anybody's judge, by the estimators of a study's tables.

Verdicts and labels of two files become the turns, verdicts and labels of a study. What a study
calls genuine is a yes here, and a study's cells are groups of rows. So the estimators give the same
numbers as for a study.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from userturn.calibration.judged_rows import (
    POOLED,
    POSITIVE,
    Columns,
    Judged,
    Names,
    RowLabel,
    judged_rows,
    read_labels,
)
from userturn.controls.control_turn import NOT_GENUINE
from userturn.datasets.turns import clusters
from userturn.errors import UserError
from userturn.humans.labels import PEOPLE, comparisons, labelled_beside_judges
from userturn.judges.verdict import GENUINE
from userturn.stats.proportions import Interval
from userturn.storage.table_files import STRATUM_KEYS, TURN_KEYS, Schema
from userturn.study.cells import ALL
from userturn.tables.agreement import coefficients
from userturn.tables.corrected_rates import Domain, corrected_change, corrected_rate, domains
from userturn.tables.judge_card import measures
from userturn.tables.known_turns import peoples_turns
from userturn.tables.turn_rates import rate_over
from userturn.wording import number_of

WHOLE = "all rows"
TEXTS = ("model", "dataset", "perturbation", "item", "key", "outcome", "stratum", "judge", "label")
ROW = dict.fromkeys(TEXTS, pl.String) | {"temperature": pl.Float64, "sample": pl.Int64}
LABEL = dict.fromkeys(("id", "annotator", "label"), pl.String)


class LabelledRows(NamedTuple):
    """Rows with verdicts of any judges, and people's labels of some of them."""

    # One row per thing that was judged: key columns of a turn, `key`, `outcome`, `stratum` if the
    # file names it, and whether it was `drawn` for people.
    rows: pl.DataFrame
    verdicts: pl.DataFrame  # key columns, `judge`, `label` (genuine, not genuine, null), `genuine`
    labels: pl.DataFrame  # `id` of the row, `annotator`, `label`, `genuine`
    left_out: Mapping[str, str]  # by judge, the first verdict that is neither yes nor no

    def part(self, **values: str) -> "LabelledRows":
        """Return the part with the rows whose columns have some values."""
        rows, verdicts = self.rows.filter(**values), self.verdicts.filter(**values)
        labels = self.labels.filter(pl.col("id").is_in(rows["key"].to_list()))
        return self._replace(rows=rows, verdicts=verdicts, labels=labels)

    def judged_by(self, judge: str) -> "LabelledRows":
        """Return the part with the rows that a judge has a verdict on."""
        verdicts = self.verdicts.filter(judge=judge)
        rows = self.rows.join(verdicts, on=TURN_KEYS, how="semi", maintain_order="left")
        return self._replace(rows=rows, verdicts=verdicts).part()

    def keys(self) -> pl.DataFrame:
        """Return the drawn rows of one judge, as the key of a round that was drawn by its labels.

        If the file names no strata, a group's strata are the judge's yes, no and no verdict.
        This allows for labels that were drawn by these, or without them. A stratum from which
        nothing was drawn counts as drawn whole.
        """
        own, label = self.verdicts.select(*TURN_KEYS, "judge", "label"), pl.col("label")
        yes = pl.when(label == GENUINE).then(pl.lit("a yes")).when(label.is_not_null())
        side = yes.then(pl.lit("a no")).otherwise(pl.lit("no verdict"))
        framed = self.rows.join(own, on=TURN_KEYS, how="left", maintain_order="left").with_columns(
            stratum=pl.col("stratum").fill_null(side),
            round=pl.lit(""),
            id=pl.col("key"),
            family=pl.col("model"),
        )
        n_drawn, size = pl.col("drawn").sum().over(STRATUM_KEYS), pl.len().over(STRATUM_KEYS)
        return framed.with_columns(
            drawn=pl.col("drawn") | (n_drawn == 0),
            n_drawn=pl.when(n_drawn == 0).then(size).otherwise(n_drawn),
            stratum_size=size,
        ).filter("drawn")


def labelled_rows(verdicts: Sequence[Path], labels: Path, columns: Columns) -> LabelledRows:
    """Return the rows of files with verdicts, with the labels of another file.

    Raises:
        UserError: a file, column or row cannot be read, a judge has two verdicts on a row, or a
            label is of no row or of several.
    """
    judged, by = judged_rows(verdicts, columns)
    labels_read = list(read_labels(labels, columns, by))
    answers = [*(row.verdict for row in judged), *(row.label for row in labels_read)]
    if columns.positive and not any(answers):
        raise UserError(
            f"--positive: none of the verdicts and labels is {' or '.join(columns.positive)}; name "
            "values as they stand in the files"
        )
    left_out = _no_yes_or_no(judged)
    label_of_row = dict(_labelled(judged, labels_read))
    table = pl.DataFrame(list(_rows(judged)), schema=ROW)
    table = table.with_columns(
        drawn=pl.col("key").is_in([key for key, _ in label_of_row]),
        genuine=pl.col("label") == GENUINE,
    )
    rows = [
        (key, name, _label(label))
        for (key, name), label in label_of_row.items()
        if label is not None
    ]
    return LabelledRows(
        table.unique("key", keep="first", maintain_order=True).drop("judge", "label", "genuine"),
        table.filter(~pl.col("judge").is_in(list(left_out))),
        pl.DataFrame(rows, LABEL, orient="row").with_columns(genuine=pl.col("label") == GENUINE),
        left_out,
    )


def _label(verdict: bool | None) -> str | None:
    return None if verdict is None else GENUINE if verdict else NOT_GENUINE


def _no_yes_or_no(judged: Iterable[Judged]) -> dict[str, str]:
    """Return by judge its first verdict that is no yes or no. Raise UserError if all have one."""
    examples: dict[str, str] = {}
    judges = set()
    for one in judged:
        judges.add(one.judge)
        if one.problem:
            examples.setdefault(one.judge, f"{one.where}: the verdict {one.problem}")
    if examples and examples.keys() == judges:
        raise UserError(f"{next(iter(examples.values()))}; {POSITIVE}")
    return examples


def _key(names: Names) -> str:
    return "\n".join(names.values())


def _rows(judged: Iterable[Judged]) -> Iterator[dict[str, Any]]:
    seen = set()
    numbers: dict[str, int] = {}
    for one in judged:
        key = _key(one.names)
        if (key, one.judge) in seen:
            raise UserError(
                f"{one.where}: a second verdict of '{one.judge}' on '{one.names['id']}'; name the "
                "columns that tell these rows apart with --by, or that of a row's name with --id"
            )
        seen.add((key, one.judge))
        yield {
            **_cell(one.names),
            **{"temperature": 0.0, "perturbation": "", "outcome": "ok", "item": one.item},
            **{"key": key, "sample": numbers.setdefault(key, len(numbers))},
            **{"judge": one.judge, "stratum": one.stratum, "label": _label(one.verdict)},
        }


def _cell(names: Names) -> dict[str, str]:
    """Return the cell of a group: columns of POOLED make its dataset, the others its model."""
    groups = {name: value for name, value in names.items() if name not in ("id", "sample")}
    datasets = [value for name, value in groups.items() if name in POOLED]
    others = [value for name, value in groups.items() if name not in POOLED]
    return {"model": ", ".join(others) or WHOLE, "dataset": ", ".join(datasets)}


def _labelled(
    judged: Sequence[Judged], labels: Sequence[RowLabel]
) -> Iterator[tuple[tuple[str, str], bool | None]]:
    """Yield ((key of a row, annotator), label).

    Raises:
        UserError: a label of no row or of several, or a second one by the same annotator.
    """
    shared_names = [name for name in labels[0].names if name in judged[0].names]
    rows: dict[tuple[str, ...], set[str]] = {}
    more = set()
    for one in judged:
        more |= one.names.keys() - {*shared_names}
        rows.setdefault(_told(one.names, shared_names), set()).add(_key(one.names))
    seen = set()
    for label in labels:
        keys = rows.get(_told(label.names, shared_names), set())
        if len(keys) != 1 or (*keys, label.annotator) in seen:
            name = ", ".join(label.names.values())
            why = "is of no row of the verdicts; correct it, or remove it"
            if keys:
                what = f"also the column {' or '.join(sorted(more))}" if more else "one row each"
                why = f"is of {len(keys)} rows of the verdicts; give the labels {what}"
            if len(keys) == 1:
                why = f"is the second of '{label.annotator}'; remove the wrong one"
            raise UserError(f"{label.where}: the label of '{name}' {why}")
        (key,) = keys
        seen.add((key, label.annotator))
        yield (key, label.annotator), label.label


def _told(names: Names, shared: Iterable[str]) -> tuple[str, ...]:
    return tuple(names.get(name, "") for name in shared)


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


def calibrate(labelled: LabelledRows) -> pl.DataFrame:
    """Return each judge's card in each group of rows, and each group's rates.

    `all` is the dataset of a model's groups together, and the model of everything together, which
    has a card and no rate. If there are several models, the change from the first to each other one
    follows.
    """
    rows = []
    for judge in sorted(labelled.verdicts["judge"].unique()):
        of_judge = labelled.judged_by(judge)
        for model, dataset, part in _scopes(of_judge):
            names = {"judge": judge, "model": model, "dataset": dataset}
            rows += [names | row for row in _scope_measures(part, model)]
        rows += [{"judge": judge} | row for row in _changes(of_judge)]
    return pl.DataFrame(rows, schema=CALIBRATION)


def _scopes(labelled: LabelledRows) -> Iterator[tuple[str, str, LabelledRows]]:
    """Yield model, dataset and rows of each group, of each model over datasets, and of all rows."""
    models = labelled.rows["model"].unique(maintain_order=True).to_list()
    for model in models:
        own = labelled.part(model=model)
        datasets = own.rows["dataset"].unique(maintain_order=True).to_list()
        for dataset in datasets if len(datasets) > 1 else []:
            yield model, dataset, own.part(dataset=dataset)
        yield model, ALL if len(datasets) > 1 else datasets[0], own
    if len(models) > 1:
        yield ALL, ALL, labelled


def _scope_measures(part: LabelledRows, model: str) -> Iterator[dict[str, Any]]:
    """Yield the measures of some groups: rates if all are of one model, and the judge's card."""
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
    """Return a sentence on the kinds of rows that have no label, or None if every kind has one."""
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
    by_names = domains(part.rows, part.verdicts, part.labels, part.keys())
    return next(domain for (_, dataset, *_), domain in by_names.items() if dataset == ALL)


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


def _changes(labelled: LabelledRows) -> Iterator[dict[str, Any]]:
    """Yield the change of the corrected rate from the first model to each other one."""
    models = labelled.rows["model"].unique(maintain_order=True).to_list()
    first, *others = ((model, labelled.part(model=model)) for model in models)
    for model, other in others:
        row = {"model": model, "measure": f"{CORRECTED} less that of {first[0]}"}
        if why := unlabelled(first[1]) or unlabelled(other):
            yield row | {"reason": why}
        else:
            change = corrected_change(_domain(other), _domain(first[1]))
            yield row | _limits(change) | {"reason": change.get("corrected_reason")}

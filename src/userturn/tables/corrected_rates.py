"""Table `corrected_rates`: rates of cells, pools and contrasts, corrected by people's labels."""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from userturn.config.families import families
from userturn.config.formats import DEFAULT, model_of
from userturn.humans.labels import NO_LABELS, drawn_turns, people
from userturn.stats.prediction_powered import difference
from userturn.storage.key_columns import CELL_KEYS, TURN_KEYS
from userturn.storage.parquet import Schema
from userturn.study.cells import PLAIN
from userturn.tables.format_columns import FORMAT
from userturn.tables.label_domain import Domain, correlation
from userturn.tables.layout import (
    INTERVAL,
    TEMPERATURE,
    Layout,
    column,
    texts,
)
from userturn.tables.make_tables import Material
from userturn.workflow.declarations import Table

TABLE = Table(
    rule="compare_with_people",
    place=270,
    row="a cell, pool of cells or contrast, and a judge",
    made_of=("user_turns", "verdicts", "annotations", "round_keys"),
    settings=("families",),
    version=3,
)
MEANINGS = {
    "scope": (
        "cell; model and temperature (over datasets); contrast of a cell; contrast over datasets"
    ),
    "estimate": "rate corrected by people's labels",
}
COORDINATES = ["family", *CELL_KEYS]
OVER_DATASETS = [name for name in COORDINATES if name != "dataset"]
# Every pool keeps perturbations apart: they are not samples of one rate.
SCOPES = {
    "cell": COORDINATES,
    "model and temperature": OVER_DATASETS,
}
CONTRASTS = {"contrast": "cell", "contrast over datasets": "model and temperature"}  # of a scope
Groups = Mapping[tuple[Any, ...], Domain]  # by the values of a scope's columns
SCHEMA: Schema = {
    "scope": pl.String,
    "family": pl.String,
    "model": pl.String,
    "dataset": pl.String,
    "temperature": pl.Float64,
    "perturbation": pl.String,
    "against": pl.String,
    "judge": pl.String,
    "n_turns": pl.Int64,
    "n_labelled": pl.Int64,
    "plain_estimate": pl.Float64,
    "plain_lower": pl.Float64,
    "plain_upper": pl.Float64,
    "estimate": pl.Float64,
    "lower": pl.Float64,
    "upper": pl.Float64,
    "tuning": pl.Float64,
    "reason": pl.String,
}


def table(material: Material) -> pl.DataFrame:
    """Return the table of a study."""
    annotations, keys = material.annotations_and_keys
    of_models = {member.model: member.family for member in families(material.grid.models)}
    return corrected_rates(material.user_turns, material.verdicts, annotations, keys, of_models)


def _rate(domain: Domain) -> dict[str, Any]:
    reason = domain.reason
    if reason:
        return {**domain.counts, "reason": reason}
    found = domain.corrected
    rate = {name: getattr(found, name) for name in ("estimate", "lower", "upper", "tuning")}
    return {**domain.counts, **rate}


def _drawn_cells(domain: Domain) -> Domain:
    """Return the part of a domain that can be pooled: the cells from which turns were drawn."""
    turns = domain.turns.join(domain.drawn, on=CELL_KEYS, how="semi", maintain_order="left")
    return domain.part(turns, domain.drawn)


def _rates(groups: Groups, scope: str) -> list[dict[str, Any]]:
    """Return a row for each group of a scope."""
    return [
        {"scope": scope, **dict(zip(SCOPES[scope], values, strict=True)), **_rate(part)}
        for values, part in groups.items()
    ]


def _contrast(condition: Domain, base: Domain) -> dict[str, Any]:
    """Return the difference of two domains' rates in the datasets that both have."""
    shared = sorted(set(condition.turns["dataset"]) & set(base.turns["dataset"]))
    first, second = condition.of_datasets(shared), base.of_datasets(shared)
    counts = [first.counts, second.counts]
    row: dict[str, Any] = {name: sum(c[name] for c in counts) for name in ("n_turns", "n_labelled")}
    plain = [c["plain_estimate"] for c in counts]
    if None not in plain:
        row["plain_estimate"] = plain[0] - plain[1]
    if not shared:
        return row | {"reason": "the two share no dataset"}
    reason = first.reason or second.reason
    if reason:
        return row | {"reason": reason}
    related = correlation(second, first)
    return row | difference(second.corrected, first.corrected, related)._asdict()


def _contrasts(groups: Groups, scope: str) -> list[dict[str, Any]]:
    """Return a row for each group against each of its baselines."""
    by = SCOPES[CONTRASTS[scope]]
    coolest = min((values[by.index("temperature")] for values in groups), default=0.0)
    rows = []
    for values, part in groups.items():
        group = dict(zip(by, values, strict=True))
        for against, other in _baselines(group, coolest):
            base = groups.get(tuple(other.values()))
            if base is not None and other != group:
                found = _contrast(part, base)
                rows.append({"scope": scope, **group, "against": against, **found})
    return rows


def _baselines(group: Mapping[str, Any], coolest: float) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the name of each baseline of a group, and the group under it."""
    yield f"perturbation {PLAIN}", {**group, "perturbation": PLAIN}
    yield f"temperature {coolest:g}", {**group, "temperature": coolest}
    default = {name: model_of(group[name]) for name in ("family", "model")}
    yield f"{FORMAT} {DEFAULT}", {**group, **default}


def _of_judge(domain: Domain) -> list[dict[str, Any]]:
    """Return the rows of one judge: rates of every scope, then contrasts."""
    pools = _drawn_cells(domain)
    groups = {
        scope: (domain if scope == "cell" else pools).parts(by) for scope, by in SCOPES.items()
    }
    rows = [row for scope in SCOPES for row in _rates(groups[scope], scope)]
    return rows + [row for name, of in CONTRASTS.items() for row in _contrasts(groups[of], name)]


def corrected_rates(
    turns: pl.DataFrame,
    verdicts: pl.DataFrame,
    annotations: pl.DataFrame,
    keys: pl.DataFrame,
    family_by_model: Mapping[str, str],
) -> pl.DataFrame:
    """Return plain and corrected rates of all cells, models and contrasts, by each judge.

    Args:
        turns: user turns of all cells: key columns, `key`, `outcome`.
        verdicts: verdicts of all judges on them.
        annotations: people's labels of all rounds.
        keys: the keys of all rounds.
        family_by_model: family of each model, one of its own for another format.
    """
    family = pl.col("model").replace_strict(family_by_model, return_dtype=pl.String)
    frame = turns.filter(pl.col("outcome") != "error").with_columns(family=family)
    drawn = drawn_turns(keys, frame).unique(TURN_KEYS, keep="first", maintain_order=True)
    labelled = people(annotations).filter(pl.col("id").is_in(drawn["id"].to_list()))
    rows = []
    for judge in sorted(verdicts["judge"].unique()):
        of_judge = verdicts.filter(pl.col("judge") == judge).select(*TURN_KEYS, "genuine")
        judged = frame.join(of_judge, on=TURN_KEYS, how="left", maintain_order="left")
        found = _of_judge(Domain(judged, drawn, labelled))
        rows += [{"judge": judge, **row} for row in found]
    table = pl.DataFrame(rows, schema=SCHEMA)
    if annotations.is_empty():
        return table.with_columns(reason=pl.lit(NO_LABELS))
    return table


LAYOUT = Layout(
    "Rates corrected by people's labels",
    {},
    (
        *texts("scope", "family", "model", "dataset"),
        TEMPERATURE,
        *texts("perturbation", "against", "judge"),
        column("labelled", "of", "n_labelled", "n_turns"),
        column("judge alone", "share", *(f"plain_{n}" for n in ("estimate", *INTERVAL))),
        column("corrected", "share", "estimate", *INTERVAL),
        *texts("reason"),
    ),
)

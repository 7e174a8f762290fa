"""Rates and changes corrected by people's labels, as columns of `rates` and of `contrasts`."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from userturn.config.formats import model_of
from userturn.humans.labels import NO_LABELS, drawn_turns, people
from userturn.stats.prediction_powered import difference
from userturn.storage.table_files import CELL_KEYS, JUDGED_CELL_KEYS, TURN_KEYS, Schema
from userturn.study.cells import ALL
from userturn.tables.format_columns import FORMAT
from userturn.tables.label_domain import NOT_DRAWN, Domain, correlation
from userturn.tables.turn_clusters import LIMITS, limits_of

if TYPE_CHECKING:
    from userturn.tables.make_tables import Material

CORRECTED: Schema = {
    "n_turns_drawn_from": pl.Int64,
    "n_labelled": pl.Int64,
    **{f"corrected{end}": pl.Float64 for end in LIMITS},
    "corrected_reason": pl.String,
}
MEANINGS = {
    "n_turns_drawn_from": "turns of the cells that turns were drawn from, which `corrected` is of",
    "n_labelled": "of which people labelled so many",
    "corrected_reason": "why there is none",
}
Domains = Mapping[tuple[Any, ...], Domain]  # by a cell or pool and a judge, as JUDGED_CELL_KEYS


def domains(
    turns: pl.DataFrame, verdicts: pl.DataFrame, annotations: pl.DataFrame, keys: pl.DataFrame
) -> Domains:
    """Return the turns of every cell and of every model over datasets, with people's labels.

    A pool is of the cells that turns were drawn from.

    Args:
        turns: user turns of all cells: key columns, `key`, `outcome`.
        verdicts: verdicts of all judges on them.
        annotations: people's labels of all rounds.
        keys: the keys of all rounds.
    """
    frame = turns.filter(pl.col("outcome") != "error")
    drawn = drawn_turns(keys, frame).unique(TURN_KEYS, keep="first", maintain_order=True)
    labelled = people(annotations).filter(pl.col("id").is_in(drawn["id"].to_list()))
    found: dict[tuple[Any, ...], Domain] = {}
    for judge in sorted(verdicts["judge"].unique()):
        of_judge = verdicts.filter(pl.col("judge") == judge).select(*TURN_KEYS, "genuine")
        judged = frame.join(of_judge, on=TURN_KEYS, how="left", maintain_order="left")
        cells = Domain(judged, drawn, labelled)
        drawn_from = judged.join(drawn, on=CELL_KEYS, how="semi", maintain_order="left")
        pools = cells.part(drawn_from, drawn).parts([k for k in CELL_KEYS if k != "dataset"])
        found |= {(*cell, judge): part for cell, part in cells.parts(CELL_KEYS).items()}
        found |= {(model, ALL, *rest, judge): part for (model, *rest), part in pools.items()}
    return found


def domains_of(material: "Material") -> Domains | None:
    """Return those of a study; None if nobody has labelled a turn."""
    annotations, keys = material.annotations_and_keys
    if annotations.is_empty():
        return None
    return domains(material.user_turns, material.verdicts, annotations, keys)


def corrected_rate(domain: Domain | None) -> dict[str, Any]:
    """Return the columns of a corrected rate; None is a pool that nothing was drawn from."""
    if domain is None:
        return {"corrected_reason": NOT_DRAWN}
    counts = {"n_turns_drawn_from": domain.turns.height, "n_labelled": domain.labelled.height}
    if domain.reason:
        return counts | {"corrected_reason": domain.reason}
    found = domain.corrected
    return counts | limits_of("corrected", (found.estimate, found.lower, found.upper))


def corrected_change(condition: Domain | None, base: Domain | None) -> dict[str, Any]:
    """Return the columns of the change from one rate to another, over the datasets of both."""
    if condition is None or base is None:
        return {"corrected_reason": NOT_DRAWN}
    shared = sorted(set(condition.turns["dataset"]) & set(base.turns["dataset"]))
    if not shared:
        return {"corrected_reason": "turns were drawn from no dataset of both"}
    after, before = condition.of_datasets(shared), base.of_datasets(shared)
    counts = {
        "n_turns_drawn_from": after.turns.height + before.turns.height,
        "n_labelled": after.labelled.height + before.labelled.height,
    }
    if reason := after.reason or before.reason:
        return counts | {"corrected_reason": reason}
    found = difference(before.corrected, after.corrected, correlation(before, after))
    return counts | limits_of("corrected", found)


def of_rate(found: Domains, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns of the corrected rate of a cell or pool."""
    return corrected_rate(found.get(_place(row)))


def of_contrast(found: Domains, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns of the corrected change from a baseline to a condition."""
    if row["factor"] == FORMAT:
        base = {**row, "model": model_of(row["model"])}
    else:
        value = row["baseline"]
        base = {**row, row["factor"]: float(value) if row["factor"] == "temperature" else value}
    return corrected_change(found.get(_place(row)), found.get(_place(base)))


def _place(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(row[key] for key in JUDGED_CELL_KEYS)


def with_corrected(
    table: pl.DataFrame,
    found: Domains | None,
    has_one: pl.Expr,
    correct: Callable[[Domains, Mapping[str, Any]], dict[str, Any]],
) -> pl.DataFrame:
    """Return a table with the columns of corrected numbers, null where a row has none.

    Args:
        table: rows with the columns of a judged cell; `all` is the dataset of a pool.
        found: the domains of the study; None if nobody has labelled a turn.
        has_one: whether a row is of genuine turns of cells, or of models over datasets.
        correct: `of_rate` or `of_contrast`.
    """
    rows: list[dict[str, Any]] = []
    for row in table.with_columns(has_one=has_one).iter_rows(named=True):
        if not row["has_one"]:
            rows.append({})
        elif found is None:
            rows.append({"corrected_reason": NO_LABELS})
        else:
            rows.append(correct(found, row))
    bare = table.drop(list(CORRECTED), strict=False)
    return pl.concat([bare, pl.DataFrame(rows, schema=CORRECTED)], how="horizontal")

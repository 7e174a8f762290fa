"""Table `unseen_answers`: what is genuine of turns that were written without seeing the answer."""

from collections.abc import Sequence

import polars as pl

from userturn.prompts.perturbations import controls_of
from userturn.storage.table_files import JUDGED_CELL_COLUMNS, JUDGED_CELL_KEYS, TURN_KEYS, Schema
from userturn.study.cells import PLAIN
from userturn.tables.chance_floor import NO_OTHER_ANSWER, NOT_SCORED, chance_floor
from userturn.tables.layout import Layout, column, limited, texts
from userturn.tables.make_tables import Material
from userturn.tables.turn_rates import LIMITS
from userturn.workflow.registry import Table

TABLE = Table(
    rule="tabulate_unseen",
    place=55,
    row="a control perturbation of a model, dataset (or all) and temperature, by a judge",
    made_of=("unseen_verdicts", "seen_verdicts", "copies"),
    settings=("controls",),
    needs="unseen_verdicts",
)
FROM_FLOOR = {  # this is a floor, too: no turn reacts to an answer that its writer did not see
    "n_judged_again": "n_turns",
    "n_scored_again": "n_scored",
    **{f"floor{end}": f"unseen{end}" for end in LIMITS},
    **{f"above_floor{end}": f"above_unseen{end}" for end in LIMITS},
    "floor_reason": "reason",
}
REASONS = {
    NO_OTHER_ANSWER: "the control has no turn whose item has an answer",
    NOT_SCORED: "no turn of the control has a verdict, or no unperturbed one has",
}
SCHEMA: Schema = {
    **JUDGED_CELL_COLUMNS,
    **dict.fromkeys(("n_turns", "n_scored"), pl.Int64),
    **{f"{name}{end}": pl.Float64 for name in ("unseen", "above_unseen") for end in LIMITS},
    "reason": pl.String,
}
MEANINGS = {
    "perturbation": "the control under which the turns were written",
    "n_turns": "turns of the control that were judged after the item's own answer",
    "n_scored": "of which have a label then",
    "unseen": "share of genuine turns among those of the control, after that answer",
    "above_unseen": (
        "rate of the unperturbed turns, which were written after that answer, less `unseen`: what "
        "seeing the answer adds"
    ),
    "reason": "why there is no such share",
}


def table(material: Material) -> pl.DataFrame:
    """Return the table of a study."""
    keys = [*TURN_KEYS, "judge", "genuine"]
    seen, unseen = (material.read(name, keys) for name in ("seen_verdicts", "unseen_verdicts"))
    return unseen_answers(seen, unseen, controls_of(material.grid.perturbations))


def unseen_answers(
    seen: pl.DataFrame, unseen: pl.DataFrame, controls: Sequence[str]
) -> pl.DataFrame:
    """Return one row per control, cell and judge, and one over all datasets.

    Both frames have a row per turn and judge, whose `genuine` is null if unscored. `seen` has the
    turns of unperturbed cells, `unseen` those of controls, judged after the answers of these cells.
    """
    tables = []
    for control in controls:
        again = unseen.filter(perturbation=control).with_columns(perturbation=pl.lit(PLAIN))
        floors = chance_floor(seen, again.rename({"genuine": "after_another"}), {})
        tables.append(floors.with_columns(perturbation=pl.lit(control)))
    whole = pl.concat(tables).rename(FROM_FLOOR).select(list(SCHEMA))
    return whole.with_columns(pl.col("reason").replace(REASONS)).sort(JUDGED_CELL_KEYS)


LAYOUT = Layout(
    "Turns written without the answer, judged after it",
    {},
    (
        *texts("model", "dataset", "temperature", "perturbation", "judge"),
        limited("genuine all the same", "share", "unseen"),
        limited("what seeing the answer adds", "change", "above_unseen"),
        column("scored", "of", "n_scored", "n_turns"),
        column("none", "text", "reason"),
    ),
    about=(
        "The turns of control perturbations, which the model wrote without its own answer to the "
        "item, judged after that answer. What the judge calls genuine of them fits the answer "
        "without reacting to it. What seeing the answer adds is the rate of the unperturbed turns "
        "less this share."
    ),
)

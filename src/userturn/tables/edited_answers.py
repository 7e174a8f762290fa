"""How often a judge's verdict flips where what a turn takes up is exchanged in the answer.

It tells without any label whether a judge looks at the answer: a turn that it called genuine reacts
to something there, and that is gone.
"""

from typing import TYPE_CHECKING

import polars as pl

from userturn.datasets.clusters import clusters
from userturn.judges.judge_cell import scan_verdicts
from userturn.storage.table_files import TURN_KEYS
from userturn.study.cells import ALL
from userturn.tables.judge_card import CARD
from userturn.tables.turn_clusters import rate_over

if TYPE_CHECKING:
    from userturn.tables.make_tables import Material

EDITED, FLIPS = "edited", "flips"  # the source and the measure
NONE_ACCEPTED = "the judge called none of these turns genuine after its own answer"
NONE_SCORED = "the judge scored none of them after the edited answer"


def flip_rates(material: "Material") -> pl.DataFrame:
    """Return the flip rate of each judge of a study; no rows if no answer was edited."""
    if not material.paths["edited_verdicts"]:
        return pl.DataFrame(schema=CARD)
    keys = [*TURN_KEYS, "judge", "genuine"]
    own = scan_verdicts(material.paths["unedited_verdicts"]).select(keys).collect()
    return flips(own, material.read("edited_verdicts", keys))


def flips(own: pl.DataFrame, edited: pl.DataFrame) -> pl.DataFrame:
    """Return one row of a judge's card for each judge.

    Args:
        own: one row per turn and judge, `genuine` after the turn's own answer, null if unscored.
        edited: some of these turns, `genuine` after the edited answer.
    """
    on = [*TURN_KEYS, "judge"]
    after = edited.with_columns(flipped=~pl.col("genuine")).drop("genuine")
    both = own.join(after, on=on, nulls_equal=True).with_columns(
        cluster=pl.concat_str("dataset", clusters(), separator="\n")
    )
    rows = []
    for (judge,), part in sorted(both.partition_by(["judge"], as_dict=True).items()):
        accepted = part.filter("genuine")
        n_scored = accepted["flipped"].count()
        found = rate_over(accepted, ["cluster"], "flipped")[0] if n_scored else None
        rows.append(
            {"judge": judge, "source": EDITED, "by": ALL, "group": ALL, "measure": FLIPS}
            | {"n_turns": accepted.height, "n_scored": n_scored}
            | {"n_conversations": accepted["cluster"].n_unique()}
            | (found._asdict() if found else {})
            | {"reason": None if found else NONE_SCORED if accepted.height else NONE_ACCEPTED}
        )
    return pl.DataFrame(rows, schema=CARD)

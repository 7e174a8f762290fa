"""Tables of what people's labels say: how judges agree with them, and rates corrected by them."""

from collections.abc import Mapping, Sequence

import polars as pl

from userturn.humans.labels import VERDICTS, read_annotations_and_keys
from userturn.humans.rater_pairs import labelled_beside_judges
from userturn.humans.rounds import ITEMS_SCHEMA
from userturn.humans.sample import TURN
from userturn.humans.task_page import read_rubric
from userturn.storage.parquet import read_tables, write_all
from userturn.tables.agreement import agreement
from userturn.tables.confusion import confusion
from userturn.tables.corrected_rates import corrected_rates
from userturn.tables.disagreements import disagreements
from userturn.workflow.humans import HumanGrid


def compare_with_people(
    humans: HumanGrid,
    identity: str,
    paths_to_user_turns: Sequence[str],
    paths_to_verdicts: Sequence[str],
    paths_to_annotations: Sequence[str],
    paths_to_keys: Sequence[str],
    paths_to_items: Sequence[str],
    path_to_rubric: str,
    paths_to_tables: Mapping[str, Sequence[str]],
) -> None:
    """Write agreement, confusion, disagreements and corrected rates.

    Args:
        humans: knows model families, private datasets and the seed.
        identity: of the tables.
        paths_to_user_turns: of all cells.
        paths_to_verdicts: of all cells and judges.
        paths_to_annotations: of all rounds.
        paths_to_keys: of all rounds.
        paths_to_items: what annotators saw, of all rounds.
        path_to_rubric: names the labels.
        paths_to_tables: by the table's name, a path for each format.
    """
    columns = [*TURN, "key", "outcome"]
    turns = pl.concat([pl.read_parquet(path, columns=columns) for path in paths_to_user_turns])
    verdicts = pl.concat([pl.read_parquet(path, columns=VERDICTS) for path in paths_to_verdicts])
    annotations, keys = read_annotations_and_keys(paths_to_annotations, paths_to_keys)
    families = humans.families
    labelled, judged = labelled_beside_judges(turns, verdicts, annotations, keys, families)
    items = read_tables(paths_to_items, ITEMS_SCHEMA)
    labels, seed = list(read_rubric(path_to_rubric)), humans.grid.config["seed"]
    tables = {
        "agreement": agreement(labelled, judged, labels, seed),
        "confusion": confusion(labelled, judged),
        "disagreements": disagreements(labelled, verdicts, items, humans.private),
        "corrected_rates": corrected_rates(turns, verdicts, annotations, keys, families),
    }
    for name, table in tables.items():
        write_all(table, paths_to_tables[name], identity)

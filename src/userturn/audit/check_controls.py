"""Are controls and labelled turns what planting them again gives, and their verdicts what it said?

Human turns and easy failures follow from the study's own items and answers. Hard failures and the
labelled turns also need their texts from `data/`, as the study had them.
"""

from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path

import polars as pl

from userturn.audit.check_sources import is_at_hand
from userturn.audit.check_verdicts import check_verdicts_in
from userturn.audit.findings import Finding, Note
from userturn.audit.pair import BrokenError, Pair, compared
from userturn.controls.control_turn import HUMAN, MADE_WITH_TEXTS
from userturn.controls.hard_failures import parse_texts
from userturn.controls.human_turns import human_turns
from userturn.controls.labelled_turns import labelled_items, labelled_turns, read_labelled
from userturn.controls.planted import other_answers, planted_turns
from userturn.provenance.study_files import FAULTS
from userturn.sources import controls, labelled
from userturn.sources.source import Turns
from userturn.storage.key_columns import TURN_KEYS
from userturn.study.inputs import HARD_FAILURES, LABELLED_TURNS
from userturn.study.record import StudyRecord

NO_TEXTS = "are not made again: their texts are not here with the content that the study had"


def check_controls(
    results: Path, record: StudyRecord, with_journals: bool, broken: frozenset[str]
) -> Iterator[Finding | Note]:
    """Yield what is wrong with control turns, labelled turns, and the verdicts on them.

    Args:
        results: folder of a study.
        record: of the study.
        with_journals: False for a copy without journals.
        broken: artifacts that are missing or altered, and found so.
    """
    grid = record.grid(results.resolve())
    with chdir(results.parent):
        for turns in controls.judged(grid):
            pair = Pair(grid, record, turns.model, turns.dataset, with_journals, broken)
            yield from _human(pair) if turns.model == HUMAN else _planted(pair, turns)
            yield from check_verdicts_in(pair, f"results/{turns.folder}")
        for turns in labelled.judged(grid):
            pair = Pair(grid, record, turns.model, turns.dataset, with_journals, broken)
            yield from _labelled(pair)
            yield from check_verdicts_in(pair, f"results/{turns.folder}")


def _human(pair: Pair) -> Iterator[Finding]:
    path = f"results/controls/{HUMAN}/{pair.dataset}/user_turns.parquet"
    yield from pair.held(
        "controls",
        path,
        lambda: human_turns(pair.read(pair.path_to_items), pair.dataset),
        TURN_KEYS,
    )


def _planted(pair: Pair, turns: Turns) -> Iterator[Finding | Note]:
    """Plant failures again: without their texts, those that need none."""
    path = turns.path
    instruction = _instruction(pair)
    if instruction is None:
        yield Note("controls", path, f"planted turns {NO_TEXTS}")
        return
    texts = None
    if is_at_hand(HARD_FAILURES, pair.study.contents.hard_failures):
        texts = parse_texts(Path(HARD_FAILURES).read_text(encoding="utf-8"))
    else:
        yield Note("controls", path, f"those made with texts {NO_TEXTS}")

    def planted() -> pl.DataFrame:
        return planted_turns(
            pair.read(pair.path_to_answers),
            other_answers(pair.whole(other) for other in turns.made_of),
            pair.read(pair.path_to_items),
            texts,
            controls.n_planted(pair.grid),
            pair.grid.config["seed"],
            instruction,
        )

    def there() -> pl.DataFrame:
        planted = pair.read(path)
        is_made = pl.lit(True) if texts else pl.col("perturbation").is_in(MADE_WITH_TEXTS).not_()
        return planted.filter(is_made)

    yield from compared("controls", path, planted, there, TURN_KEYS)


def _instruction(pair: Pair) -> str | None:
    """Return what is appended to every prompt of a dataset; None if its file is not the study's."""
    try:
        text: str = pair.grid.dataset_settings(pair.dataset).get("instruction", "")
        items = pair.read(pair.path_to_items)["messages"].to_list()
    except (BrokenError, *FAULTS):
        return None
    is_own = all(messages[-1]["content"].endswith(text) for messages in items)
    return text if is_own else None


def _labelled(pair: Pair) -> Iterator[Finding | Note]:
    turns = "results/labelled/user_turns.parquet"
    if not is_at_hand(LABELLED_TURNS, pair.study.contents.labelled):
        yield Note("controls", turns, f"labelled turns {NO_TEXTS}")
        return
    rows = read_labelled(LABELLED_TURNS)
    yield from pair.held("controls", pair.path_to_items, lambda: labelled_items(rows), ["item"])
    yield from pair.held("controls", turns, lambda: labelled_turns(rows), TURN_KEYS)

"""Ask a judge about many cells through the Batch API: all cells of a dataset share its batches."""

from collections.abc import Iterator, Sequence

from userturn.judges.ask_by_batch import Asked, ask_by_batch
from userturn.judges.endpoint_verdicts import address_of, json_format, lacks_any, questions_about
from userturn.judges.former_names import open_decisions
from userturn.judges.judge import CellToJudge, Judge
from userturn.judges.pending_cells import judge_pending_cells
from userturn.judges.question import JudgePrompt, Question
from userturn.judges.reply_format import ReplyFormat
from userturn.judges.session import Session
from userturn.storage.table_files import PART


def fill_journal(judge: Judge, cells: Sequence[CellToJudge]) -> int:
    """Ask a judge the missing questions about some cells in batches, return how many cells.

    Each dataset's questions are counted in one account, because its cells share the batches.

    Raises:
        UserError: as `ask_by_batch`.
    """
    form = json_format(judge)
    by_dataset: dict[str, list[CellToJudge]] = {}
    for cell in cells:
        by_dataset.setdefault(cell.dataset, []).append(cell)
    n_lacking, asked = 0, []
    for dataset, of_dataset in sorted(by_dataset.items()):
        lacking = [
            cell
            for cell in of_dataset
            if any(lacks_any(judge, form.prompt, part) for part in cell.parts(PART))
        ]
        if lacking:
            asked.append(_asked(judge, form, dataset, lacking))
        n_lacking += len(lacking)
    if asked:
        ask_by_batch(asked)
    return n_lacking


def batch_judge(
    judge: Judge,
    pending: Sequence[str],
    paths_to_user_turns: Sequence[str],
    paths_to_items: Sequence[str],
    path_to_marker: str,
) -> None:
    """Fill a judge's journal for every pending cell in batches, and write the marker.

    Raises:
        UserError: as `fill_journal`.
    """
    judge_pending_cells(
        fill_journal, judge, pending, paths_to_user_turns, paths_to_items, path_to_marker
    )


def _questions(prompt: JudgePrompt, cells: Sequence[CellToJudge]) -> Iterator[Question]:
    """Yield the question about each turn of some cells, a part of a cell at a time."""
    for part in (part for cell in cells for part in cell.parts(PART)):
        yield from filter(None, questions_about(part, prompt))


def _asked(judge: Judge, form: ReplyFormat, dataset: str, cells: Sequence[CellToJudge]) -> Asked:
    """Return the session of a dataset's cells, and what makes their questions anew."""
    keys = (question.key for question in _questions(form.prompt, cells))
    session = Session(
        form.open_endpoint(address_of(judge), judge.settings["concurrency"]),
        form.read,
        open_decisions(judge, dataset, keys),
        judge.account(f"batches/{dataset}"),
        f"judge {judge.name}: {len(cells)} cells of {dataset}",
    )
    return session, lambda: _questions(form.prompt, cells)

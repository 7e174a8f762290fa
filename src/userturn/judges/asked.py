"""What kinds that ask a model over HTTP have in common: each has a `reply_format` of its own."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from userturn.judges.kinds import AskedKind, kind_of
from userturn.judges.verdict import UserTurn, Verdict

if TYPE_CHECKING:
    from userturn.judges.judge import CellToJudge, Judge
    from userturn.judges.reply_format import ReplyFormat


def format_of(judge: "Judge") -> "ReplyFormat":
    """Return how a judge is asked, and how its replies are read."""
    kind = kind_of(judge.settings)
    assert isinstance(kind, AskedKind), "only such kinds are asked"
    return kind.reply_format(judge)


def verdicts(
    judge: "Judge", cell: "CellToJudge", n_at_once: int
) -> Iterator[tuple["CellToJudge", list[Verdict]]]:
    """Yield the parts of a cell with their verdicts, asking the questions missing in the journal.

    Raises:
        UserError: see `endpoint_verdicts`.
    """
    from userturn.judges.endpoint_verdicts import endpoint_verdicts

    return endpoint_verdicts(judge, format_of(judge), cell, n_at_once)


def judge_turns(judge: "Judge", turns: Sequence[UserTurn], paid_by: str) -> list[Verdict]:
    """Ask about each turn, without a journal.

    Raises:
        UserError: the endpoint's key is missing, or nothing serves it.
    """
    from userturn.judges.endpoint_verdicts import ask_about_turns

    return ask_about_turns(judge, format_of(judge), turns, paid_by)

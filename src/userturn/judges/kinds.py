"""The interface of a kind of judge: `kind: x` in a judge's entry is the module `judges/x.py`.

A kind is imported by name when an entry uses it. Snakemake reads entries in every process that it
starts, so a kind's module imports no heavy package at its top: such imports are inside functions.
"""

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from userturn.config.entries import Config
from userturn.errors import UserError
from userturn.judges.verdict import UserTurn, Verdict

if TYPE_CHECKING:
    from userturn.judges.judge import CellToJudge, Judge
    from userturn.judges.session import ReplyFormat

Entry = Mapping[str, Any]


@runtime_checkable
class JudgeKind(Protocol):
    """The module of a kind."""

    # Its verdicts are computed from the turn alone, so the audit recomputes them. The verdicts of
    # other kinds are read from their journal.
    IS_DETERMINISTIC: bool
    # Its rules were written with data/labelled in view, so that those turns do not test it.
    SAW_LABELLED_TURNS: bool
    HAS_ENDPOINT: bool  # it answers any messages, so that it can grade by rubrics and give rewards
    HAS_PROBABILITIES: bool  # its verdicts have the probability of each label
    IS_ENGLISH_ONLY: bool  # its rules know only English: it has no rate in other languages

    def complete(self, entry: Entry, defaults: Entry) -> dict[str, Any]:
        """Return an entry with the `judge_defaults` that apply to this kind."""

    def check(self, where: str, entry: Entry, config: Config) -> None:
        """Check a complete entry for errors that the schema cannot express.

        Raises:
            ConfigError: the entry is wrong. `where` is its place in the configuration.
        """

    def identity(self, entry: Entry) -> dict[str, Any]:
        """Return the parts of a complete entry that shape a verdict, with files as hashes."""

    def price(self, entry: Entry, n_calls: float, n_tokens: float) -> tuple[float, float] | None:
        """Return the expected and the largest cost of calls that together read `n_tokens` tokens.

        Zeros mean free. None means that the entry has no price.
        """

    def verdicts(
        self, judge: "Judge", cell: "CellToJudge", n_at_once: int
    ) -> Iterator[tuple["CellToJudge", list[Verdict]]]:
        """Yield the parts of a cell with a verdict on each turn, asking for missing verdicts.

        Raises:
            UserError: the judge cannot continue. Its decisions are kept.
        """

    def recorded_verdicts(
        self,
        judge: "Judge",
        identity: Mapping[str, Any],
        texts: Mapping[str, str],
        cell: "CellToJudge",
    ) -> list[Verdict]:
        """Return the verdicts on a finished cell without sending any request.

        `identity` is the judge's identity in the study's record. `texts` has the texts of rubrics
        and prompts, by their paths in the judge's entry.
        """

    def judge_turns(self, judge: "Judge", turns: Sequence[UserTurn], paid_by: str) -> list[Verdict]:
        """Return a verdict on each turn, without reading or writing a journal.

        `paid_by` is the name under which the judge's account counts the requests.

        Raises:
            UserError: the judge cannot be asked at all.
        """


def kind_of(entry: Entry) -> JudgeKind:
    """Return the kind of a judge's entry, or raise UserError if there is no such kind."""
    name = entry["kind"]
    try:
        kind: Any = import_module(f"userturn.judges.{name}")
    except ModuleNotFoundError:
        kind = None
    if not isinstance(kind, JudgeKind):
        raise UserError(
            f"'{name}' is not a kind of judge; expected a module of that name in userturn/judges "
            "with the members that judges/kinds.py lists"
        )
    return kind


def about(entry: Entry) -> str:
    """Return what a judge's kind does, from the first line of its module."""
    summary = (kind_of(entry).__doc__ or "").partition("\n")[0]
    return summary.partition("`: ")[2].rstrip(".")


def complete_judges(config: Config) -> dict[str, dict[str, Any]]:
    """Return the complete entries of all judges of a configuration, by name."""
    defaults = config["judge_defaults"]
    return {
        name: kind_of(entry).complete(entry, defaults) for name, entry in config["judges"].items()
    }


def judge_identity(entry: Entry) -> dict[str, Any]:
    """Return the parts of a judge's complete entry that shape its verdicts."""
    return kind_of(entry).identity(entry)


def format_of(judge: "Judge") -> "ReplyFormat":
    """Return the prompt and endpoint of a judge, and the function that reads its replies.

    Only a kind that asks a model over HTTP has a `reply_format`, so that a job can serve the model.
    """
    kind: Any = kind_of(judge.settings)
    asked: ReplyFormat = kind.reply_format(judge)
    return asked


def verdicts(
    judge: "Judge", cell: "CellToJudge", n_at_once: int
) -> Iterator[tuple["CellToJudge", list[Verdict]]]:
    """Yield the parts of a cell with their verdicts, asking for those that the journal lacks."""
    from userturn.judges.endpoint_verdicts import endpoint_verdicts

    return endpoint_verdicts(judge, format_of(judge), cell, n_at_once)


def judge_turns(judge: "Judge", turns: Sequence[UserTurn], paid_by: str) -> list[Verdict]:
    """Return a verdict on each turn, asked for without a journal."""
    from userturn.judges.endpoint_verdicts import ask_about_turns

    return ask_about_turns(judge, format_of(judge), turns, paid_by)

"""What every kind of judge has: `kind: x` in a judge's entry is the module `judges/x.py`.

A kind is imported by its name when an entry asks for it. Snakemake reads entries in every process
that it starts, so the top of a kind's module imports no heavy package: what asks or computes is
imported inside the functions that do it.
"""

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from userturn.config.entries import Config
from userturn.errors import UserError
from userturn.judges.verdict import UserTurn, Verdict

if TYPE_CHECKING:
    from userturn.judges.judge import CellToJudge, Judge

Entry = Mapping[str, Any]


@runtime_checkable
class JudgeKind(Protocol):
    """What the module of a kind has.

    Attributes:
        IS_DETERMINISTIC: its verdicts are computed from the turn alone, so the audit computes them
            again. The verdicts of other kinds are read from their journal.
        SAW_LABELLED_TURNS: its rules were written with data/labelled in view, so that those turns
            do not test it.
        HAS_ENDPOINT: it answers any messages, so that it can grade by rubrics and give rewards.
    """

    IS_DETERMINISTIC: bool
    SAW_LABELLED_TURNS: bool
    HAS_ENDPOINT: bool

    def complete(self, entry: Entry, defaults: Entry) -> dict[str, Any]:
        """Return an entry with what `judge_defaults` adds to this kind."""

    def check(self, where: str, entry: Entry, config: Config) -> None:
        """Refuse a complete entry that the schema lets pass and that cannot be followed.

        Raises:
            ConfigError: what is wrong; `where` is the entry's place in the configuration.
        """

    def identity(self, entry: Entry) -> dict[str, Any]:
        """Return what of a complete entry shapes a verdict, files by their content."""

    def price(self, entry: Entry, n_calls: float, n_tokens: float) -> tuple[float, float] | None:
        """Return about how much money calls cost that read so many tokens together, and the most.

        Zeros are free, None is a price that the entry does not say.
        """

    def verdicts(
        self, judge: "Judge", cell: "CellToJudge", n_at_once: int
    ) -> Iterator[tuple["CellToJudge", list[Verdict]]]:
        """Yield the parts of a cell with a verdict on each turn, asking for what is not known.

        Raises:
            UserError: the judge cannot continue; its decisions are kept.
        """

    def recorded_verdicts(
        self,
        judge: "Judge",
        identity: Mapping[str, Any],
        texts: Mapping[str, str],
        cell: "CellToJudge",
    ) -> list[Verdict]:
        """Return the verdicts on a finished cell without asking anybody.

        Args:
            judge: whose verdicts.
            identity: of the judge, as the study's record has it.
            texts: of rubrics and prompts, by their paths in the judge's entry.
            cell: of the finished study.
        """

    def judge_turns(self, judge: "Judge", turns: Sequence[UserTurn], paid_by: str) -> list[Verdict]:
        """Return a verdict on each turn; no journal is read or written.

        Args:
            judge: who is asked.
            turns: what is judged.
            paid_by: what the requests are counted for in the judge's account.

        Raises:
            UserError: the judge cannot be asked at all.
        """


def kind_of(entry: Entry) -> JudgeKind:
    """Return the kind of a judge's entry.

    Raises:
        UserError: there is no such kind.
    """
    name = entry["kind"]
    try:
        found: Any = import_module(f"userturn.judges.{name}")
    except ModuleNotFoundError:
        found = None
    if not isinstance(found, JudgeKind):
        raise UserError(
            f"'{name}' is no kind of judge; expected a module of that name in userturn/judges that "
            "holds what judges/kinds.py lists"
        )
    return found


def complete_judges(config: Config) -> dict[str, dict[str, Any]]:
    """Return the complete entries of all judges of a configuration, by name."""
    defaults = config["judge_defaults"]
    return {
        name: kind_of(entry).complete(entry, defaults) for name, entry in config["judges"].items()
    }


def judge_identity(entry: Entry) -> dict[str, Any]:
    """Return what of a judge's complete entry shapes its verdicts."""
    return kind_of(entry).identity(entry)

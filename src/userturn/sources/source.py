"""What a source says of itself: the tables that its requests fill, and the turns that judges read.

A source is one module of this package with a `SOURCE`; `registry.py` finds it by that name.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from userturn.config.entries import Config
from userturn.sources.job import Job
from userturn.study.grid import Grid

ANSWERS, USER_TURNS, SCORES = "answers", "user turns", "scores"  # what requests ask for
STAGES = (ANSWERS, USER_TURNS, SCORES)
CHARACTERS_PER_TOKEN = 4
ITEMS = "results/datasets/{dataset}.parquet"


class Load(NamedTuple):
    """How much is asked, at most.

    Attributes:
        n: number of requests.
        n_read: tokens of all prompts together.
        n_written: tokens of all replies together.
    """

    n: int = 0
    n_read: float = 0
    n_written: int = 0

    def __add__(self, other: object) -> "Load":
        """Return both together."""
        if not isinstance(other, Load):
            return NotImplemented
        n_read, n_written = self.n_read + other.n_read, self.n_written + other.n_written
        return Load(self.n + other.n, n_read, n_written)


@dataclass(frozen=True)
class Size:
    """Size of a dataset.

    Attributes:
        n_items: number of items.
        n_tokens: tokens of an item, about.
        is_counted: False for an assumption.
        n_references: items with an answer of their own that a person replied to.
        n_follow_ups: reference follow-ups.
        n_follow_up_tokens: tokens of a follow-up with its conversation, about.
    """

    n_items: int
    n_tokens: float
    is_counted: bool
    n_references: int = 0
    n_follow_ups: int = 0
    n_follow_up_tokens: float = 0


Sizes = Mapping[str, Size]
Count = Callable[[Sizes], Load]


@dataclass(frozen=True)
class Asked:
    """A table that a model's sweeps fill.

    Attributes:
        path: path of its file, from `results/` on.
        model: name.
        dataset: name.
        identity: hash of everything that shapes it.
        kind: one of `STAGES`.
        count: its requests, by the sizes of datasets: those that no table before it has.
        after: paths of the tables whose replies its prompts are made of, the nearest last.
        drawn: sampling settings without what ends a turn; empty for scores.
        n_samples: rows of each item; a turn after one of several answers has that one's number.
        cell: temperature and perturbation, as columns of user turns.
        depth: that of self-play.
        goes_on_from: path of the user turns whose conversations it goes on with; empty where it
            begins with the items of the dataset.
        grades: path of the grades of answers; empty where they have none.
    """

    path: str
    model: str
    dataset: str
    identity: str
    kind: str
    count: Count = field(repr=False, compare=False)
    after: tuple[str, ...] = ()
    drawn: Mapping[str, Any] = field(default_factory=dict)
    n_samples: int = 1
    cell: Mapping[str, str | float] = field(default_factory=dict)
    depth: int = 1
    goes_on_from: str = ""
    grades: str = ""

    @property
    def name(self) -> str:
        """Name of its file, without the ending."""
        return self.path.rpartition("/")[2].partition(".")[0]

    @property
    def folder(self) -> str:
        """Its folder below the results."""
        return self.path.removeprefix("results/").rpartition("/")[0]

    @property
    def stands_after(self) -> str:
        """Path of the answers that user turns directly stand after; empty for other tables."""
        return self.after[-1] if self.kind == USER_TURNS else ""


@dataclass(frozen=True)
class Turns:
    """A table of user turns that judges read, `user_turns.parquet` in a folder.

    Attributes:
        folder: below the results; verdicts are in its folder `verdicts`.
        model: name, or what stands for it.
        dataset: name.
        identity: hash of everything that shapes the turns.
        items: path of the conversations before them, from `results/` on.
        count: the questions to one judge, by the sizes of datasets.
        made_of: paths of other files of the study that the turns are made of.
    """

    folder: str
    model: str
    dataset: str
    identity: str
    items: str
    count: Count = field(repr=False, compare=False)
    made_of: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        """Path of the table, from `results/` on."""
        return f"results/{self.folder}/user_turns.parquet"

    def verdicts(self, judge: str) -> str:
        """Return the path of a judge's verdicts on these turns, from `results/` on."""
        return f"results/{self.folder}/verdicts/{judge}.parquet"


@dataclass(frozen=True)
class JudgeRule:
    """The rule by which judges read turns of a source, with the wildcards of its paths.

    Attributes:
        name: of the rule.
        folder: of the turns, below the results.
        items: path of the conversations before them.
    """

    name: str
    folder: str
    items: str = ITEMS

    @property
    def user_turns(self) -> str:
        """Path of the turns, with wildcards."""
        return f"results/{self.folder}/user_turns.parquet"

    @property
    def verdicts(self) -> str:
        """Path of a judge's verdicts, with wildcards."""
        return f"results/{self.folder}/verdicts/{{judge}}.parquet"

    @property
    def log(self) -> str:
        """Path of the log of the job, with wildcards."""
        place = self.folder.partition("/")[2]  # nothing of a folder without wildcards
        return "/".join(filter(None, ("logs", self.name, place, "{judge}.log")))


def _nothing(grid: Grid) -> Iterable[Any]:
    return ()


def _no_fault(config: Config) -> None:
    pass


def _nothing_beside(grid: Grid) -> Mapping[str, str]:
    return {}


@dataclass(frozen=True)
class Source:
    """A kind of request, of judged user turn, or both.

    Functions that only a job needs have their dotted name here, since this is read whenever
    Snakemake starts.

    Attributes:
        asked: returns the tables that sweeps fill.
        judged: returns the tables of user turns that judges read.
        judge_rule: how judges read them; None if they do not.
        beside: returns the identity of each further file that follows from its tables, by path.
        jobs: the rules that make its files, by name.
        wildcards: regular expressions of wildcards that no other source has.
        inputs: returns the paths of what analyses are made of, by the names that these use.
        turns_to_score: what yields the turns of a table of scores, by the name of its file: takes
            the grid, the table and a shard.
        check: refuses a configuration of it that cannot be run.
    """

    asked: Callable[[Grid], Iterable[Asked]] = _nothing
    judged: Callable[[Grid], Iterable[Turns]] = _nothing
    judge_rule: JudgeRule | None = None
    beside: Callable[[Grid], Mapping[str, str]] = _nothing_beside
    jobs: Mapping[str, Job] = field(default_factory=dict)
    wildcards: Mapping[str, str] = field(default_factory=dict)
    inputs: Mapping[str, Callable[[Grid], list[str]]] = field(default_factory=dict)
    turns_to_score: Mapping[str, str] = field(default_factory=dict)
    check: Callable[[Config], None] = _no_fault


def operator_of(grid: Grid, turns: Asked) -> Mapping[str, Any]:
    """Return the settings of the operator that changes the answers before user turns."""
    perturbation = str(turns.cell["perturbation"])
    return grid.contents.perturbations.get(perturbation, {"operator": perturbation})


def every_verdict(grid: Grid, tables: Iterable[Turns]) -> list[str]:
    """Return the paths of the verdicts of every judge on some tables, grouped by table."""
    return [turns.verdicts(judge) for turns in tables for judge in grid.judges]


def items_of(tables: Iterable[Turns]) -> list[str]:
    """Return the paths of the conversations before the turns of some tables, sorted."""
    return sorted({turns.items for turns in tables})


def longest_exchange(grid: Grid, model: str) -> int:
    """Return the tokens of a model's longest answer with the longest user turn after it."""
    answer: int = grid.answer_settings(model)["max_tokens"]
    turn: int = grid.config["user_turn"]["max_tokens"]
    return answer + turn


def requests(n: int, n_read_each: float, n_written_each: int = 0) -> Load:
    """Return the load of a number of requests of one size."""
    return Load(n, n * n_read_each, n * n_written_each)

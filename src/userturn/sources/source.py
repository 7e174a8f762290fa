"""What a source says of itself: tables that its requests fill, turns that judges read, and jobs.

A source is one module of this package with a `SOURCE`, by which `registry.py` finds it.
Functions of jobs are named, and imported in the job that calls them: this is read whenever
Snakemake starts.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from types import MappingProxyType
from typing import Any, NamedTuple

from userturn.config.entries import Config
from userturn.study.grid import Grid

Paths = Mapping[str, str | list[str]]
NOTHING: Mapping[str, str] = MappingProxyType({})


class Job(NamedTuple):
    """What the jobs of a rule do.

    A text that begins with `study.` names an attribute of `Study`: a value, or a method that
    returns one for the job's wildcards (`function_of_wildcards`).

    Attributes:
        does: the rule in one sentence.
        function: dotted name below `userturn` of the function that `run_job` calls.
        inputs: by name, a path with wildcards or a `study.` text.
        outputs: by name, a path with wildcards, or several. Without any, the rule is written out
            in rules/*.smk, because of its resources.
        params: by name, a `study.` text. If its value changes, the outputs are made again.
        settings: by name, the dotted configuration key of a further argument of the function.
        environment: the name of its file in envs/.
        n_threads: cores.
        n_requests: a `study.` text for the number of questions to a judge that are in flight.
        wildcards: regular expressions of wildcards that are narrower here than elsewhere.
    """

    does: str
    function: str
    inputs: Paths = NOTHING
    outputs: Paths = NOTHING
    params: Mapping[str, str] = NOTHING
    settings: Mapping[str, str] = NOTHING
    environment: str = "analysis"
    n_threads: int = 1
    n_requests: str = ""
    wildcards: Mapping[str, str] = NOTHING

    def log(self, rule: str) -> str:
        """Return the path of a rule's log, from the parts of its first output with wildcards."""
        first = next(iter(self.outputs.values()))
        path = first if isinstance(first, str) else first[0]
        named = [part for part in path.split("/") if "{" in part]
        return re.sub(r"\.\w+$", "", "/".join(["logs", rule, *named])) + ".log"


def identity(asked: str) -> dict[str, str]:
    """Return the params of a job whose outputs carry an identity, given its name in `Study`."""
    return {"identity": f"study.{asked}"}


def collecting(does: str, path: str, **params: str) -> Job:
    """Return the job that makes the tables of one path pattern from the journal.

    Further params are there for studies that were finished with them. Without these, Snakemake
    would make their tables again.
    """
    return Job(
        does,
        "generation.collect.collect_table",
        {"sweeps": f"study.generation.waits_for({path})"},
        {"path_to_table": path},
        identity(f"identity({path})") | params,
    )


def named(name: str) -> Any:
    """Import and return the object with a dotted name below `userturn`."""
    module, _, attribute = name.rpartition(".")
    return getattr(import_module(f"userturn.{module}"), attribute)


ANSWERS, USER_TURNS, SCORES = "answers", "user turns", "scores"  # what requests ask for
STAGES = (ANSWERS, USER_TURNS, SCORES)
CHARACTERS_PER_TOKEN = 4
ITEMS = "results/datasets/{dataset}.parquet"


class Load(NamedTuple):
    """The most that is asked, in requests, prompt tokens and reply tokens."""

    n: int = 0
    n_read: float = 0
    n_written: int = 0

    def __add__(self, other: "Load") -> "Load":  # type: ignore[override]
        """Return the sum of two loads."""
        n_read, n_written = self.n_read + other.n_read, self.n_written + other.n_written
        return Load(self.n + other.n, n_read, n_written)


@dataclass(frozen=True)
class Size:
    """Size of a dataset.

    Attributes:
        n_items: number of items.
        n_tokens: approximate number of tokens per item.
        is_counted: whether the sizes were counted, not assumed.
        n_references: items with an answer of their own that a person replied to.
        n_follow_ups: reference follow-ups.
        n_follow_up_tokens: approximate number of tokens per follow-up, with its conversation.
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
        path: of its file, from `results/` on.
        identity: hash of everything that shapes it.
        kind: one of `STAGES`.
        count: returns the load of the requests that no table before it has, given dataset sizes.
        after: paths of the tables whose replies its prompts are made of, the nearest last.
        sampling: sampling settings without the stops of a turn, empty for scores.
        n_samples: rows per item. A turn after one of several answers has that answer's number.
        cell: temperature and perturbation, as columns of user turns.
        depth: that of self-play.
        goes_on_from: path of the user turns whose conversations it continues, empty if it begins
            with the items of the dataset.
        grades: path of the grades of answers, empty if they have none.
    """

    path: str
    model: str
    dataset: str
    identity: str
    kind: str
    count: Count = field(repr=False, compare=False)
    after: tuple[str, ...] = ()
    sampling: Mapping[str, Any] = field(default_factory=dict)
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
        """Path of the answers directly before user turns, empty for other tables."""
        return self.after[-1] if self.kind == USER_TURNS else ""


@dataclass(frozen=True)
class Turns:
    """A table of user turns that judges read, `user_turns.parquet` in a folder.

    Attributes:
        folder: path below the results, whose folder `verdicts` has the verdicts.
        model: name of the model, or of another author of the turns.
        identity: hash of everything that shapes the turns.
        items: path of the conversations before them, from `results/` on.
        count: returns the load of the questions to one judge, given dataset sizes.
        input_paths: paths of other files of the study that the turns are made of.
    """

    folder: str
    model: str
    dataset: str
    identity: str
    items: str
    count: Count = field(repr=False, compare=False)
    input_paths: tuple[str, ...] = ()

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
        name: name of the rule.
        folder: folder of the turns, below the results.
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
        wildcards = self.folder.partition("/")[2]  # nothing of a folder without wildcards
        return "/".join(filter(None, ("logs", self.name, wildcards, "{judge}.log")))


@dataclass(frozen=True)
class Source:
    """A kind of request, of judged user turn, or both.

    Attributes:
        asked: returns the tables that sweeps fill.
        judged: returns the tables of user turns that judges read.
        judge_rules: how judges read them.
        beside: returns the identity of each further file that follows from its tables, by path.
        jobs: the rules that make its files, by name.
        wildcards: regular expressions of wildcards that no other source has.
        inputs: functions that return the input paths of analyses, by the name of the input.
        turns_to_score: by the file name of a table of scores, the dotted name of the function that
            yields its turns, given the grid, the table and a shard.
        check: refuses a configuration of it that cannot be run.
    """

    asked: Callable[[Grid], Iterable[Asked]] = lambda grid: ()
    judged: Callable[[Grid], Iterable[Turns]] = lambda grid: ()
    judge_rules: tuple[JudgeRule, ...] = ()
    beside: Callable[[Grid], Mapping[str, str]] = lambda grid: {}
    jobs: Mapping[str, Job] = field(default_factory=dict)
    wildcards: Mapping[str, str] = field(default_factory=dict)
    inputs: Mapping[str, Callable[[Grid], list[str]]] = field(default_factory=dict)
    turns_to_score: Mapping[str, str] = field(default_factory=dict)
    check: Callable[[Config], None] = lambda config: None


def operator_of(grid: Grid, turns: Asked) -> Mapping[str, Any]:
    """Return the settings of the operator that changes the answers before user turns."""
    perturbation = str(turns.cell["perturbation"])
    return grid.contents.perturbations.get(perturbation, {"operator": perturbation})


def turns_of(
    of: Asked, items: str = "", input_paths: tuple[str, ...] = (), count: Count | None = None
) -> Turns:
    """Return the user turns of a table that sweeps fill, for judges to read.

    Args:
        of: the table.
        items: path of the conversations before them, by default the dataset's items.
        input_paths: paths of other files of the study that the turns are made of.
        count: returns the load of one judge's questions, by default one per request.
    """
    items, count = items or ITEMS.format(dataset=of.dataset), count or partial(_questions, of)
    return Turns(of.folder, of.model, of.dataset, of.identity, items, count, input_paths)


def _questions(of: Asked, sizes: Sizes) -> Load:
    n_questions = of.count(sizes)
    return Load(n_questions.n, n_questions.n_read + n_questions.n_written)


def every_verdict(grid: Grid, tables: Iterable[Turns]) -> list[str]:
    """Return the paths of the verdicts of every judge on some tables, grouped by table."""
    return [turns.verdicts(judge) for turns in tables for judge in grid.judges]


def items_of(tables: Iterable[Turns]) -> list[str]:
    """Return the sorted paths of the conversations before the turns of some tables."""
    return sorted({turns.items for turns in tables})


def longest_exchange(grid: Grid, model: str) -> int:
    """Return the most tokens that a model's answer and the user turn after it can have."""
    answer: int = grid.answer_settings(model)["max_tokens"]
    turn: int = grid.config["user_turn"]["max_tokens"]
    return answer + turn


def requests(n: int, n_read_each: float, n_written_each: int = 0) -> Load:
    """Return the load of `n` requests, of which each reads and writes the given tokens."""
    return Load(n, n * n_read_each, n * n_written_each)

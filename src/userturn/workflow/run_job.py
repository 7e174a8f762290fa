"""The values of texts in the table of jobs, and the call of a job's function.

The name of a parameter of that function decides its argument:

- the path of the input or output of that name, or a list of paths if the name begins with `paths`
- `inputs` and `outputs`: all of them, as lists of paths by name (`**` takes all other inputs)
- a param of the rule, or a setting that the table names
- a name in `ARGUMENTS`, for every job: the study's `grid`, the job's `cell`, its `judge`, ...
- the wildcard of that name (`round_name` for the wildcard `round`)
"""

import gc
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, reduce
from inspect import Parameter, signature
from operator import attrgetter
from types import MappingProxyType
from typing import Any, TypeVar

from userturn.sources.source import Job, Paths, named
from userturn.study.cells import Cell
from userturn.workflow.job_record import SWEEPS_AFTER_OTHERS, recorded
from userturn.workflow.jobs import JOBS, every_job

T = TypeVar("T")
STUDY = "study."
ANY_OTHER = Parameter.VAR_KEYWORD
INSTEAD = "correct the path that you asked for, or define and select what it names"


def function_of_wildcards(method: Callable[..., T]) -> Callable[[Any], T]:
    """Return a function of a job's wildcards that calls `method`.

    The parameter `cell` gets the cell that the wildcards name, `round_name` the wildcard `round`,
    and every other parameter the wildcard of its name. The function ends the program with one
    sentence if the study does not know a name in the path that was asked for.
    """
    names = [name.removesuffix("_name") for name in signature(method).parameters]

    def called(wildcards: Any) -> T:
        values = dict(wildcards.items())
        if "cell" in names:
            values["cell"] = Cell(*(values[name] for name in Cell._fields))
        arguments = [values[name] for name in names]
        try:
            return method(*arguments)
        except KeyError as error:
            if not _texts(error.args) <= _texts(arguments):
                raise
            asked = sorted(_texts(error.args))
            what = "of that name" if len(asked) == 1 else "with all of these names"
            # No UserError: Snakemake would put its own words and a traceback around it.
            sys.exit(f"error: this study has nothing {what}: {', '.join(asked)}; {INSTEAD}")

    return called


def function_of_paths(method: Callable[..., T], *patterns: str) -> Callable[[Any], T]:
    """Return a function of a job's wildcards that calls `method` with paths.

    The paths are made from patterns, which begin with `results/` and have wildcards in braces. The
    function ends the program with one sentence if the study has no such file.
    """

    def called(wildcards: Any) -> T:
        paths = [pattern.format(**dict(wildcards.items())) for pattern in patterns]
        try:
            return method(*paths)
        except KeyError as error:
            if error.args[0] not in paths:
                raise
            sys.exit(f"error: this study has no '{error.args[0]}'; {INSTEAD}")

    return called


def value_of_text(study: Any, text: str) -> Any:
    """Return the value of a text in the table of jobs.

    It is the text itself unless that begins with `study.`. Then it is the study's attribute of that
    name, or for a method a function of a job's wildcards. A method that takes paths has their
    patterns in brackets after its name.
    """
    if not text.startswith(STUDY):
        return text
    name, _, paths = text.removeprefix(STUDY).removesuffix(")").partition("(")
    attribute = attrgetter(name)(study)
    if paths:
        return function_of_paths(attribute, *paths.split(", "))
    return function_of_wildcards(attribute) if callable(attribute) else attribute


def _texts(names: Any) -> set[str]:
    """Return all names in nested tuples and lists of names."""
    if isinstance(names, str):
        return {names}
    return set().union(*map(_texts, names)) if isinstance(names, tuple | list) else {repr(names)}


NO_WILDCARDS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class Task:
    """A job: its inputs and outputs, and the other possible arguments of its function by name."""

    rule: str
    wildcards: Mapping[str, str]
    inputs: Mapping[str, list[str]]
    outputs: Mapping[str, list[str]]
    params: Mapping[str, Any]  # of the rule
    config: Mapping[str, Any]  # Snakemake's, or a record's
    open_grid: Callable[[], Any]  # makes the study's `Grid`
    n_threads: int = 1
    n_requests: int = 0  # how many questions to a judge may be in flight
    is_again: bool = False  # a finished study's job, done with whatever the study has

    @property
    def job(self) -> Job:
        """The entry of the task's rule in the table of jobs."""
        return JOBS.get(self.rule) or every_job()[self.rule]

    @cached_property
    def grid(self) -> Any:
        """The study's `Grid`."""
        return self.open_grid()


def run_job(job: Any) -> None:
    """Run and record a job, given by the object `snakemake` of its script.

    Its script has turned the collection of garbage off, which finds none in modules.
    """
    with recorded(job):
        task = Task(
            job.rule,
            dict(job.wildcards.items()),
            _lists(job.input),
            _lists(job.output),
            dict(job.params.items()),
            job.config,
            lambda: named("study.grid.Grid")(job.config),
            job.threads,
            job.resources.get("judge_requests", 0),
        )
        named(task.job.function)
        gc.freeze()
        gc.enable()
        call(task)


def replayed(
    study: Any,
    rule: str,
    at: Callable[[str], str],
    to: Callable[[str], str],
    wildcards: Mapping[str, str] = NO_WILDCARDS,
) -> Task:
    """Return the task of a job of a finished `Study`, to be done again elsewhere.

    `at` returns where to read a path of the table of jobs, and `to` where to write it.
    """
    job = every_job()[rule]
    inputs, outputs = inputs_of(study, rule, wildcards), outputs_of(study, rule, wildcards)
    return Task(
        rule,
        wildcards,
        {name: [at(path) for path in paths] for name, paths in inputs.items()},
        {name: [to(path) for path in paths] for name, paths in outputs.items()},
        {name: _filled_value(study, text, wildcards) for name, text in job.params.items()},
        study.grid.config,
        lambda: study.grid,
        is_again=True,
    )


def inputs_of(
    study: Any, rule: str, wildcards: Mapping[str, str] = NO_WILDCARDS
) -> dict[str, list[str]]:
    """Return the paths of a job's inputs, by their names in the table of jobs."""
    return _paths(study, every_job()[rule].inputs, wildcards)


def outputs_of(
    study: Any, rule: str, wildcards: Mapping[str, str] = NO_WILDCARDS
) -> dict[str, list[str]]:
    """Return the paths of a job's outputs, by their names in the table of jobs."""
    return _paths(study, every_job()[rule].outputs, wildcards)


def identity_of(study: Any, rule: str, wildcards: Mapping[str, str] = NO_WILDCARDS) -> str:
    """Return the identity that a job's outputs carry."""
    return str(_filled_value(study, every_job()[rule].params["identity"], wildcards))


def _paths(study: Any, texts: Paths, wildcards: Mapping[str, str]) -> dict[str, list[str]]:
    all_paths: dict[str, list[str]] = {}
    for name, patterns in texts.items():
        values = [_filled_value(study, text, wildcards) for text in _list(patterns)]
        all_paths[name] = [path for paths in values for path in _list(paths)]
    return all_paths


def _filled_value(study: Any, text: str, wildcards: Mapping[str, str]) -> Any:
    value = value_of_text(study, text)
    if callable(value):
        return value(wildcards)
    return text.format(**wildcards) if value is text else value


def _list(paths: str | list[str]) -> list[str]:
    return [paths] if isinstance(paths, str) else list(paths)


def _lists(paths: Any) -> dict[str, list[str]]:
    return {name: _list(path) for name, path in paths.items()}


def call(task: Task) -> None:
    """Make the outputs of a job by calling its function."""
    function = named(task.job.function)
    parameters = signature(function).parameters
    arguments = {n: argument(task, n) for n, one in parameters.items() if one.kind is not ANY_OTHER}
    takes_more = any(parameter.kind is ANY_OTHER for parameter in parameters.values())
    function(**(dict(task.inputs) | arguments if takes_more else arguments))


def argument(task: Task, name: str) -> Any:
    """Return the argument for a parameter of a job's function.

    Raises:
        KeyError: the table of jobs does not define it.
    """
    paths = {**task.inputs, **task.outputs}
    if name in paths:
        return paths[name] if name.startswith("paths") else paths[name][0]
    if name in task.params:
        return task.params[name]
    if name in task.job.settings:
        return reduce(
            lambda entry, key: entry[key], task.job.settings[name].split("."), task.config
        )
    if name in ARGUMENTS:
        return ARGUMENTS[name](task)
    return task.wildcards[name.removesuffix("_name")]


def _tables(task: Task) -> list[Any]:
    """Return those outputs of a job that are tables filled by requests."""
    asked = named("sources.registry.asked")(task.grid)
    patterns = [path for paths in task.job.outputs.values() for path in _list(paths)]
    paths = [path.format(**task.wildcards) for path in patterns]
    return [asked[path] for path in paths if path in asked]


# Imports are given as names, since they take a tenth of a second and not every job needs them.
ARGUMENTS: dict[str, Callable[[Task], Any]] = {
    "inputs": lambda task: task.inputs,
    "outputs": lambda task: task.outputs,
    "config": lambda task: task.config,
    "grid": lambda task: task.grid,
    "settings": lambda task: task.grid.dataset_settings(task.wildcards["dataset"]),
    "cell": lambda task: named("study.cells.Cell")(**task.wildcards),
    "tables": _tables,
    "of": lambda task: _tables(task)[0],
    "judge": lambda task: named("study.judge.judge_of")(task.grid, task.wildcards["judge"]),
    "grader": lambda task: named("study.judge.rubric_judge")(task.grid, task.wildcards["dataset"]),
    "humans": lambda task: named("workflow.humans.HumanGrid")(task.grid),
    "pairs": lambda task: named("workflow.humans.PairGrid")(ARGUMENTS["humans"](task)),
    "recipe": lambda task: named("config.recipes.load_recipe")(
        task.grid.entries[task.wildcards["model"]]["recipe"]
    ),
    "n_threads": lambda task: task.n_threads,
    "n_processes": lambda task: task.n_threads,
    "n_at_once": lambda task: task.n_requests,
    "may_ask": lambda task: task.rule not in ("plan_again", "look_up_judge"),
    "after_others": lambda task: task.rule in SWEEPS_AFTER_OTHERS,
    "is_again": lambda task: task.is_again,
    "path_to_pins": lambda task: f"results/revisions/{task.wildcards['model']}.data.json",
}

"""Call the function of a job with what its parameters are named after.

A function of the table of jobs is given, by the name of a parameter:

- the input or output of its name, a list of paths if that begins with `paths`; `inputs` and
  `outputs`: all, as lists of paths by name; `**` takes the other inputs;
- a param of its rule, or a setting that the table names;
- what is known of every job, `KNOWN`: the study's `grid`, the job's `cell`, its `judge`, ...;
- a wildcard of its name, which `round_name` has for `round`.
"""

from collections.abc import Callable, ItemsView, Mapping
from dataclasses import dataclass
from functools import cached_property, reduce
from inspect import Parameter, signature
from types import MappingProxyType, SimpleNamespace
from typing import Any

from userturn.sources.job import Job, Paths, named
from userturn.workflow.job_record import SWEEPS_AFTER_OTHERS, recorded
from userturn.workflow.jobs import JOBS, every_job
from userturn.workflow.wildcards import said_of

NO_WILDCARDS: Mapping[str, str] = MappingProxyType({})


class _Wildcards(SimpleNamespace):
    """Wildcards as Snakemake gives them: attributes, and pairs of name and value."""

    def items(self) -> ItemsView[str, str]:
        """Return the pairs."""
        return vars(self).items()


@dataclass(frozen=True)
class Task:
    """One job.

    Attributes:
        rule: its rule.
        wildcards: their values by name.
        inputs: the paths to read, by name.
        outputs: the paths to write, by name.
        params: their values by name.
        config: the checked configuration.
        open_grid: returns the study's `Grid`.
        n_threads: cores.
        n_requests: how many questions to a judge may be in flight.
        is_again: whether a finished study's job is done again, with whatever the study has.
    """

    rule: str
    wildcards: Mapping[str, str]
    inputs: Mapping[str, list[str]]
    outputs: Mapping[str, list[str]]
    params: Mapping[str, Any]
    config: Mapping[str, Any]
    open_grid: Callable[[], Any]
    n_threads: int = 1
    n_requests: int = 0
    is_again: bool = False

    @property
    def job(self) -> Job:
        """The entry of its rule in the table of jobs."""
        return JOBS.get(self.rule) or every_job()[self.rule]

    @cached_property
    def grid(self) -> Any:
        """The study's `Grid`."""
        return self.open_grid()


def run_job(job: Any) -> None:
    """Run and record a job; `job` is the object `snakemake` of its script."""
    with recorded(job):
        call(
            Task(
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
        )


def replayed(
    study: Any,
    rule: str,
    at: Callable[[str], str],
    to: Callable[[str], str],
    wildcards: Mapping[str, str] = NO_WILDCARDS,
) -> Task:
    """Return a job of a finished study, to be done again elsewhere.

    Args:
        study: the `Study`.
        rule: the job's rule.
        at: says where to read a path of the table of jobs.
        to: says where to write one.
        wildcards: their values by name.
    """
    job = every_job()[rule]
    inputs, outputs = inputs_of(study, rule, wildcards), outputs_of(study, rule, wildcards)
    return Task(
        rule,
        wildcards,
        {name: [at(path) for path in paths] for name, paths in inputs.items()},
        {name: [to(path) for path in paths] for name, paths in outputs.items()},
        {name: _said(study, text, wildcards) for name, text in job.params.items()},
        study.grid.config,
        lambda: study.grid,
        is_again=True,
    )


def inputs_of(
    study: Any, rule: str, wildcards: Mapping[str, str] = NO_WILDCARDS
) -> dict[str, list[str]]:
    """Return the paths that a job is made from, by the names of the table of jobs."""
    return _paths(study, every_job()[rule].inputs, wildcards)


def outputs_of(
    study: Any, rule: str, wildcards: Mapping[str, str] = NO_WILDCARDS
) -> dict[str, list[str]]:
    """Return the paths that a job makes, by the names of the table of jobs."""
    return _paths(study, every_job()[rule].outputs, wildcards)


def identity_of(study: Any, rule: str, wildcards: Mapping[str, str] = NO_WILDCARDS) -> str:
    """Return the identity that a job's outputs carry."""
    return str(_said(study, every_job()[rule].params["identity"], wildcards))


def _paths(study: Any, texts: Paths, wildcards: Mapping[str, str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, given in texts.items():
        said = [_said(study, text, wildcards) for text in _list(given)]
        found[name] = [path for paths in said for path in _list(paths)]
    return found


def _said(study: Any, text: str, wildcards: Mapping[str, str]) -> Any:
    said = said_of(study, text)
    if callable(said):
        return said(_Wildcards(**wildcards))
    return text.format(**wildcards) if said is text else said


def _list(paths: str | list[str]) -> list[str]:
    return [paths] if isinstance(paths, str) else list(paths)


def _lists(paths: Any) -> dict[str, list[str]]:
    return {name: _list(path) for name, path in paths.items()}


def call(task: Task) -> None:
    """Make the outputs of a job."""
    function = named(task.job.function)
    known = signature(function).parameters
    takes_more = any(parameter.kind is Parameter.VAR_KEYWORD for parameter in known.values())
    named_ones = [n for n, one in known.items() if one.kind is not Parameter.VAR_KEYWORD]
    more = task.inputs if takes_more else {}
    function(**{**more, **{name: argument(task, name) for name in named_ones}})


def argument(task: Task, name: str) -> Any:
    """Return what the parameter of a job's function is given.

    Raises:
        KeyError: the table of jobs does not say what that is.
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
    if name in KNOWN:
        return KNOWN[name](task)
    return task.wildcards[name.removesuffix("_name")]


def _tables(task: Task) -> list[Any]:
    """Return those outputs of a job that requests fill (`sources.source.Asked`)."""
    asked = named("sources.registry.asked")(task.grid)
    patterns = [path for paths in task.job.outputs.values() for path in _list(paths)]
    paths = [path.format(**task.wildcards) for path in patterns]
    return [asked[path] for path in paths if path in asked]


# What is imported is named, since it takes a tenth of a second and not every job needs it.
KNOWN: dict[str, Callable[[Task], Any]] = {
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
    "pairs": lambda task: named("workflow.humans.PairGrid")(KNOWN["humans"](task)),
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

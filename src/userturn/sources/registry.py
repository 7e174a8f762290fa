"""Every source of a study, found by its module: what sweeps are asked for, and what judges read."""

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache
from graphlib import TopologicalSorter
from importlib import import_module
from pathlib import Path

from userturn.config.check import check
from userturn.config.endpoint_models import check_endpoint_models
from userturn.config.entries import Config
from userturn.config.trained_models import check_trained
from userturn.errors import ConfigError, UserError
from userturn.judges.check_entries import check_judges
from userturn.models.fetch import check_source
from userturn.prompts.perturbations import check_perturbations
from userturn.sources.answers import grades_identity
from userturn.sources.source import SCORES, Asked, Job, JudgeRule, Source, Turns
from userturn.study.grid import Grid


@cache
def sources() -> dict[str, Source]:
    """Return every source, keyed and sorted by the name of its module."""
    names = sorted(path.stem for path in Path(__file__).parent.glob("[!_]*.py"))
    modules = {name: import_module(f"userturn.sources.{name}") for name in names}
    return {name: m.SOURCE for name, m in modules.items() if hasattr(m, "SOURCE")}


@lru_cache(maxsize=16)
def asked(grid: Grid) -> dict[str, Asked]:
    """Return every table that sweeps fill, keyed by its path from `results/` on."""
    return {of.path: of for source in sources().values() for of in source.asked(grid)}


@lru_cache(maxsize=16)
def judged(grid: Grid) -> dict[str, Turns]:
    """Return every table of user turns that judges read, keyed by its folder below the results."""
    return {of.folder: of for source in sources().values() for of in source.judged(grid)}


def asked_of(grid: Grid, model: str, pending: Iterable[str] | None = None) -> list[Asked]:
    """Return the tables that a model's sweeps fill, or only the tables of `pending` identities."""
    mine = [of for of in asked(grid).values() if of.model == model]
    identities = None if pending is None else set(pending)
    return [of for of in mine if identities is None or of.identity in identities]


def follows_others(grid: Grid, of: Asked) -> bool:
    """Return whether the prompts of a table are made of another model's replies.

    A sweep of its own asks for these, after the sweeps of the other models.
    """
    tables = asked(grid)
    return any(tables[path].model != of.model for path in of.after)


def stages(tables: Sequence[Asked]) -> list[list[Asked]]:
    """Return tables in the order in which they can be asked for: each stage after those before it.

    A table follows those whose replies its prompts are made of.
    """
    by_path = {of.path: of for of in tables}
    order = TopologicalSorter({of.path: set(of.after) & by_path.keys() for of in tables})
    order.prepare()
    ordered = []
    while order.is_active():
        ready = set(order.get_ready())
        ordered.append([of for path, of in by_path.items() if path in ready])
        order.done(*ready)
    return ordered


def source_jobs() -> dict[str, Job]:
    """Return the jobs that make the files of sources, by the name of the rule."""
    return {rule: job for source in sources().values() for rule, job in source.jobs.items()}


def source_inputs() -> dict[str, Callable[[Grid], list[str]]]:
    """Return the functions that list the input paths of analyses, by the name of the input."""
    return {name: of for source in sources().values() for name, of in source.inputs.items()}


def scored_inputs(grid: Grid) -> list[str]:
    """Return the names of the inputs of analyses that include a table of scores."""
    scores = {of.path for of in asked(grid).values() if of.kind == SCORES}
    return [name for name, of in source_inputs().items() if scores.intersection(of(grid))]


def judge_rules() -> list[JudgeRule]:
    """Return every rule by which judges read turns."""
    return [rule for source in sources().values() for rule in source.judge_rules]


def written_verdicts(results: Path, judge: str = "[!.]*") -> list[Path]:
    """Return the sorted paths of the verdicts of one judge, or of all, in a results folder.

    They include verdicts on models and datasets that are not selected now.
    """
    patterns = [re.sub(r"{\w+}", "*", rule.folder) for rule in judge_rules()]
    return sorted(
        path for of in patterns for path in results.glob(f"{of}/verdicts/{judge}.parquet")
    )


def verdicts_identity(grid: Grid, turns: Turns, judge: str) -> str:
    """Return the identity of a judge's verdicts on a table of user turns."""
    return grid.judged_identity(turns.identity, judge, turns.folder)


@lru_cache(maxsize=16)
def artifacts(grid: Grid) -> dict[str, str]:
    """Return the identity of every file of all sources, keyed by its path from `results/` on."""
    tables = asked(grid).values()
    identities = {of.path: of.identity for of in tables}
    identities |= {of.grades: grades_identity(grid, of) for of in tables if of.grades}
    for turns in judged(grid).values():
        identities[turns.path] = turns.identity
        for judge in grid.judges:
            identities[turns.verdicts(judge)] = verdicts_identity(grid, turns, judge)
    for source in sources().values():
        identities |= source.beside(grid)
    return identities


def check_study(config: Config) -> None:
    """Check that a configuration can be run.

    Raises:
        ConfigError: the first fault, in one sentence.
    """
    check(config)
    for source in sources().values():
        source.check(config)
    check_perturbations(config)
    check_judges(config)
    check_trained(config)
    check_endpoint_models(config)
    if "embedder" in config:
        try:
            check_source(config["embedder"]["source"])
        except UserError as error:
            raise ConfigError(f"embedder: {error}") from error

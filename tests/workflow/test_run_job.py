"""The table of jobs: functions are given what their parameters are named after, as are methods."""

import subprocess
import sys
from collections.abc import Callable, Mapping
from inspect import Parameter, signature
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from tests.support.snakemake_runs import ROOT
from userturn.storage.files import read_identity
from userturn.study.cells import Cell
from userturn.workflow.jobs import every_job
from userturn.workflow.run_job import ARGUMENTS, function_of_wildcards, named

CELL = Cell("m", "d", "0", "none")
ONE = {**CELL._asdict(), "judge": "j", "round": "first"}


def of_names(dataset: str, model: str) -> tuple[str, str]:
    return dataset, model


def of_a_cell(cell: Cell, judge: str) -> tuple[Cell, str]:
    return cell, judge


def of_a_round(round_name: str) -> str:
    return round_name


@pytest.mark.parametrize(
    ("method", "given"), [(of_names, ("d", "m")), (of_a_cell, (CELL, "j")), (of_a_round, "first")]
)
def test_parameters_are_the_wildcards_of_their_names_a_cell_and_a_round(
    method: Callable[..., Any], given: Any
) -> None:
    assert function_of_wildcards(method)(ONE) == given


def test_a_parameter_that_is_no_wildcard_is_an_error() -> None:
    def by_shard(shard: str) -> str:
        return shard

    with pytest.raises(KeyError, match="shard"):
        function_of_wildcards(by_shard)(ONE)


def test_a_path_that_names_what_the_study_has_not_is_told_so() -> None:
    def identity(cell: Cell, judge: str) -> str:
        return {(cell._replace(model="n"), judge): "found"}[cell, judge]

    with pytest.raises(
        SystemExit, match=r"^error: .* all of these names: 0, d, j, m, none; correct"
    ):
        function_of_wildcards(identity)(ONE)


def test_what_no_path_names_is_a_fault_of_the_code() -> None:
    def identity(model: str) -> str:
        return {model: {}}[model]["version"]

    with pytest.raises(KeyError, match="version"):
        function_of_wildcards(identity)(ONE)


JOBS = every_job()
WILDCARDS = {"model", "dataset", "temperature", "perturbation", "judge", "round", "turns", "shard"}
LITERAL = {name for name, job in JOBS.items() if not job.outputs}


def parameters(rule: str) -> Mapping[str, Parameter]:
    return signature(named(JOBS[rule].function)).parameters


@pytest.mark.parametrize("rule", sorted(JOBS.keys() - LITERAL))
def test_every_parameter_of_a_job_s_function_is_given(rule: str) -> None:
    job = JOBS[rule]
    needed = {n for n, one in parameters(rule).items() if one.kind is not Parameter.VAR_KEYWORD}
    wildcards = {f"{name}_name" for name in WILDCARDS} | WILDCARDS
    given = {*job.inputs, *job.outputs, *job.params, *job.settings, *ARGUMENTS, *wildcards}
    assert needed - given == set()


@pytest.mark.parametrize("rule", sorted(JOBS.keys() - LITERAL))
def test_no_file_of_a_job_is_named_like_a_parameter_that_its_function_lacks(rule: str) -> None:
    job = JOBS[rule]
    takes_more = any(one.kind is Parameter.VAR_KEYWORD for one in parameters(rule).values())
    paths = {name for name in chain(job.inputs, job.outputs) if "_to_" in name}
    assert takes_more or paths - parameters(rule).keys() == set()


def test_no_parameter_is_named_like_an_input_and_an_output() -> None:
    both = {rule: job.inputs.keys() & job.outputs.keys() for rule, job in JOBS.items()}
    given = {rule: names & parameters(rule).keys() for rule, names in both.items()}
    assert {rule for rule, names in given.items() if names} == set()


def test_a_log_is_named_after_what_tells_the_jobs_of_a_rule_apart() -> None:
    assert JOBS["judge_self_play"].log("judge_self_play") == (
        "logs/judge_self_play/{model}/{dataset}/t{temperature}/depth-{depth}/{judge}.log"
    )
    assert JOBS["take_human_turns"].log("take_human_turns") == "logs/take_human_turns/{dataset}.log"
    assert JOBS["analyse"].log("analyse") == "logs/analyse.log"


SCRIPT = f"""
import gc, runpy
from types import SimpleNamespace
from snakemake.iocontainers import Namedlist

read = {{"path_to_labelled": "{ROOT}/data/labelled/turns.jsonl"}}
made = {{"path_to_items": "results/items.parquet", "path_to_user_turns": "results/t.parquet"}}
job = SimpleNamespace(
    rule="take_labelled_turns",
    wildcards=Namedlist(),
    input=Namedlist(fromdict=read),
    output=Namedlist(fromdict=made),
    params=Namedlist(fromdict={{"identity": "i"}}),
    config={{}},
    threads=1,
    resources={{}},
    log=["logs/take_labelled_turns.log"],
)
runpy.run_path("{ROOT}/scripts/run_job.py", {{"snakemake": job}}, "__main__")
assert gc.isenabled() and gc.get_freeze_count()
"""


def test_garbage_is_collected_again_once_the_modules_of_a_job_are_loaded(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()  # Snakemake makes it
    subprocess.run([sys.executable, "-c", SCRIPT], cwd=tmp_path, check=True)
    assert read_identity(tmp_path / "results" / "items.parquet") == "i"

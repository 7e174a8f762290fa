"""The table of jobs: each function is given what its parameters are named after."""

from collections.abc import Mapping
from inspect import Parameter, signature
from itertools import chain

import pytest

from userturn.workflow.jobs import every_job
from userturn.workflow.run_job import KNOWN, named

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
    given = {*job.inputs, *job.outputs, *job.params, *job.settings, *KNOWN, *wildcards}
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

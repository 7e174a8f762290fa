"""The model writes its answers and user turns, and scores existing turns."""


rule sweep:
    """Load one model once and work through every pending request of it."""
    input:
        datasets=function_of_wildcards(study.generation.datasets),
        answered_first=function_of_wildcards(study.generation.answered_first),
        description="results/models/{model}.json",
    output:
        path_to_marker="results/sweeps/{model}/{shard}.json",
    log:
        "logs/sweep/{model}/{shard}.log",
    benchmark:
        "benchmarks/results/sweep/{model}/{shard}.tsv"
    conda:
        "../envs/generate.yaml"
    threads: study.generation.resources.threads
    resources:
        **study.generation.resources.functions(DEFAULTS),
    params:
        pending=function_of_wildcards(study.generation.to_finish),
    script:
        "../scripts/run_job.py"


use rule sweep as sweep_served with:
    wildcard_constraints:
        model=study.generation.served,  # a server has them: no GPU, no job of a cluster
    localrule: True
    threads: 1
    resources:
        mem_mb=2000,


use rule sweep as plan_again with:
    wildcard_constraints:
        model=study.generation.planned_again,  # nothing is asked: no GPU, no job of a cluster
    localrule: True
    threads: 1
    resources:
        mem_mb=2000,


ruleorder: sweep_served > plan_again > sweep


use rule sweep as sweep_after_others with:
    input:
        before=function_of_wildcards(study.generation.second_sweep_inputs),
        description="results/models/{model}.json",
    output:
        path_to_marker="results/sweeps/{model}/after_others/{shard}.json",
    log:
        "logs/sweep_after_others/{model}/{shard}.log",
    benchmark:
        "benchmarks/results/sweep_after_others/{model}/{shard}.tsv"
    params:
        pending=function_of_wildcards(study.generation.to_finish_after_others),


use rule sweep_after_others as sweep_after_others_served with:
    wildcard_constraints:
        model=study.generation.served,
    localrule: True
    threads: 1
    resources:
        mem_mb=2000,


ruleorder: sweep_after_others_served > sweep_after_others

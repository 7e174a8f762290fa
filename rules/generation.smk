"""The model writes its answers and user turns, and scores existing turns."""


rule sweep:
    """Load one model once and work through every pending request of it."""
    input:
        datasets=by_wildcards(study.generation.datasets),
        description="results/models/{model}.json",
    output:
        marker="results/sweeps/{model}/{shard}.json",
    log:
        "logs/sweep/{model}/{shard}.log",
    benchmark:
        "benchmarks/results/sweep/{model}/{shard}.tsv"
    conda:
        "../envs/generate.yaml"
    threads: study.generation.resources.threads
    resources:
        **study.generation.resources.of_job(),
    params:
        pending=by_wildcards(study.generation.to_finish),
    script:
        "../scripts/sweep.py"


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


rule collect_answers:
    """Collect a model's answers to one dataset from the journal."""
    input:
        by_wildcards(study.generation.markers_of_answers),
    output:
        answers="results/answers/{model}/{dataset}.parquet",
    log:
        "logs/collect_answers/{model}/{dataset}.log",
    localrule: True
    conda:
        "../envs/analysis.yaml"
    params:
        identity=by_wildcards(study.grid.answers_identity),
    script:
        "../scripts/collect_answers.py"


rule collect_user_turns:
    """Collect one cell's user turns from the journal."""
    input:
        by_wildcards(study.generation.markers_of_cell),
    output:
        user_turns="results/cells/{model}/{dataset}/t{temperature}/{perturbation}/user_turns.parquet",
    log:
        "logs/collect_user_turns/{model}/{dataset}/t{temperature}/{perturbation}.log",
    localrule: True
    conda:
        "../envs/analysis.yaml"
    params:
        identity=by_wildcards(study.grid.cell_identity),
    script:
        "../scripts/collect_user_turns.py"


rule collect_scores:
    """Collect a model's scores of reference follow-ups, or of its own turns, from the journal."""
    input:
        by_wildcards(study.generation.markers_of_scores),
    output:
        scores="results/likelihood/{model}/{dataset}/{turns}.parquet",
    log:
        "logs/collect_scores/{model}/{dataset}/{turns}.log",
    localrule: True
    conda:
        "../envs/analysis.yaml"
    params:
        identity=by_wildcards(study.generation.scores_identity),
    script:
        "../scripts/collect_scores.py"

"""The model writes its answers, which are graded, and user turns, and scores existing turns."""


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
        by_path(study.generation.waits_for, "results/answers/{model}/{dataset}.parquet"),
    output:
        answers="results/answers/{model}/{dataset}.parquet",
    log:
        "logs/collect_answers/{model}/{dataset}.log",
    localrule: True
    conda:
        "../envs/analysis.yaml"
    params:
        identity=by_path(study.identity, "results/answers/{model}/{dataset}.parquet"),
    script:
        "../scripts/collect_answers.py"


rule collect_user_turns:
    """Collect one cell's user turns from the journal."""
    input:
        by_path(
            study.generation.waits_for,
            "results/cells/{model}/{dataset}/t{temperature}/{perturbation}/user_turns.parquet",
        ),
    output:
        user_turns="results/cells/{model}/{dataset}/t{temperature}/{perturbation}/user_turns.parquet",
    log:
        "logs/collect_user_turns/{model}/{dataset}/t{temperature}/{perturbation}.log",
    localrule: True
    conda:
        "../envs/analysis.yaml"
    params:
        identity=by_path(
            study.identity,
            "results/cells/{model}/{dataset}/t{temperature}/{perturbation}/user_turns.parquet",
        ),
    script:
        "../scripts/collect_user_turns.py"


rule collect_scores:
    """Collect a model's scores of reference follow-ups, or of its own turns, from the journal."""
    input:
        by_path(
            study.generation.waits_for,
            "results/likelihood/{model}/{dataset}/{turns}.parquet",
        ),
    output:
        scores="results/likelihood/{model}/{dataset}/{turns}.parquet",
    log:
        "logs/collect_scores/{model}/{dataset}/{turns}.log",
    localrule: True
    conda:
        "../envs/analysis.yaml"
    params:
        identity=by_path(
            study.identity, "results/likelihood/{model}/{dataset}/{turns}.parquet"
        ),
    script:
        "../scripts/collect_scores.py"


rule grade:
    """Grade a model's answers to one dataset with the dataset's verifier."""
    input:
        answers="results/answers/{model}/{dataset}.parquet",
        dataset="results/datasets/{dataset}.parquet",
    output:
        grades="results/grades/{model}/{dataset}.parquet",
    log:
        "logs/grade/{model}/{dataset}.log",
    localrule: True
    conda:
        "../envs/analysis.yaml"
    threads: 2
    resources:
        judge_requests=by_wildcards(study.data.n_gradings_at_once),
    params:
        verifier=by_wildcards(study.data.verifier),
        identity=by_path(study.identity, "results/grades/{model}/{dataset}.parquet"),
    script:
        "../scripts/grade.py"

"""Several answers of each item: what tells the right ones?"""


rule collect_candidates:
    """Collect the candidates of a model and dataset from the journal."""
    input:
        by_path(
            study.generation.waits_for,
            "results/candidates/{model}/{dataset}/answers.parquet",
        ),
    output:
        candidates="results/candidates/{model}/{dataset}/answers.parquet",
    log:
        "logs/collect_candidates/{model}/{dataset}.log",
    localrule: True
    conda:
        "../envs/analysis.yaml"
    params:
        table="answers",
        identity=by_path(
            study.identity, "results/candidates/{model}/{dataset}/answers.parquet"
        ),
    script:
        "../scripts/collect_candidates.py"


use rule collect_candidates as collect_candidate_turns with:
    input:
        by_path(
            study.generation.waits_for,
            "results/candidates/{model}/{dataset}/user_turns.parquet",
        ),
    output:
        candidates="results/candidates/{model}/{dataset}/user_turns.parquet",
    log:
        "logs/collect_candidate_turns/{model}/{dataset}.log",
    localrule: True  # not inherited
    params:
        table="user_turns",
        identity=by_path(
            study.identity, "results/candidates/{model}/{dataset}/user_turns.parquet"
        ),


use rule grade as grade_candidates with:
    input:
        answers="results/candidates/{model}/{dataset}/answers.parquet",
        dataset="results/datasets/{dataset}.parquet",
    output:
        grades="results/candidates/{model}/{dataset}/grades.parquet",
    log:
        "logs/grade_candidates/{model}/{dataset}.log",
    localrule: True  # not inherited
    params:
        verifier=by_wildcards(study.data.verifier),
        identity=by_path(
            study.identity, "results/candidates/{model}/{dataset}/grades.parquet"
        ),

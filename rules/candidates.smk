"""Several answers of each item: what tells the right ones?"""


rule collect_candidates:
    """Collect the candidates of a model and dataset from the journal."""
    input:
        by_wildcards(study.generation.markers_of_candidates),
    output:
        candidates="results/candidates/{model}/{dataset}/answers.parquet",
    log:
        "logs/collect_candidates/{model}/{dataset}.log",
    localrule: True
    conda:
        "../envs/analysis.yaml"
    params:
        table="answers",
        identity=by_wildcards(study.candidates.answers_identity),
    script:
        "../scripts/collect_candidates.py"


use rule collect_candidates as collect_candidate_turns with:
    input:
        by_wildcards(study.generation.markers_of_candidate_turns),
    output:
        candidates="results/candidates/{model}/{dataset}/user_turns.parquet",
    log:
        "logs/collect_candidate_turns/{model}/{dataset}.log",
    localrule: True  # not inherited
    params:
        table="user_turns",
        identity=by_wildcards(study.candidates.turns_identity),


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
        verifier=by_wildcards(study.grading.verifier),
        identity=by_wildcards(study.candidates.grades_identity),


use rule judge as judge_candidates with:
    input:
        by_wildcards(study.judges.marker_of_candidates),
        user_turns="results/candidates/{model}/{dataset}/user_turns.parquet",
        dataset="results/datasets/{dataset}.parquet",
    output:
        verdicts="results/candidates/{model}/{dataset}/verdicts/{judge}.parquet",
    log:
        "logs/judge_candidates/{model}/{dataset}/{judge}.log",
    localrule: True  # not inherited
    params:
        identity=by_wildcards(study.candidates.identity_of),

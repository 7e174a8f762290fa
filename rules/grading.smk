"""Were the answers right?"""


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
        judge_requests=by_wildcards(study.grading.n_at_once),
    params:
        verifier=by_wildcards(study.grading.verifier),
        identity=by_wildcards(study.grading.identity_of),
    script:
        "../scripts/grade.py"

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
        judge_requests=study.judges.n_at_once_to_grade,
    params:
        verifier=study.verifier,
        identity=study.grades_identity,
    script:
        "../scripts/grade.py"

"""Were the answers right, and are the user turns genuine?"""


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
    params:
        verifier=study.verifier,
        identity=study.grades_identity,
    script:
        "../scripts/grade.py"


rule judge:
    """Have one judge label every user turn of one cell."""
    input:
        user_turns="results/cells/{model}/{dataset}/t{temperature}/{perturbation}/user_turns.parquet",
        dataset="results/datasets/{dataset}.parquet",
    output:
        verdicts="results/cells/{model}/{dataset}/t{temperature}/{perturbation}/verdicts/{judge}.parquet",
    log:
        "logs/judge/{model}/{dataset}/t{temperature}/{perturbation}/{judge}.log",
    localrule: True
    conda:
        "../envs/judge.yaml"
    params:
        identity=study.verdicts_identity,
    script:
        "../scripts/judge.py"

"""Are the user turns genuine?"""


rule judge:
    """Have one judge label every user turn of one cell."""
    input:
        by_wildcards(study.judges.marker_of_cell),
        user_turns="results/cells/{model}/{dataset}/t{temperature}/{perturbation}/user_turns.parquet",
        dataset="results/datasets/{dataset}.parquet",
    output:
        verdicts="results/cells/{model}/{dataset}/t{temperature}/{perturbation}/verdicts/{judge}.parquet",
    log:
        "logs/judge/{model}/{dataset}/t{temperature}/{perturbation}/{judge}.log",
    localrule: True
    conda:
        "../envs/judge.yaml"
    resources:
        judge_requests=by_wildcards(study.judges.n_at_once),
    params:
        identity=by_wildcards(study.grid.verdicts_identity),
    script:
        "../scripts/judge.py"


rule serve_judge:
    """Serve a judge's model once and work through every pending cell of it."""
    input:
        user_turns=by_wildcards(study.judges.pending_turns),
        datasets=by_wildcards(study.judges.pending_datasets),
    output:
        marker="results/judging/{judge}.json",
    log:
        "logs/serve_judge/{judge}.log",
    benchmark:
        "benchmarks/results/serve_judge/{judge}.tsv"
    conda:
        "../envs/generate.yaml"
    threads: study.judges.resources.threads
    resources:
        **study.judges.resources.of_job(),
    params:
        pending=by_wildcards(study.judges.pending_identities),
    script:
        "../scripts/serve_judge.py"


rule batch_judge:
    """Ask a judge about every pending cell of it, in batches that the cells share."""
    input:
        user_turns=by_wildcards(study.judges.pending_turns),
        datasets=by_wildcards(study.judges.pending_datasets),
    output:
        marker="results/judging/batches/{judge}.json",
    log:
        "logs/batch_judge/{judge}.log",
    localrule: True
    conda:
        "../envs/judge.yaml"
    params:
        pending=by_wildcards(study.judges.pending_identities),
    script:
        "../scripts/batch_judge.py"

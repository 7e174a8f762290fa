"""Are the user turns genuine?"""


rule serve_judge:
    """Serve a judge's model once and work through every pending cell of it."""
    input:
        paths_to_user_turns=function_of_wildcards(study.judges.pending_turns),
        paths_to_items=function_of_wildcards(study.judges.pending_items),
    output:
        path_to_marker="results/judging/{judge}.json",
    log:
        "logs/serve_judge/{judge}.log",
    benchmark:
        "benchmarks/results/serve_judge/{judge}.tsv"
    conda:
        "../envs/generate.yaml"
    threads: study.judges.resources.threads
    resources:
        **study.judges.resources.functions(DEFAULTS),
    params:
        pending=function_of_wildcards(study.judges.pending_identities),
    script:
        "../scripts/run_job.py"


use rule serve_judge as look_up_judge with:
    wildcard_constraints:
        judge=study.judges.looked_up,  # every question has a decision: no GPU, no job of a cluster
    localrule: True
    threads: 1
    resources:
        mem_mb=2000,


ruleorder: look_up_judge > serve_judge


rule batch_judge:
    """Ask a judge about every pending cell of it, in batches that the cells share."""
    input:
        paths_to_user_turns=function_of_wildcards(study.judges.pending_turns),
        paths_to_items=function_of_wildcards(study.judges.pending_items),
    output:
        path_to_marker="results/judging/batches/{judge}.json",
    log:
        "logs/batch_judge/{judge}.log",
    localrule: True
    conda:
        "../envs/judge.yaml"
    params:
        pending=function_of_wildcards(study.judges.pending_identities),
    script:
        "../scripts/run_job.py"

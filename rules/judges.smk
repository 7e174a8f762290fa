"""Are the user turns genuine?"""

from userturn.sources.registry import judge_rules

for of in judge_rules():

    rule:
        """Have one judge label every user turn of one table: a rule for each source of turns."""
        name:
            of.name
        input:
            by_path(study.judges.marker, of.verdicts),
            user_turns=of.user_turns,
            dataset=of.items,
        output:
            verdicts=of.verdicts,
        log:
            of.log,
        localrule: True
        conda:
            "../envs/judge.yaml"
        resources:
            judge_requests=by_wildcards(study.judges.n_at_once),
        params:
            identity=by_path(study.identity, of.verdicts),
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

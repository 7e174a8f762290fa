"""Conversations that a model continues with itself, one depth after another."""

DEPTH = "results/self_play/{model}/{dataset}/t{temperature}/depth-{depth}"


rule collect_self_play:
    """Collect one depth of self-play: conversations, the model's answers and its user turns."""
    input:
        by_path(
            study.generation.waits_for,
            f"{DEPTH}/answers.parquet",
            f"{DEPTH}/user_turns.parquet",
        ),
        before=by_path(study.made_of, DEPTH.removeprefix("results/")),
    output:
        conversations="results/self_play/{model}/{dataset}/t{temperature}/depth-{depth}/conversations.parquet",
        answers="results/self_play/{model}/{dataset}/t{temperature}/depth-{depth}/answers.parquet",
        user_turns="results/self_play/{model}/{dataset}/t{temperature}/depth-{depth}/user_turns.parquet",
    log:
        "logs/collect_self_play/{model}/{dataset}/t{temperature}/depth-{depth}.log",
    localrule: True
    conda:
        "../envs/analysis.yaml"
    params:
        identity=by_path(study.identity, f"{DEPTH}/user_turns.parquet"),
    script:
        "../scripts/collect_self_play.py"

"""Conversations that a model continues with itself, one depth after another."""


rule collect_self_play:
    """Collect one depth of self-play: conversations, the model's answers and its user turns."""
    input:
        by_wildcards(study.generation.markers_of_depth),
        unpack(by_wildcards(study.self_play.before)),
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
        identity=by_wildcards(study.self_play.turns_identity),
    script:
        "../scripts/collect_self_play.py"


use rule judge as judge_self_play with:
    input:
        by_wildcards(study.judges.marker_of_depth),
        user_turns="results/self_play/{model}/{dataset}/t{temperature}/depth-{depth}/user_turns.parquet",
        dataset="results/self_play/{model}/{dataset}/t{temperature}/depth-{depth}/conversations.parquet",
    output:
        verdicts="results/self_play/{model}/{dataset}/t{temperature}/depth-{depth}/verdicts/{judge}.parquet",
    log:
        "logs/judge_self_play/{model}/{dataset}/t{temperature}/depth-{depth}/{judge}.log",
    localrule: True  # not inherited
    params:
        identity=by_wildcards(study.self_play.identity_of),

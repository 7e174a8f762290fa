"""User turns of a known kind, judged like the others, to compare a rate with."""


rule take_human_turns:
    """Take the real user turns of a dataset, each after the answer that it reacts to."""
    input:
        dataset="results/datasets/{dataset}.parquet",
    output:
        user_turns="results/controls/human/{dataset}/user_turns.parquet",
    log:
        "logs/take_human_turns/{dataset}.log",
    localrule: True
    conda:
        "../envs/analysis.yaml"
    params:
        identity=by_wildcards(study.controls.human_turns_identity),
    script:
        "../scripts/take_human_turns.py"


rule plant_failures:
    """Plant every known failure after a model's answers to some items of a dataset."""
    input:
        answers="results/answers/{model}/{dataset}.parquet",
        other_answers=by_wildcards(study.controls.other_answers),
        dataset="results/datasets/{dataset}.parquet",
        texts="data/controls/hard_failures.yaml",
    output:
        user_turns="results/controls/{model}/{dataset}/user_turns.parquet",
    log:
        "logs/plant_failures/{model}/{dataset}.log",
    wildcard_constraints:
        model=r"(?!human/)[a-z0-9][a-z0-9._+-]*",
    localrule: True
    conda:
        "../envs/analysis.yaml"
    params:
        identity=by_wildcards(study.controls.turns_identity),
    script:
        "../scripts/plant_failures.py"


use rule judge as judge_controls with:
    input:
        by_wildcards(study.judges.marker_of_controls),
        user_turns="results/controls/{model}/{dataset}/user_turns.parquet",
        dataset="results/datasets/{dataset}.parquet",
    output:
        verdicts="results/controls/{model}/{dataset}/verdicts/{judge}.parquet",
    log:
        "logs/judge_controls/{model}/{dataset}/{judge}.log",
    localrule: True  # not inherited
    params:
        identity=by_wildcards(study.controls.identity_of),


rule swap_answers:
    """Replace the answer before some user turns of each cell by another item's."""
    input:
        user_turns=by_wildcards(study.chance_floor.user_turns),
        dataset="results/datasets/{dataset}.parquet",
    output:
        user_turns="results/chance_floor/{model}/{dataset}/user_turns.parquet",
    log:
        "logs/swap_answers/{model}/{dataset}.log",
    localrule: True
    conda:
        "../envs/analysis.yaml"
    params:
        identity=by_wildcards(study.chance_floor.turns_identity),
    script:
        "../scripts/swap_answers.py"


use rule judge as judge_swapped with:
    input:
        by_wildcards(study.judges.marker_of_chance_floor),
        user_turns="results/chance_floor/{model}/{dataset}/user_turns.parquet",
        dataset="results/datasets/{dataset}.parquet",
    output:
        verdicts="results/chance_floor/{model}/{dataset}/verdicts/{judge}.parquet",
    log:
        "logs/judge_swapped/{model}/{dataset}/{judge}.log",
    localrule: True  # not inherited
    params:
        identity=by_wildcards(study.chance_floor.identity_of),


rule take_labelled_turns:
    """Take the project's own labelled user turns, for every judge to read."""
    input:
        labelled="data/labelled/turns.jsonl",
    output:
        dataset="results/datasets/labelled.parquet",
        user_turns="results/labelled/user_turns.parquet",
    log:
        "logs/take_labelled_turns.log",
    localrule: True
    conda:
        "../envs/analysis.yaml"
    params:
        identity=study.labelled.turns_identity,
    script:
        "../scripts/take_labelled_turns.py"


use rule judge as judge_labelled with:
    input:
        by_wildcards(study.judges.marker_of_labelled),
        user_turns="results/labelled/user_turns.parquet",
        dataset="results/datasets/labelled.parquet",
    output:
        verdicts="results/labelled/verdicts/{judge}.parquet",
    log:
        "logs/judge_labelled/{judge}.log",
    localrule: True  # not inherited
    params:
        identity=by_wildcards(study.labelled.verdicts_identity),

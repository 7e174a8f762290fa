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
        identity=by_path(
            study.identity, "results/controls/human/{dataset}/user_turns.parquet"
        ),
    script:
        "../scripts/take_human_turns.py"


rule plant_failures:
    """Plant every known failure after a model's answers to some items of a dataset."""
    input:
        answers="results/answers/{model}/{dataset}.parquet",
        other_answers=by_path(study.made_of, "controls/{model}/{dataset}"),
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
        identity=by_path(
            study.identity, "results/controls/{model}/{dataset}/user_turns.parquet"
        ),
    script:
        "../scripts/plant_failures.py"


rule swap_answers:
    """Replace the answer before some user turns of each cell by another item's."""
    input:
        user_turns=by_path(study.made_of, "chance_floor/{model}/{dataset}"),
        dataset="results/datasets/{dataset}.parquet",
    output:
        user_turns="results/chance_floor/{model}/{dataset}/user_turns.parquet",
    log:
        "logs/swap_answers/{model}/{dataset}.log",
    localrule: True
    conda:
        "../envs/analysis.yaml"
    params:
        identity=by_path(
            study.identity, "results/chance_floor/{model}/{dataset}/user_turns.parquet"
        ),
    script:
        "../scripts/swap_answers.py"


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
        identity=by_path(study.identity, "results/datasets/labelled.parquet"),
    script:
        "../scripts/take_labelled_turns.py"

"""A base becomes a trained model, which is then swept like any other."""


rule prepare_training_data:
    """Turn the files of a model's recipe into conversations of one schema."""
    input:
        by_wildcards(study.training.source_files),
    output:
        data="results/training/{model}/data.parquet",
    log:
        "logs/prepare_training_data/{model}.log",
    localrule: True
    conda:
        "../envs/analysis.yaml"
    params:
        identity=by_wildcards(study.training.data_identity),
    script:
        "../scripts/prepare_training_data.py"


rule train:
    """Post-train a base by a recipe, continuing from the last checkpoint if there is one."""
    input:
        by_wildcards(study.training.base),
        data="results/training/{model}/data.parquet",
    output:
        folder=directory("results/training/{model}/model"),
        record="results/training/{model}/training.json",
    log:
        "logs/train/{model}.log",
    benchmark:
        "benchmarks/results/train/{model}.tsv"
    conda:
        "../envs/posttrain.yaml"
    threads: study.training.resources.threads
    resources:
        **study.training.resources.of_job(),
    params:
        identity=by_wildcards(study.grid.training_identity),
    script:
        "../scripts/train.py"

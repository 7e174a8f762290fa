"""A base becomes a trained model, which is then swept like any other."""


rule train:
    """Post-train a base by a recipe, continuing from the last checkpoint if there is one."""
    input:
        function_of_wildcards(study.training.base),
        path_to_data="results/training/{model}/data.parquet",
    output:
        path_to_folder=directory("results/training/{model}/model"),
        path_to_record="results/training/{model}/training.json",
    log:
        "logs/train/{model}.log",
    benchmark:
        "benchmarks/results/train/{model}.tsv"
    conda:
        "../envs/posttrain.yaml"
    threads: study.training.resources.threads
    resources:
        **study.training.resources.functions(DEFAULTS),
    params:
        identity=function_of_wildcards(study.grid.training_identity),
    script:
        "../scripts/run_job.py"

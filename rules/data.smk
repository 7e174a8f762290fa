"""Datasets and models, prepared before any GPU is requested."""


rule prepare_dataset:
    """Turn a dataset's file into items of one schema."""
    input:
        by_wildcards(study.data.source_file),
    output:
        dataset="results/datasets/{dataset}.parquet",
    log:
        "logs/prepare_dataset/{dataset}.log",
    wildcard_constraints:
        dataset=r"(?!labelled\.)[a-z0-9][a-z0-9._-]*",  # rule take_labelled_turns makes these
    localrule: True
    conda:
        "../envs/analysis.yaml"
    params:
        identity=by_wildcards(study.grid.dataset_identity),
        rows=by_wildcards(study.data.n_rows),  # another number is checked anew
    script:
        "../scripts/prepare_dataset.py"


rule describe_model:
    """Fetch a model once and record its revision, template hashes, user header and stops."""
    input:
        by_wildcards(study.training.folder_of),
        by_wildcards(study.data.described_first),
    output:
        description="results/models/{model}.json",
    log:
        "logs/describe_model/{model}.log",
    localrule: True
    conda:
        "../envs/generate.yaml"
    params:
        identity=by_wildcards(study.grid.model_fingerprint),
    script:
        "../scripts/describe_model.py"


rule download:
    """Fetch all models and datasets, for nodes without a network: `snakemake --profile slurm download`."""
    input:
        study.data.descriptions_of_sources,
        study.data.prepared,
        study.training.data,
    localrule: True

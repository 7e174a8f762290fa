"""Datasets and models, prepared before any GPU is requested."""


rule download:
    """Fetch all models and datasets, for nodes without a network: `snakemake --profile slurm download`."""
    input:
        study.data.descriptions_of_sources,
        study.data.prepared,
        study.training.data,
    localrule: True

"""userturn: from (model, dataset, temperature, perturbation) cells to tables and figures."""

from snakemake.utils import min_version

from userturn.study import Study

min_version("9.0")


configfile: "config.yaml"


study = Study(config)


wildcard_constraints:
    model=r"[a-z0-9][a-z0-9._-]*",
    dataset=r"[a-z0-9][a-z0-9._-]*",
    temperature=r"[0-9.]+",
    perturbation=r"[a-z0-9][a-z0-9._-]*",
    judge=r"[a-z0-9][a-z0-9._-]*",
    shard=r"\d+of\d+",


include: "rules/data.smk"
include: "rules/generate.smk"
include: "rules/judge.smk"
include: "rules/aggregate.smk"
include: "rules/figures.smk"


rule all:
    default_target: True
    input:
        "results/tables/rates.parquet",
        "results/tables/accuracy.parquet",
        "results/figures/accuracy_and_followup.svg",
        "results/figures/rates_by_temperature.svg",

"""userturn: from (model, dataset, temperature, perturbation) cells to tables and figures."""

from snakemake.utils import min_version

from userturn.locks import release_abandoned_lock
from userturn.study import check_yaml, open_study

min_version("9.0")
check_yaml("config.yaml")


configfile: "config.yaml"


if workflow.is_main_process:
    release_abandoned_lock()
study = open_study(config)


wildcard_constraints:
    **{
        name: r"[a-z0-9][a-z0-9._-]*"
        for name in ("model", "dataset", "perturbation", "judge")
    },
    temperature=r"[0-9.]+",
    shard=r"\d+of\d+",


rule all:
    input:
        "results/tables/rates.parquet",
        "results/tables/accuracy.parquet",
        "results/tables/costs.parquet",
        "results/figures/accuracy_and_followup.svg",
        "results/figures/rates_by_temperature.svg",


for stage in ("data", "generate", "judge", "controls", "aggregate", "figures"):

    include: f"rules/{stage}.smk"

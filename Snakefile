"""userturn: from (model, dataset, temperature, perturbation) cells to tables and figures."""

from snakemake.utils import min_version

from userturn.locks import release_abandoned_lock
from userturn.study import WILDCARDS, check_yaml, open_study

min_version("9.0")
check_yaml("config.yaml")


configfile: "config.yaml"


if workflow.is_main_process:
    release_abandoned_lock()
study = open_study(config)


wildcard_constraints:
    **WILDCARDS,


rule all:
    input:
        "results/tables/rates.parquet",
        "results/tables/accuracy.parquet",
        "results/tables/controls.parquet",
        "results/tables/agreement.parquet",
        "results/tables/corrected_rates.parquet",
        study.humans.pages,
        "results/figures/accuracy_and_followup.svg",
        "results/figures/rates_by_temperature.svg",
        "results/figures/confusion.svg",


for stage in "data generate judge controls humans aggregate figures".split():

    include: f"rules/{stage}.smk"

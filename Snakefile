"""userturn: from (model, dataset, temperature, perturbation) cells to tables and figures."""

from snakemake.utils import min_version

from userturn.locks import release_abandoned_lock
from userturn.signals import let_early_warning_pass
from userturn.study import WILDCARDS, check_yaml, open_study

min_version("9.0")
check_yaml("config.yaml")


configfile: "config.yaml"


if workflow.is_main_process:
    release_abandoned_lock()
else:
    let_early_warning_pass()
study = open_study(config)


wildcard_constraints:
    **WILDCARDS,


rule all:
    input:
        "results/tables/costs.parquet",
        "results/tables/anchors.md",
        "results/tables/corrected_rates.parquet",
        study.humans.pages,
        "results/figures/grid_overview.svg",
        "results/figures/confusion.svg",


for stage in "data generate judge controls humans aggregate figures".split():

    include: f"rules/{stage}.smk"

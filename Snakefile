"""userturn: from (model, dataset, temperature, perturbation) cells to tables and figures."""

from snakemake.utils import min_version

from userturn.study import WILDCARDS, begin, open_study

min_version("9.0")
begin("config.yaml", is_driver=workflow.is_main_process)


configfile: "config.yaml"


study = open_study(config)


wildcard_constraints:
    **WILDCARDS,


TABLES = """rates accuracy health controls costs judges families pooled_rates contrasts
    failure_profiles temperature_response post_training decoupling correlations anchors
    item_association agreement confusion disagreements corrected_rates""".split()
FIGURES = """accuracy_and_followup rates_by_temperature perturbation_effects
    failure_profiles grid_overview confusion""".split()
STAGES = "data posttrain generate judge controls humans aggregate figures report audit".split()


rule all:
    input:
        expand("results/tables/{table}.parquet", table=TABLES),
        expand("results/figures/{figure}.svg", figure=FIGURES),
        study.humans.pages + study.training.tables,
        "results/report/index.html",
        "results/study.json",


for stage in STAGES:

    include: f"rules/{stage}.smk"

"""userturn: from (model, dataset, temperature, perturbation) cells to tables and figures."""

from snakemake.utils import min_version

from userturn.config.load import config_files
from userturn.workflow.study import targets
from userturn.workflow.startup import WILDCARDS, begin, open_study, prepare
from userturn.workflow.run_folder import only_looks
from userturn.workflow.run_job import function_of_wildcards

min_version("9.0")
begin(
    [*config_files(), *workflow.overwrite_configfiles],
    workflow.is_main_process,
    looks=workflow.output_settings.dryrun or only_looks(),
)

for path in config_files():

    configfile: str(path)


study = open_study(config)
prepare(study, workflow)


wildcard_constraints:
    **WILDCARDS,


rule all:
    input:
        targets(study),


for stage in "common jobs data training generation judges audit".split():

    include: f"rules/{stage}.smk"

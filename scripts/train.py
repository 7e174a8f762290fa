"""Post-train a base by a recipe, continuing from the last checkpoint if there is one."""

from userturn.provenance.job_record import recorded
from userturn.study.grid import Grid
from userturn.training.train import train

if __name__ == "__main__":
    with recorded(snakemake):
        train(
            grid=Grid(snakemake.config),
            model=snakemake.wildcards.model,
            identity=snakemake.params.identity,
            n_threads=snakemake.threads,
            path_to_data=snakemake.input.data,
            path_to_folder=snakemake.output.folder,
            path_to_record=snakemake.output.record,
        )

"""Post-train a base by a recipe, going on from the last checkpoint if there is one."""

from userturn.grid import Grid
from userturn.posttraining import train
from userturn.provenance import recorded

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

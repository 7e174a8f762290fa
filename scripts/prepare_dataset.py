"""Turn a dataset's file into items of one schema."""

from userturn.datasets import prepare_dataset
from userturn.grid import Grid
from userturn.logs import log_to

if __name__ == "__main__":
    log_to(snakemake.log[0])
    prepare_dataset(
        settings=Grid(snakemake.config).dataset_settings(snakemake.wildcards.dataset),
        identity=snakemake.params.identity,
        path_to_items=snakemake.output.dataset,
    )

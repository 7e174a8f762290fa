"""Turn a dataset's file into items of one schema."""

from userturn.datasets.prepare import prepare_dataset
from userturn.provenance.job_record import recorded
from userturn.study.grid import Grid

if __name__ == "__main__":
    with recorded(snakemake):
        prepare_dataset(
            settings=Grid(snakemake.config).dataset_settings(snakemake.wildcards.dataset),
            identity=snakemake.params.identity,
            path_to_items=snakemake.output.dataset,
        )

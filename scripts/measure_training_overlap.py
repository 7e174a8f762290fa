"""Count the evaluation items that stand in training data, exactly or nearly."""

from userturn.provenance.job_record import recorded
from userturn.study.grid import Grid
from userturn.tables.training_overlap import measure_training_overlap

if __name__ == "__main__":
    with recorded(snakemake):
        grid = Grid(snakemake.config)
        measure_training_overlap(
            grid=grid,
            identity=snakemake.params.identity,
            paths_to_data=snakemake.input.data,
            paths_to_datasets=snakemake.input.datasets,
            path_to_table=snakemake.output.table,
            path_to_csv=snakemake.output.csv,
        )

"""Turn the files of a model's recipe into conversations of one schema."""

from userturn.config.recipes import load_recipe
from userturn.provenance.job_record import recorded
from userturn.study.grid import Grid
from userturn.training.data import prepare_training_data

if __name__ == "__main__":
    with recorded(snakemake):
        model, grid = snakemake.wildcards.model, Grid(snakemake.config)
        prepare_training_data(
            recipe=load_recipe(grid.entries[model]["recipe"]),
            identity=snakemake.params.identity,
            path_to_pins=grid.results / "revisions" / f"{model}.data.json",
            path_to_data=snakemake.output.data,
        )

"""Fetch a model once and note its revision, template hashes, user header and stops."""

from userturn.descriptions import describe_model
from userturn.grid import Grid
from userturn.provenance import recorded

if __name__ == "__main__":
    with recorded(snakemake):
        describe_model(
            grid=Grid(snakemake.config),
            model=snakemake.wildcards.model,
            path_to_description=snakemake.output.description,
        )

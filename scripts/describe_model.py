"""Fetch a model once and note its revision, template hashes, user header and stops."""

from userturn.descriptions import describe_model
from userturn.grid import Grid
from userturn.logs import log_to

if __name__ == "__main__":
    log_to(snakemake.log[0])
    describe_model(
        grid=Grid(snakemake.config),
        model=snakemake.wildcards.model,
        path_to_description=snakemake.output.description,
    )

"""Fetch a model once and record its revision, template hashes, user header and stops."""

from userturn.generation.describe_model import describe_model
from userturn.provenance.job_record import recorded
from userturn.study.grid import Grid

if __name__ == "__main__":
    with recorded(snakemake):
        describe_model(
            grid=Grid(snakemake.config),
            model=snakemake.wildcards.model,
            path_to_description=snakemake.output.description,
        )

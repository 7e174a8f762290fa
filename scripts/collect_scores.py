"""Collect a model's scores of reference follow-ups, or of its own turns, from the journal."""

from userturn.likelihood.collect import collect_scores
from userturn.provenance.job_record import recorded
from userturn.sources.registry import asked
from userturn.study.grid import Grid

if __name__ == "__main__":
    with recorded(snakemake):
        grid = Grid(snakemake.config)
        collect_scores(
            grid=grid,
            scored=asked(grid)[snakemake.output.scores],
            path_to_scores=snakemake.output.scores,
        )

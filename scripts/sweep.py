"""Load one model once and work through every pending request of it."""

from userturn.generation.sweep import run_sweep
from userturn.provenance.job_record import recorded
from userturn.study.grid import Grid

if __name__ == "__main__":
    with recorded(snakemake):
        run_sweep(
            grid=Grid(snakemake.config),
            model=snakemake.wildcards.model,
            shard=snakemake.wildcards.shard,
            pending=snakemake.params.pending,
            n_threads=snakemake.threads,
            path_to_marker=snakemake.output.marker,
            may_ask=snakemake.rule != "plan_again",
        )

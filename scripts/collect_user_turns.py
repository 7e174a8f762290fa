"""Collect one cell's user turns from the journal."""

from userturn.generation.collect import collect_user_turns
from userturn.provenance.job_record import recorded
from userturn.study.grid import Grid
from userturn.workflow.wildcards import cell_of

if __name__ == "__main__":
    with recorded(snakemake):
        collect_user_turns(
            grid=Grid(snakemake.config),
            cell=cell_of(snakemake.wildcards),
            path_to_user_turns=snakemake.output.user_turns,
        )
